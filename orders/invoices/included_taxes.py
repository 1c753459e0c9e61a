"""The taxes that prices include, by rate."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from orders.models import Order


@dataclass(frozen=True, slots=True)
class TaxShare:
    """The amount that is taxed at one rate: `gross_minor` includes `tax_minor`."""

    percent: Decimal
    gross_minor: int
    tax_minor: int

    @property
    def percent_text(self) -> str:
        return shown_percent(self.percent)


def shown_percent(percent: Decimal) -> str:
    """13, 5.5: without zeros at the end."""
    return f"{percent.normalize():f}"


def tax_shares(amounts: Iterable[tuple[int, Decimal | None]]) -> list[TaxShare]:
    """The taxes in gross amounts (minor units, percent), the highest rate first. Amounts without a rate are left out.

    All amounts of one rate are added up and the tax is rounded once, half up: gross × percent / (100 + percent).
    """
    gross_of: defaultdict[Decimal, int] = defaultdict(int)
    for amount_minor, percent in amounts:
        if percent is not None and amount_minor:
            gross_of[percent] += amount_minor
    return [
        TaxShare(percent, gross_minor, tax_in(gross_minor, percent))
        for percent, gross_minor in sorted(gross_of.items(), reverse=True)
    ]


def tax_in(gross_minor: int, percent: Decimal) -> int:
    return int((gross_minor * percent / (100 + percent)).quantize(Decimal(1), ROUND_HALF_UP))


def taxes_of(order: Order) -> list[TaxShare]:
    """The taxes in an order, as the rates were when it was placed. The order's lines are read."""
    lines = [(line.amount_minor, line.tax_percent) for line in order.lines.all()]
    return tax_shares([*lines, (order.shipping_minor, order.shipping_tax_percent)])
