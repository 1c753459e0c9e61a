"""What the sale would have sold with twice the stock: an estimate, and no more than that."""

from collections.abc import Mapping
from dataclasses import dataclass

from orders.report.order_figures import ItemUnits
from seckill.live.answer_groups import GROUPS


@dataclass(frozen=True, slots=True)
class MoreStock:
    """`missed` answers said that there were not enough units. Each is taken for a person who wanted `units_each`.

    `paid_share` of them are taken to pay, as those did who got units. None while nobody has reserved.
    """

    missed: int
    units_each: float
    paid_share: float
    more_units: int
    sold_units: int

    @property
    def in_all(self) -> int:
        return self.sold_units + self.more_units


def with_twice_the_stock(
    *,
    offered: Mapping[int, int | None],
    units: Mapping[int, ItemUnits],
    answers: Mapping[int, Mapping[str, int]],
) -> MoreStock | None:
    """By item, so that people who wanted one thing are not taken to buy another. None if nothing can be said."""
    total = sum(units.values(), ItemUnits())
    if not total.orders or not answers or set(offered.values()) == {None}:
        return None
    units_each, paid_share = total.units / total.orders, total.paid_units / total.units
    limited = {item_id: stock for item_id, stock in offered.items() if stock is not None}
    missed = {
        item_id: sum(answers.get(item_id, {}).get(word, 0) for word in GROUPS["none_left"]) for item_id in limited
    }
    more = sum(min(stock, round(missed[item_id] * units_each * paid_share)) for item_id, stock in limited.items())
    sold = total.paid_units - total.refunded_units
    return MoreStock(sum(missed.values()), units_each, paid_share, more, sold)
