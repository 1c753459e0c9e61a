"""Checks while the sale runs that no unit is lost or sold twice: quantity = left + held + sold + on the way + settling.

Every hold in the store is compared with its order. Most agree. Some differ for a moment: the order of a reservation is
not written yet, or the store has not been told yet how an order ended. The two stores cannot be read at one instant, so
when something differs, everything is compared again. Where the comparisons differ, the sale is
in progress. A disagreement that stays the same is a difference, reported with its reservation id.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.core.cache import cache
from django.db.models import Q, QuerySet, Sum
from django.utils import timezone

from orders.models import LIVE, Order, OrderLine, OrderStatus
from orders.repair.reconcile import ReportProgress, expected_state, expected_terms, order_ids_in_batches
from seckill import ledger
from seckill.items import item_state
from seckill.items.lock import advisory_lock
from seckill.ledger_words import Hold, RestoreAs
from seckill.line import line_ledger
from seckill.models import SaleItem
from seckill.outbox import outbox
from seckill.phase import Phase
from shop.databases.database_clock import database_now

# A sale that is still changing after this long is reported as changing.
PATIENCE_SECONDS = 15.0
PAUSE_SECONDS = 0.5
# A problem that is the same in so many comparisons is real, and not a change in progress.
COMPARISONS_MIN = 3
# The store is told within seconds how an order ended; if it takes longer than this, something is stuck (promise P5).
SETTLED_WITHIN = timedelta(seconds=60)
BATCH_MAX = 500
# The fields that a comparison reads.
COMPARED = ("reservation_id", "status", "units_back", "settled_at", "ended_at")
# How many buyers and reservations are named at most, so that the memory does not grow with the number of differences.
NAMED_MAX = 10
DIFFERENCES_MAX = 1_000
# The id of an outbox entry and the deadline of its hold come from two readings of the store's clock.
OUTBOX_TOLERANCE_MS = 5_000
# Where the last result is kept in the cache. An audit runs every minute; its result survives a worker's restart.
RESULT_KEY = "orders.repair.last_audit"
RESULT_KEPT_SECONDS = 24 * 3600
# The number of the audit's lock: apart from those of items (seckill/items/lock.py).
LOCK_NUMBER = int.from_bytes(b"audit")


@dataclass(frozen=True, slots=True)
class Difference:
    """A reservation on which the stores disagree. `order` and `hold` are their states, empty where there is none."""

    reservation_id: UUID
    order: str
    hold: str
    units: int

    def __str__(self) -> str:
        return (
            f"{self.reservation_id}: order {self.order or 'missing'}, hold {self.hold or 'missing'}, {self.units} units"
        )


@dataclass(slots=True)
class Comparison:
    """Both stores, compared once, in units. `quantity` and `left` are None if unlimited, or if the item is lost.

    `held`: orders that await payment. `sold`: orders that were paid. `on_the_way`: reservations in the outbox that are
    not orders yet. `settling`: holds that the store has not updated to their order's status yet. `differences` and
    `mismatched_totals` (sentences about totals that do not add up) may be changes in progress: they are problems only
    if later comparisons find them too.
    """

    item_id: int
    quantity: int | None = None
    left: int | None = None
    held: int = 0
    sold: int = 0
    on_the_way: int = 0
    settling: int = 0
    taken: int = 0
    hold_ms: int = 0
    differences: set[Difference] = field(default_factory=set)
    mismatched_totals: set[str] = field(default_factory=set)

    @property
    def issued(self) -> int | None:
        """left + held + sold + on the way + settling, which must equal the quantity. None if unlimited."""
        return None if self.left is None else self.left + self.held + self.sold + self.on_the_way + self.settling

    @property
    def problem_count(self) -> int:
        """How many differences and mismatched totals there are. Must be 0."""
        return len(self.differences) + len(self.mismatched_totals)


@dataclass(frozen=True, slots=True)
class Audit:
    """The last comparison, reduced to the problems that the comparisons before it found too.

    `changing`: there were other problems, which changed from one comparison to the next.
    """

    comparison: Comparison
    changing: bool
    seconds: float


def audit(
    *,
    item_id: int,
    patience_seconds: float = PATIENCE_SECONDS,
    report_progress: ReportProgress = lambda done, total: None,
) -> Audit:
    """Audit one item. If the first comparison finds problems, compare again until there are none, or until they stay
    the same, or until `patience_seconds` have passed.

    Raises StoreUnreachable.
    """
    started_s = time.monotonic()
    comparisons = [compare(item_id=item_id, report_progress=report_progress)]
    while comparisons[-1].problem_count:
        latest = comparisons[-COMPARISONS_MIN:]
        same = all(problems_of(each) == problems_of(latest[0]) for each in latest)
        # However long a comparison takes: fewer than these cannot tell a difference from a change in progress.
        if len(latest) == COMPARISONS_MIN and (same or time.monotonic() - started_s > patience_seconds):
            break
        time.sleep(PAUSE_SECONDS)
        comparisons.append(compare(item_id=item_id, report_progress=lambda done, total: None))
    last, latest = comparisons[-1], comparisons[-COMPARISONS_MIN:]
    count_before = last.problem_count
    last.differences = set.intersection(*(each.differences for each in latest))
    last.mismatched_totals = set.intersection(*(each.mismatched_totals for each in latest))
    changing = last.problem_count < count_before
    return Audit(comparison=last, changing=changing, seconds=time.monotonic() - started_s)


def audit_lock() -> AbstractContextManager[bool]:
    """For the audits that run by themselves: one at a time, in whatever process. Yields whether it was acquired."""
    return advisory_lock(LOCK_NUMBER, wait=False)


def problems_of(comparison: Comparison) -> tuple[set[Difference], set[str]]:
    return comparison.differences, comparison.mismatched_totals


def compare(*, item_id: int, report_progress: ReportProgress) -> Comparison:
    """Read both stores once. Each order is read after its hold, so it is never an older version than the hold."""
    comparison = Comparison(item_id=item_id)
    if item_state.condition(item_id=item_id) is not item_state.Condition.VERIFIED:
        comparison.mismatched_totals.add("the item is not whole in the store, or it is not verified yet")
    totals = item_state.totals(item_id=item_id)
    comparison.quantity, comparison.left = totals.counted.get("quantity"), totals.counted.get("left")
    terms = expected_terms(item_id=item_id)
    comparison.hold_ms = terms.hold_ms
    comparison.mismatched_totals |= set(mismatches(item_id, totals, expected=terms.quantity))
    for portion in item_state.all_holds(item_id=item_id):
        # Those that cannot be read are among the mismatched totals.
        compare_holds(comparison, {UUID(name): hold for name, hold in portion.items() if hold})
    compare_orders(comparison, report_progress=report_progress)
    if comparison.issued is not None and comparison.issued != comparison.quantity:
        comparison.mismatched_totals.add(f"issued {comparison.issued} of {comparison.quantity}")
    comparison.taken = SaleItem.objects.get(pk=item_id).taken
    return comparison


def mismatches(item_id: int, totals: item_state.Totals, *, expected: int | None) -> Iterator[str]:
    """Totals that do not add up, each as a sentence with the figures. `expected` is PostgreSQL's quantity."""
    counted = totals.counted
    yield from (f"the hold {name} cannot be read" for name in totals.malformed)
    if {"held", "sold"} <= counted.keys():
        if (counted["held"], counted["sold"]) != (totals.held, totals.sold):
            yield (
                f"the store counts {counted['held']} held and {counted['sold']} sold, "
                f"its holds add up to {totals.held} and {totals.sold}"
            )
        if counted.get("reservations") != totals.reservations + (forgotten := counted.get("forgotten", 0)):
            yield (
                f"the store counts {counted.get('reservations')} reservations, "
                f"and has {totals.reservations} holds and {forgotten} forgotten ones"
            )
        if "quantity" in counted and counted["quantity"] != counted.get("left", 0) + counted["held"] + counted["sold"]:
            yield f"the store's counters do not add up: {counted}"
    yield from line_problems(item_id)
    wrong = item_state.buyers_that_differ(item_id=item_id, totals=totals, count_max=NAMED_MAX)
    yield from (
        f"buyer {buyer} has {in_holds} units in holds, the store counts {units}" for buyer, in_holds, units in wrong
    )
    if counted.get("quantity") != expected:
        yield f"the store has a quantity of {counted.get('quantity')}, PostgreSQL of {expected}"
    # One statement, so that both figures are of the same moment.
    item = SaleItem.objects.annotate(
        counting=Sum(
            "order_lines__units",
            filter=Q(order_lines__order__status__in=LIVE) | Q(order_lines__order__units_back=False),
            default=0,
        )
    ).get(pk=item_id)
    if item.taken != item.counting:
        yield f"PostgreSQL counts {item.taken} as taken, its orders add up to {item.counting}"


