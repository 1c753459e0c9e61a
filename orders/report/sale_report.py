"""The report of a sale: what was asked for, what was sold, and what is not known."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from orders.report.kept_sums import Sums, sums_of
from orders.report.order_figures import Curve, ItemUnits, Times, curve_of, orders_from_line, times_of, units_of_items
from orders.report.sale_faults import Fault, faults_of
from orders.report.winners import Winners, winners_of
from seckill.guards.guard_texts import rule_names
from seckill.live.answer_counts import MINUTE_KEPT_SECONDS, asked
from seckill.live.answer_groups import GROUPS
from seckill.live.staff_figures import names_of
from seckill.models import Sale, SaleChange, SaleItem
from seckill.outcomes import Outcome
from shop.databases.replica import may_lag, reading_alias

MINUTES_KEPT = timedelta(seconds=MINUTE_KEPT_SECONDS)
# A buyer whose first answer was lost hears the second one.
WITH_YES = (Outcome.RESERVED, Outcome.ALREADY_RESERVED)


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One item. `asked` None means not known; `offered` None means unlimited. `gone` units left the sale for good."""

    item: SaleItem
    name: str
    offered: int | None
    gone: int
    asked: int | None
    units: ItemUnits

    @property
    def sold(self) -> int:
        """Units that are paid and not returned."""
        return self.units.paid_units - self.units.refunded_units

    @property
    def sold_again(self) -> int:
        """Units that were sold after somebody else had them. Units have no names, so this is the least it can be."""
        if self.offered is None:
            return 0
        never_back = self.offered + self.gone - self.units.returned_units
        return min(max(self.sold - never_back, 0), self.units.returned_units)


@dataclass(frozen=True, slots=True)
class MoreStock:
    """With twice the stock: an estimate. `missed` answers said that there were not enough units.

    Each is taken for a person who wanted `units_each`, of whom `paid_share` pay, as those did who got units. None while
    nobody has reserved.
    """

    missed: int
    units_each: float
    paid_share: float
    more_units: int
    sold_units: int

    @property
    def in_all(self) -> int:
        return self.sold_units + self.more_units


@dataclass(frozen=True, slots=True)
class Report:
    """`made_at` is when it was asked for. `orders_asked_for`: those whose buyers called to reserve."""

    sale: Sale
    made_at: datetime
    rows: Sequence[ItemRow]
    times: Times
    curve: Curve
    sums: Sums
    faults: Sequence[Fault]
    more_stock: MoreStock | None
    winners: Winners
    total: ItemUnits
    orders_asked_for: int

    @property
    def offered(self) -> int | None:
        limited = [row.offered for row in self.rows if row.offered is not None]
        return sum(limited) if len(limited) == len(self.rows) else None

    @property
    def asked(self) -> int | None:
        return None if self.sums.answers is None else asked(self.sums.words)

    @property
    def refused(self) -> dict[str, int]:
        """By rule of the sale, those that have refused somebody."""
        return {rule: self.sums.words[rule] for rule in rule_names() if self.sums.words[rule]}

    @property
    def sold(self) -> int:
        return sum(row.sold for row in self.rows)

    @property
    def sold_again(self) -> int:
        return sum(row.sold_again for row in self.rows)

    @property
    def paid_share(self) -> float | None:
        """Of the orders, those that were paid."""
        return self.total.paid_orders / self.total.orders if self.total.orders else None

    @property
    def unknown(self) -> Iterator[str]:
        """What the report cannot say, in sentences."""
        now, orders = self.made_at, self.orders_asked_for
        if now < self.sale.closes_at:
            yield _("The sale is not over. All figures are those of now.")
        elif self.total.waiting_units:
            yield _("Some units are still held by buyers who have not paid yet.")
        if self.sums.answers is None:
            yield _("The cache server does not answer. Who asked, and what they were told, is not known now.")
        elif (counted := sum(self.sums.words[outcome] for outcome in WITH_YES)) < orders:
            text = _(
                "%(orders)d reservations became orders, but only %(counted)d answers of yes were counted: the cache "
                "server was away or was emptied. More people asked than this report says."
            )
            yield text % {"orders": orders, "counted": counted}
        if min(now, self.sale.closes_at) - self.sale.opens_at > MINUTES_KEPT:
            text = _("The chart of the answers has the last %(days)d days only: minutes are not kept for longer.")
            yield text % {"days": MINUTES_KEPT.days}
        yield _("Answers are counted, not people. Somebody who asked twice counts twice.")
        yield _("People who saw “sold out” on the page and did not ask are not counted.")


@may_lag
def report_of(sale: Sale) -> Report:
    """Some fifteen statements, however many orders and items there are."""
    items = list(sale.items.select_related("sale", "variant__product").order_by("pk"))
    names, sums, units, gone = names_of(items), sums_of(sale), units_of_items(sale), gone_of_items(sale)
    times = times_of(sale)
    rows = [
        ItemRow(
            item=item,
            name=names[item.pk],
            offered=item.offered,
            gone=gone[item.pk],
            asked=None if sums.answers is None else asked(sums.answers.get(item.pk, {})),
            units=units.get(item.pk, ItemUnits()),
        )
        for item in items
    ]
    total = sum(units.values(), ItemUnits())
    offered: Mapping[int, int | None] = {row.item.pk: row.offered for row in rows}
    return Report(
        sale=sale,
        made_at=timezone.now(),
        rows=rows,
        times=times,
        curve=curve_of(sale, last_at=times.last_at, item_ids=[item.pk for item in items]),
        sums=sums,
        faults=list(faults_of(sale, names=names, sums=sums, total=total, times=times)),
        more_stock=with_twice_the_stock(offered=offered, units=units, answers=sums.answers or {}),
        winners=winners_of(sale),
        total=total,
        orders_asked_for=orders_asked_for(sale, total=total),
    )


def orders_asked_for(sale: Sale, *, total: ItemUnits) -> int:
    """Winners of a draw, and those to whom a waiting list gave units, made no call that is counted."""
    if sale.has_draw:
        return 0
    if sale.waiting_list:
        # Of a rejected order it is not known whether its units came from there.
        return total.orders - orders_from_line(sale)
    return total.orders + total.rejected_orders


def gone_of_items(sale: Sale) -> Counter[int]:
    """By item, the units that staff withdrew, or that went to the stock at an end and did not come back later."""
    gone: Counter[int] = Counter()
    in_stock: Counter[int] = Counter()
    applied = SaleChange.objects.using(reading_alias()).filter(item__sale=sale, status=SaleChange.Status.APPLIED)
    for item_id, kind, units in applied.order_by("pk").values_list("item", "kind", "units"):
        match kind:
            case SaleChange.Kind.WITHDRAW_UNITS:
                gone[item_id] += units or 0
            case SaleChange.Kind.RETURN_UNSOLD:
                in_stock[item_id] += units or 0
            case SaleChange.Kind.ADD_UNITS if in_stock[item_id]:
                # After an end only those that come back are added, just before the end is moved (changes/journal.py).
                in_stock[item_id] -= units or 0
            case SaleChange.Kind.MOVE_END:
                gone[item_id] += in_stock.pop(item_id, 0)
    return gone


def with_twice_the_stock(
    *, offered: Mapping[int, int | None], units: Mapping[int, ItemUnits], answers: Mapping[int, Mapping[str, int]]
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
