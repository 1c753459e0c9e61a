"""Makes an item in the reservation store agree with its orders, and marks it as verified.

A store that was restarted, failed over, emptied or put back from a backup may know less than was answered. Its buyers
hear `unavailable` (reserve.lua compares the item's `incarnation` with the running server's) until this has come by:

1. mark the item as unverified: from here on nobody reserves;
2. collect: every outbox entry, and every hold that has neither entry nor order, becomes an order;
3. mend: each order is compared with its hold, under a lock on the order; what is missing is restored, what was paid
   confirmed, what has ended released. An item that is lost, or whose own books do not add up, is wiped first and
   published anew, without being on sale yet;
4. mark it as verified, with the incarnation that was read before step 1: if the server has changed since, it does not
   match, and the item stays unavailable.

Killed anywhere, it is begun anew and finds less to do. Nobody is told yes meanwhile.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import QuerySet

from orders import intake
from orders.models import SOLD, Order, OrderLine, OrderStatus
from seckill import durability, item_state, ledger
from seckill.changes import journal
from seckill.item_lock import item_lock
from seckill.ledger import Hold, Reason, Restoration, Restore, Restored
from seckill.models import SaleChange, SaleItem
from seckill.publication import terms_of
from seckill.timestamps import milliseconds, moment_from, now_ms

log = structlog.get_logger(__name__)

# Orders compared at once; where they differ, their rows are locked for two round trips to the store.
BATCH_MAX = 1_000

Report = Callable[[int, int], None]


class StillDiffers(Exception):
    """A rebuilt item still does not add up, so it is not verified; the log has what was refused."""


@dataclass(slots=True)
class Reconciled:
    """What a reconcile found and did. Counts of reservations; `seconds` from beginning to end."""

    item_id: int
    rebuilt: bool = False
    collected: int = 0
    compared: int = 0
    restored: int = 0
    confirmed: int = 0
    released: int = 0
    refused: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Line:
    """An order of the item, as far as its hold is concerned. `wanted` is what the store should say."""

    order_id: int
    reservation_id: UUID
    buyer_id: int
    units: int
    deadline_ms: int
    wanted: Restore


def reconcile_if_needed(*, item_ids: Sequence[int]) -> list[Reconciled]:
    """Reconcile those of the items that are lost or unverified, unless somebody else does. Raises StoreUnreachable."""
    done = []
    for item_id, condition in item_state.conditions(item_ids=item_ids).items():
        if condition is not item_state.Condition.VERIFIED:
            with item_lock(item_id=item_id, wait=False) as mine:
                if mine:
                    done.append(reconcile(item_id=item_id))
    # Sales were opened on better settings. They go on, since ending them is for a person to decide.
    for weakness in durability.find_weaknesses() if done else ():
        log.error("store_came_back_weaker", setting=weakness.setting, value=weakness.value)
    return done


def reconcile(*, item_id: int, rebuild: bool = False, report: Report = lambda done, total: None) -> Reconciled:
    """Compare, mend and mark as verified. With `rebuild` the item is wiped and written anew whatever its state.

    `report` hears how many of how many orders were compared. Raises StoreUnreachable, StillDiffers and database errors;
    the item then stays unavailable, and the next attempt goes on.
    """
    started_s = time.monotonic()
    done = Reconciled(item_id=item_id)
    with item_lock(item_id=item_id):
        incarnation = item_state.incarnation()
        item_state.mark_unverified(item_id=item_id)
        done.collected = collect(item_id=item_id)
        mendable = not rebuild and is_whole(item_id=item_id)
        if not mendable or not mend(item_id=item_id, done=done, report=report):
            done.rebuilt, done.refused = True, 0
            publish_anew(item_id=item_id)
            if not mend(item_id=item_id, done=done, report=report):
                raise StillDiffers(f"sale item {item_id}: {done}")
        item_state.mark_verified(item_id=item_id, incarnation=incarnation)
        journal.apply_pending(item_id=item_id)
    done.seconds = time.monotonic() - started_s
    log.warning("item_reconciled", **{name: getattr(done, name) for name in Reconciled.__slots__})
    return done


def is_whole(*, item_id: int) -> bool:
    """Whether the item is worth mending: no part is lost, and it has the terms that PostgreSQL knows."""
    if item_state.conditions(item_ids=[item_id])[item_id] is item_state.Condition.LOST:
        return False
    applied = SaleChange.objects.filter(item_id=item_id, status=SaleChange.Status.APPLIED)
    if set(applied.values_list("operation_id", flat=True)) - item_state.applied_operations(item_id=item_id):
        return False
    item, terms = SaleItem.objects.select_related("sale").get(pk=item_id), expected_terms(item_id=item_id)
    expected = {
        "opens_ms": terms.opens_ms,
        "closes_ms": terms.closes_ms,
        "hold_ms": terms.hold_ms,
        "per_buyer_max": terms.per_buyer_max,
        "price_minor": terms.price_minor,
        "currency": terms.currency,
        "state": "paused" if item.sale.paused else "open",
        **({} if terms.quantity is None else {"quantity": terms.quantity}),
    }
    found = item_state.terms(item_id=item_id)
    return all(found.get(name) == str(value) for name, value in expected.items()) and (
        ("quantity" in found) == ("quantity" in expected)
    )


def expected_terms(*, item_id: int) -> ledger.Terms:
    """The terms as of the last change that the store has applied: units that are still to be added are left out."""
    item = SaleItem.objects.select_related("sale").get(pk=item_id)
    return replace(terms_of(item), quantity=journal.store_quantity(item_id=item_id))


def publish_anew(*, item_id: int) -> None:
    """Forget what the store says of the item and put its terms there, not on sale yet. `collect` comes first."""
    item = SaleItem.objects.select_related("sale").get(pk=item_id)
    applied = SaleChange.objects.filter(item_id=item_id, status=SaleChange.Status.APPLIED)
    item_state.wipe(item_id=item_id)
    ledger.publish(item_id=item_id, terms=expected_terms(item_id=item_id), paused=item.sale.paused, verified=False)
    operation_ids = applied.values_list("operation_id", flat=True)
    item_state.mark_applied(item_id=item_id, operation_ids=operation_ids, now_ms=now_ms())


def collect(*, item_id: int) -> int:
    """Bring what only the store knows into PostgreSQL: the outbox, then holds without an entry. Returns how many."""
    count = intake.drain_all(item_id=item_id)
    hold_time = timedelta(seconds=SaleItem.objects.values_list("sale__hold_seconds", flat=True).get(pk=item_id))
    for portion in item_state.all_holds(item_id=item_id):
        live = {UUID(name): hold for name, hold in portion.items() if hold is not None and hold.state != "ended"}
        known = Order.objects.filter(reservation_id__in=live).values_list("reservation_id", flat=True)
        new_orders = [
            intake.NewOrder(
                entry=None,
                reservation_id=reservation_id,
                buyer_id=live[reservation_id].buyer_id,
                units=live[reservation_id].units,
                reserved_at=moment_from(live[reservation_id].deadline_ms) - hold_time,
                deadline=moment_from(live[reservation_id].deadline_ms),
            )
            for reservation_id in live.keys() - set(known)
        ]
        if new_orders:
            log.error(
                "holds_without_entry",
                item_id=item_id,
                reservations=[str(new.reservation_id) for new in new_orders[:20]],
            )
            intake.persist_and_acknowledge(item_id=item_id, new_orders=new_orders)
        count += len(new_orders)
    return count


def mend(*, item_id: int, done: Reconciled, report: Report) -> bool:
    """Compare every order of the item with its hold, in batches, and say to the store what differs.

    Whether the item's books add up now.
    """
    total = OrderLine.objects.filter(sale_item_id=item_id).count()
    compared = 0
    report(0, total)
    for size in mend_batches(item_id=item_id, done=done):
        compared += size
        report(compared, max(total, compared))
    done.compared = compared
    return not done.refused and item_state.totals(item_id=item_id).consistent


def mend_batches(*, item_id: int, done: Reconciled) -> Iterator[int]:
    """Compare without locks, since most orders agree; look again at the others with their rows locked, so that none of
    them ends between the look and the word. Yields the size of each batch.
    """
    last_id = 0
    while lines := read_lines(lines_of(item_id).filter(order_id__gt=last_id)[:BATCH_MAX]):
        differing = [line.order_id for line, hold in with_holds(item_id, lines) if not agrees(line, hold)]
        if differing:
            with transaction.atomic():
                list(Order.objects.select_for_update(no_key=True).filter(pk__in=differing).order_by("pk").values("pk"))
                locked = read_lines(lines_of(item_id).filter(order_id__in=differing))
                mend_lines(item_id=item_id, pairs=with_holds(item_id, locked), done=done)
        last_id = lines[-1].order_id
        yield len(lines)


def lines_of(item_id: int) -> QuerySet[OrderLine]:
    orders = OrderLine.objects.select_related("order").filter(order__reservation_id__isnull=False)
    return orders.filter(sale_item_id=item_id).order_by("order_id")


def read_lines(rows: QuerySet[OrderLine]) -> list[Line]:
    """The rows as far as their holds are concerned."""
    columns = ("order_id", "order__reservation_id", "order__buyer_id", "units", "order__expires_at")
    return [
        Line(order_id, reservation_id, buyer_id, units, milliseconds(deadline), wanted_as(status, units_back))
        for order_id, reservation_id, buyer_id, units, deadline, status, units_back in rows.values_list(
            *columns, "order__status", "order__units_back"
        )
    ]


def with_holds(item_id: int, lines: Sequence[Line]) -> list[tuple[Line, Hold | None]]:
    holds = item_state.find_holds(item_id=item_id, reservation_ids=[line.reservation_id for line in lines])
    return list(zip(lines, holds, strict=True))


def agrees(line: Line, hold: Hold | None) -> bool:
    return hold is not None and hold.state == line.wanted.value and is_same(line, hold)


def is_same(line: Line, hold: Hold) -> bool:
    """Whether both speak of the same units: a pass whose hold was lost may have been used anew, for more of them."""
    return (hold.buyer_id, hold.units) == (line.buyer_id, line.units)


def wanted_of(order: Order) -> Restore:
    """What the store should say of the order's hold."""
    return wanted_as(order.status, order.units_back)