def line_problems(item_id: int) -> Iterator[str]:
    """While the sale sells, no unit is left that somebody in the waiting list waits for. The sweep hands such units on
    within a second, so only problems that stay count, as all that an audit finds.
    """
    line = line_ledger.look(item_id=item_id)
    if line.places != line.buyers:
        yield f"the waiting list has {line.buyers} buyers and {line.places} places"
    if line.smallest != line.noted:
        yield f"somebody waits for {line.smallest} units, the item says {line.noted}"
    figures = ledger.read(item_id=item_id)
    sells = figures is not None and figures.phase is Phase.OPEN and not figures.backlog_full
    # After a lower limit, as many units are enough for all who wait for more.
    enough = figures and sells and line.smallest and min(line.smallest, figures.per_buyer_max)
    if figures and enough and figures.left is not None and figures.left >= enough:
        yield f"{figures.left} units are left, and somebody waits for {line.smallest}"


def compare_holds(comparison: Comparison, holds: dict[UUID, Hold]) -> None:
    """Add the live holds to the comparison, each compared with its order."""
    live = {pk: hold for pk, hold in holds.items() if hold.state != "ended"}
    orders = orders_of(list(live))
    alone = [pk for pk in live if pk not in orders]
    waiting = may_be_in_outbox(comparison, {pk: live[pk] for pk in alone}) if alone else set()
    # Look for orders again after reading the outbox: an entry leaves it only after its order is committed.
    orders |= orders_of([pk for pk in alone if pk not in waiting])
    now = database_now()
    for reservation_id, hold in live.items():
        order = orders.get(reservation_id)
        expected = expected_state(order) if order else None
        if order is None and reservation_id in waiting:
            comparison.on_the_way += hold.units
        elif expected is RestoreAs.HELD and hold.state == "held":
            comparison.held += hold.units
        elif expected is RestoreAs.SOLD and hold.state == "sold":
            comparison.sold += hold.units
        else:
            comparison.settling += hold.units
            if order is None or not settles_soon(order, now=now):
                note(comparison, difference(reservation_id, order, hold))


