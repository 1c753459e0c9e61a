"""What the orders of a sale say, added up in PostgreSQL: a few statements, however many orders there are."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from django.db.models import (
    Aggregate,
    Count,
    DurationField,
    ExpressionWrapper,
    F,
    IntegerField,
    Max,
    Q,
    QuerySet,
    Sum,
    Value,
)
from django.db.models.functions import Cast, Extract, Floor, Greatest

from orders.models import REFUNDS, SOLD, Mail, OrderLine, OrderStatus
from seckill.models import Sale
from shop.databases.replica import reading_alias
from shop.models import BuyerLanguage

# A reservation that the shop has kept: not one that PostgreSQL refused, or of a blocked account.
KEPT = ~Q(order__status=OrderStatus.REJECTED)
# Orders that were paid, whatever became of them. The others whose money went back were paid too late.
WAS_PAID = Q(order__status__in=SOLD) | (
    Q(order__status__in=REFUNDS) & (Q(order__is_invoiced=True) | Q(order__refunded_minor__gt=0))
)
EXPIRED = Q(order__status__in=(OrderStatus.EXPIRED, *REFUNDS)) & ~WAS_PAID

# The steps of a curve, from a second to a day; a curve has so many at most.
STEPS_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400)
STEPS_MAX = 60


class Percentile(Aggregate):
    """The value below which this fraction lies."""

    function = "PERCENTILE_CONT"
    template = "%(function)s(%(fraction)s) WITHIN GROUP (ORDER BY %(expressions)s)"

    def __init__(self, expression: Any, *, fraction: float, **more: Any) -> None:
        super().__init__(expression, fraction=fraction, **more)


@dataclass(frozen=True, slots=True)
class ItemUnits:
    """Orders and units of one item. `refunded_units` are back on sale; amounts are in minor units, without delivery.

    `refunded_minor` is all that was refunded of the paid orders.
    """

    orders: int = 0
    units: int = 0
    paid_orders: int = 0
    paid_units: int = 0
    waiting_units: int = 0
    expired_units: int = 0
    cancelled_units: int = 0
    refunded_units: int = 0
    rejected_orders: int = 0
    revenue_minor: int = 0
    refunded_minor: int = 0

    @property
    def returned_units(self) -> int:
        """Units that a buyer had and that went back on sale."""
        return self.expired_units + self.cancelled_units + self.refunded_units

    def __add__(self, other: "ItemUnits") -> "ItemUnits":
        return ItemUnits(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


@dataclass(frozen=True, slots=True)
class Times:
    """Of the orders of a sale. None where there is no such order."""

    last_at: datetime | None
    pay_median: timedelta | None
    pay_p90: timedelta | None
    # From a yes to its order.
    order_lag: timedelta | None


@dataclass(frozen=True, slots=True)
class Curve:
    """Units reserved in each step since `start`, by item."""

    start: datetime
    step_seconds: int
    units: Mapping[int, Sequence[int]]

    @property
    def ends(self) -> Iterator[datetime]:
        """Of the steps."""
        length = max((len(units) for units in self.units.values()), default=0)
        return (self.start + timedelta(seconds=self.step_seconds * (number + 1)) for number in range(length))

    @property
    def in_all(self) -> list[int]:
        """Units reserved since the start, at the end of each step, of all items."""
        found, total = [], 0
        for units in zip(*self.units.values(), strict=True):
            total += sum(units)
            found.append(total)
        return found


def lines_of(sale: Sale) -> "QuerySet[OrderLine]":
    return OrderLine.objects.using(reading_alias()).filter(sale_item__sale=sale).order_by()


def units_of_items(sale: Sale) -> dict[int, ItemUnits]:
    """By item; those without orders are missing."""

    def units(condition: Q) -> Sum:
        return Sum("units", filter=condition, default=0)

    lines = lines_of(sale).values_list("sale_item")
    counted = lines.annotate(
        orders=Count("pk", filter=KEPT),
        kept=units(KEPT),
        paid_orders=Count("pk", filter=WAS_PAID),
        paid=units(WAS_PAID),
        waiting=units(Q(order__status=OrderStatus.AWAITING_PAYMENT)),
        expired=units(EXPIRED),
        cancelled=units(Q(order__status=OrderStatus.CANCELLED)),
        refunded=units(WAS_PAID & Q(order__status__in=REFUNDS, order__units_back=True)),
        rejected=Count("pk", filter=~KEPT),
        revenue=Sum(F("units") * F("unit_price_minor"), filter=WAS_PAID, default=0),
        money_back=Sum("order__refunded_minor", filter=WAS_PAID, default=0),
    )
    return {item_id: ItemUnits(*map(int, numbers)) for item_id, *numbers in counted}


def orders_from_line(sale: Sale) -> int:
    """Orders whose units came through the waiting list: intake has queued a mail for each."""
    return lines_of(sale).filter(order__mails__kind=Mail.Kind.FROM_LINE).count()


def times_of(sale: Sale) -> Times:
    def lasted(until: str) -> "ExpressionWrapper[Any]":
        return ExpressionWrapper(F(until) - F("order__reserved_at"), DurationField())

    # `ended_at` of a paid order is when it was paid; of a refunded one, when it was refunded.
    still_paid = Q(order__status__in=SOLD)
    found = lines_of(sale).aggregate(
        last_at=Max("order__reserved_at", filter=KEPT),
        pay_median=Percentile(lasted("order__ended_at"), fraction=0.5, filter=still_paid),
        pay_p90=Percentile(lasted("order__ended_at"), fraction=0.9, filter=still_paid),
        order_lag=Max(lasted("order__created_at")),
    )
    return Times(**found)


def curve_of(sale: Sale, *, last_at: datetime | None, item_ids: Sequence[int]) -> Curve:
    """From the opening to the last reservation."""
    seconds = max((last_at - sale.opens_at).total_seconds(), 0) if last_at else 0
    step_seconds = step_for(seconds)
    count = int(seconds // step_seconds) + 1 if last_at else 0
    units = {item_id: [0] * count for item_id in item_ids}
    # A reservation may be a moment older than the opening by the clock of PostgreSQL's host.
    since = Extract(ExpressionWrapper(F("order__reserved_at") - Value(sale.opens_at), DurationField()), "epoch")
    step = Greatest(Cast(Floor(since / step_seconds), IntegerField()), 0)
    reserved = lines_of(sale).filter(KEPT).values_list("sale_item", step).annotate(reserved=Sum("units"))
    for item_id, number, of_step in reserved if count else ():
        # An order may have come since `last_at` was asked for.
        units[item_id][min(number, count - 1)] += of_step
    return Curve(sale.opens_at, step_seconds, units)


def step_for(seconds: float) -> int:
    """The shortest step with which a curve over so many seconds has STEPS_MAX steps at most."""
    wanted = (seconds + 1) / STEPS_MAX
    return next((step for step in STEPS_SECONDS if step >= wanted), math.ceil(wanted / 86_400) * 86_400)


def buyers_of(sale: Sale) -> int:
    """People who have paid."""
    return lines_of(sale).filter(WAS_PAID).aggregate(found=Count("order__buyer", distinct=True))["found"] or 0


def buyers_by_country(sale: Sale) -> dict[str, int]:
    """By the country of the delivery. Buyers who have not entered an address are missing."""
    paid = lines_of(sale).filter(WAS_PAID, order__shipping_address__isnull=False)
    countries = paid.values_list("order__shipping_address__country")
    return dict(countries.annotate(buyers=Count("order__buyer", distinct=True)))


def buyers_by_language(sale: Sale) -> dict[str, int]:
    """By the language in which they last used the shop. Those who have deleted their account are missing."""
    of_buyer = BuyerLanguage.objects.using(reading_alias()).filter(
        user__in=lines_of(sale).filter(WAS_PAID).values("order__buyer")
    )
    return dict(of_buyer.order_by().values_list("language").annotate(buyers=Count("pk")))