def wanted_as(status: str, units_back: bool) -> Restore:
    if status == OrderStatus.AWAITING_PAYMENT:
        return Restore.HELD
    return Restore.SOLD if status in SOLD or not units_back else Restore.ENDED


def mend_lines(*, item_id: int, pairs: Sequence[tuple[Line, Hold | None]], done: Reconciled) -> None:
    """Releases first: what they give back may be what a restoration needs."""
    released = [line.reservation_id for line, hold in pairs if line.wanted is Restore.ENDED and is_live(hold)]
    confirmed = [
        line.reservation_id
        for line, hold in pairs
        if line.wanted is Restore.SOLD and hold is not None and hold.state == "held"
    ]
    missing = [
        Restoration(line.reservation_id, line.buyer_id, line.units, line.deadline_ms, line.wanted)
        for line, hold in pairs
        if hold is None or (hold.state == "ended" and line.wanted is not Restore.ENDED)
    ]
    if released:
        # As a refund, whatever the order says: only that reason gives back what the store takes for sold.
        ledger.release(item_id=item_id, reservation_ids=released, reason=Reason.REFUNDED)
    if confirmed:
        ledger.confirm(item_id=item_id, reservation_ids=confirmed)
    answers = ledger.restore_many(item_id=item_id, restorations=missing) if missing else []
    for restoration, answer in zip(missing, answers, strict=True):
        if answer is not Restored.RESTORED:
            log.error(
                "restore_refused", item_id=item_id, reservation=str(restoration.reservation_id), answer=answer.value
            )
    done.released += len(released)
    done.confirmed += len(confirmed)
    done.restored += answers.count(Restored.RESTORED)
    done.refused += len(answers) - answers.count(Restored.RESTORED)
    # Sold in the store and unpaid in PostgreSQL, or of other units: no verb mends it, the item has to be written anew.
    done.refused += sum(
        hold is not None and ((line.wanted is Restore.HELD and hold.state == "sold") or not is_same(line, hold))
        for line, hold in pairs
    )


def is_live(hold: Hold | None) -> bool:
    return hold is not None and hold.state != "ended"