def note(comparison: Comparison, found: Difference) -> None:
    if len(comparison.differences) < DIFFERENCES_MAX:
        comparison.differences.add(found)
    else:
        comparison.mismatched_totals.add(f"more than {DIFFERENCES_MAX} reservations differ")


def compare_orders(comparison: Comparison, *, report_progress: ReportProgress) -> None:
    """Find the orders that should have a live hold but have none."""
    total, done = OrderLine.objects.filter(sale_item_id=comparison.item_id).count(), 0
    report_progress(0, total)
    live = Order.objects.filter(Q(status__in=LIVE) | Q(units_back=False), reservation_id__isnull=False)
    for order_ids in order_ids_in_batches(item_id=comparison.item_id, batch_max=BATCH_MAX):
        reservations = live.filter(pk__in=order_ids).values_list("reservation_id", flat=True)
        ids = [reservation_id for reservation_id in reservations if reservation_id]
        holds = item_state.find_holds(item_id=comparison.item_id, reservation_ids=ids)
        missing = {pk for pk, hold in zip(ids, holds, strict=True) if hold is None or hold.state == "ended"}
        # Read the orders again after the holds: an order ends before its hold does.
        for order in orders_of(list(missing)).values():
            if expected_state(order) is not RestoreAs.ENDED:
                hold = holds[ids.index(order.reservation_id)] if order.reservation_id else None
                note(comparison, difference(order.reservation_id, order, hold))
        done += len(order_ids)
        report_progress(min(done, total), total)


def orders_of(reservation_ids: Sequence[UUID]) -> dict[UUID | None, Order]:
    orders: QuerySet[Order] = Order.objects.filter(reservation_id__in=reservation_ids).only(*COMPARED)
    return {order.reservation_id: order for order in orders} if reservation_ids else {}


def may_be_in_outbox(comparison: Comparison, holds: dict[UUID, Hold]) -> set[UUID]:
    """Which of these reservations may still wait in the outbox: those made after its oldest entry.

    However long the outbox is, one entry of it is read. Entries leave it in about the order in which they came, so a
    reservation that is older than the oldest has left. One whose entry was lost is found when the older ones are done.
    """
    oldest_ms = outbox.oldest_ms(item_id=comparison.item_id)
    if oldest_ms is None:
        return set()
    return {
        pk for pk, hold in holds.items() if hold.deadline_ms - comparison.hold_ms >= oldest_ms - OUTBOX_TOLERANCE_MS
    }


def settles_soon(order: Order, *, now: datetime) -> bool:
    """Whether the order ended so recently, by PostgreSQL's clock, that it is normal if the store does not know yet."""
    if order.status == OrderStatus.AWAITING_PAYMENT or order.settled_at is not None or order.ended_at is None:
        return False
    return now - order.ended_at < SETTLED_WITHIN


def difference(reservation_id: UUID | None, order: Order | None, hold: Hold | None) -> Difference:
    assert reservation_id is not None
    units = hold.units if hold else sum(line.units for line in order.lines.all()) if order else 0
    return Difference(
        reservation_id=reservation_id,
        order=order.status if order else "",
        hold=hold.state if hold else "",
        units=units,
    )


def remember_result(*, problems_of_item: dict[int, int]) -> None:
    """Keep the number of problems that an audit found in each item, for /metrics."""
    cache.set(
        RESULT_KEY, {"at_s": timezone.now().timestamp(), "problems_of_item": problems_of_item}, RESULT_KEPT_SECONDS
    )


def last_result() -> tuple[float, dict[int, int]] | None:
    """The time of the last audit, in seconds since 1970, and its problems by item; None if it is not known."""
    result = cache.get(RESULT_KEY)
    return (result["at_s"], result["problems_of_item"]) if result else None
