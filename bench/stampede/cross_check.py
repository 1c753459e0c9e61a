"""The figures that PostgreSQL and the reservation store have of an item and of the reservations of a load test."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q, Sum

from bench.stampede.arrivals import CHUNK
from orders.models import LIVE, OrderLine
from seckill import ledger
from seckill.models import SaleItem

# The two stores agree once the outbox is empty and the ledger was told of every ended order, which takes seconds.
AGREE_SECONDS_MAX = 10.0
POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Line:
    """An order line in PostgreSQL. `copies` counts the lines of the same reservation."""

    buyer_id: int
    units: int
    status: str
    copies: int


def lines_of(*, item_id: int, reservation_ids: Sequence[str]) -> dict[str, Line]:
    """The order lines of the item that came from these reservations."""
    lines: dict[str, Line] = {}
    for start in range(0, len(reservation_ids), CHUNK):
        rows = OrderLine.objects.filter(
            sale_item_id=item_id, order__reservation_id__in=reservation_ids[start : start + CHUNK]
        ).values_list("order__reservation_id", "order__buyer_id", "units", "order__status")
        for reservation_id, buyer_id, units, status in rows:
            before = lines.get(str(reservation_id))
            copies = before.copies + 1 if before else 1
            lines[str(reservation_id)] = Line(buyer_id=buyer_id, units=units, status=status, copies=copies)
    return lines


def duplicates(lines: Mapping[str, Line]) -> int:
    return sum(line.copies > 1 for line in lines.values())


def buyers_above_limit(item: SaleItem) -> int:
    """Buyers, of this test or not, whose live orders have more units of the item than one buyer may have."""
    units_of_buyer = (
        OrderLine.objects.filter(sale_item=item, order__status__in=LIVE)
        .order_by()
        .values("order__buyer_id")
        .annotate(bought=Sum("units"))
    )
    return units_of_buyer.filter(bought__gt=item.per_buyer_max).count()


@dataclass(frozen=True, slots=True)
class StoreComparison:
    """The figures of the item as a whole in both stores."""

    counters: ledger.Counters | None
    oversold: int
    violations: list[str]


def compare_stores(item: SaleItem) -> StoreComparison:
    """Read both stores until they agree. They differ, as they may, while a reservation is on its way to PostgreSQL."""
    give_up_s = time.monotonic() + AGREE_SECONDS_MAX
    while True:
        before = ledger.read(item_id=item.pk)
        taken, live_units = taken_and_live_units(item)
        after = ledger.read(item_id=item.pk)
        if before is None or after is None:
            return StoreComparison(
                counters=None, oversold=0, violations=["the reservation store does not know the item any more"]
            )
        unchanged = (before.held, before.sold) == (after.held, after.sold)
        if unchanged and after.held + after.sold == live_units == taken:
            break
        if time.monotonic() > give_up_s:
            break
        time.sleep(POLL_SECONDS)
    violations = []
    if taken != live_units:
        violations.append(f"PostgreSQL counts {taken} units as taken, but its live orders have {live_units}")
    if unchanged and after.held + after.sold != live_units:
        violations.append(f"the store has {after.held} units held and {after.sold} sold, the live orders {live_units}")
    oversold = 0
    if item.quantity is not None:
        oversold = max(0, max(live_units, taken, after.held + after.sold) - item.quantity)
        if after.left is None or after.quantity != after.left + after.held + after.sold or after.left < 0:
            violations.append(
                f"in the store, {after.quantity} is not {after.left} left + {after.held} held + {after.sold} sold"
            )
    return StoreComparison(counters=after, oversold=oversold, violations=violations)


def taken_and_live_units(item: SaleItem) -> tuple[int, int]:
    """`taken` and the units of live orders, in one statement so that they are of the same moment."""
    live = Sum("order_lines__units", filter=Q(order_lines__order__status__in=LIVE), default=0)
    taken, live_units = SaleItem.objects.annotate(live_units=live).values_list("taken", "live_units").get(pk=item.pk)
    return taken, live_units
