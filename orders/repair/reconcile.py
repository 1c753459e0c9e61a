"""Makes an item in the reservation store agree with its orders, and marks it as verified.

A store that was restarted, failed over, emptied or restored from a backup may have lost reservations that it accepted.
Until the item is reconciled, its buyers get `unavailable` (reserve.lua compares the item's `incarnation` with that of
the running server). Payments and expired orders change PostgreSQL meanwhile, and wait to be settled with the store
(confirm.lua and release.lua answer `unavailable` too), so nothing moves while the totals are added up:

1. mark the item as unverified: from now on buyers cannot reserve. PostgreSQL accepts no reservations of a former server
   of the store any more, since a batch that a worker still has in its hands would be missing in the comparison. If
   another PostgreSQL server has taken over since the item was verified, the orders whose holds have ended are ended
   first (orders/repair/replaced_database.py);
2. collect: every outbox entry, and every hold that has neither entry nor order, becomes an order. Changes of the item
   that the store has applied, and whose process died before PostgreSQL knew it, are finished;
3. repair: compare each order with its hold, with the order locked. Restore holds that are missing, confirm those that
   were paid, release those that have ended. If the item is lost, or its totals do not add up, it is wiped first and
   published again, still unverified;
4. mark it as verified, with the store's incarnation and PostgreSQL's timeline that were read before step 1. If a server
   has changed since, one of them does not match, and the item is reconciled again.

If the process dies anywhere, the next reconcile starts again and finds less to do. Buyers cannot reserve meanwhile.
"""

import time
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models.functions import Now

from orders.life import intake
from orders.models import SOLD, Attention, Order, OrderLine, OrderStatus, StoreRepair
from orders.repair import replaced_database
from orders.units.taken import accept_only
from seckill import ledger
from seckill.changes import journal
from seckill.changes.pauses import pauses_of, put_note
from seckill.items import item_state
from seckill.items.lock import check_held, item_lock
from seckill.ledger_words import Adjusted, Hold, ReleaseReason, Restoration, RestoreAs, Restored
from seckill.line.line_ledger import ids_in_line
from seckill.line.waiting_list import open_lost_line
from seckill.models import SaleChange, SaleItem
from seckill.passes import passes
from seckill.publication import terms_of
from seckill.store.client import StoreUnreachable
from shop.databases.timeline import database_timeline
from shop.times.timestamps import from_ms, now_ms, to_ms

log = structlog.get_logger(__name__)

# Orders compared at once. Where they differ, their rows are locked for two round trips to the store.
BATCH_MAX = 1_000

# Totals that do not agree are added up again before the item is wiped: during an upgrade, a worker of the last release
# may have moved units meanwhile, and a wipe makes the buyers wait for a whole rebuild.
TOTALS_TRIES = 3
TOTALS_PAUSE_SECONDS = 0.3

# Called with how many of how many orders were compared.
ReportProgress = Callable[[int, int], None]


class StillDiffers(Exception):
    """A rebuilt item still does not agree with its orders, so it is not verified. The log has the refused repairs."""


@dataclass(slots=True)
class Reconciled:
    """The counts of a reconcile, in reservations. `refused`: differences that could not be repaired.

    `ended`: orders whose end PostgreSQL lost with its previous server.
    """

    item_id: int
    rebuilt: bool = False
    ended: int = 0
    collected: int = 0
    compared: int = 0
    restored: int = 0
    confirmed: int = 0
    released: int = 0
    refused: int = 0
    seconds: float = 0.0

    @property
    def differed(self) -> bool:
        """Whether the store differed from the orders. After an ordinary restart it does not."""
        return bool(self.rebuilt or self.ended or self.restored or self.confirmed or self.released or self.refused)


@dataclass(frozen=True, slots=True)
class ExpectedHold:
    """The hold that an order should have in the store, according to PostgreSQL."""

    order_id: int
    reservation_id: UUID
    buyer_id: int
    units: int
    deadline_ms: int
    state: RestoreAs


def reconcile(
    *, item_id: int, rebuild: bool = False, report_progress: ReportProgress = lambda done, total: None
) -> Reconciled:
    """Compare, repair and mark as verified. With `rebuild`, wipe and rewrite the item even if it is repairable.

    Raises StoreUnreachable, StillDiffers and database errors; the item then stays unavailable, and the next attempt
    starts again.
    """
    started_s = time.monotonic()
    result = Reconciled(item_id=item_id)
    with item_lock(item_id=item_id):
        incarnation = item_state.incarnation(item_id=item_id)
        timeline = database_timeline()
        replaced = item_state.is_of_other_timeline(item_id=item_id, timeline=timeline)
        item_state.mark_unverified(item_id=item_id)
        # One that a killed process has begun goes on.
        StoreRepair.objects.get_or_create(item_id=item_id, ended_at=None, defaults={"began_at": Now()})
        accept_only(item_id=item_id, incarnation=incarnation)
        if replaced:
            # First, since others may have their units.
            result.ended = replaced_database.end_what_ended_in_the_store(item_id=item_id)
        result.collected = intake.drain_all(item_id=item_id)
        lost = collect_lost_orders(item_id=item_id, incarnation=incarnation)
        result.collected += lost
        if replaced:
            replaced_database.list_what_is_lost(item_id=item_id, ended=result.ended, brought_back=lost)
        finish_changes(item_id=item_id)
        repairable = not rebuild and is_repairable(item_id=item_id)
        if not repairable or not try_repair(item_id=item_id, result=result, report_progress=report_progress):
            result.rebuilt, result.refused = True, 0
            republish(item_id=item_id)
            if not repair_holds(item_id=item_id, result=result, report_progress=report_progress):
                raise StillDiffers(f"sale item {item_id}: {result}")
        open_lost_line(item_id)
        put_note(item_id)
        check_held(item_id=item_id)
        # Before the item is verified: one that stays open would go on with the next reconcile, days later.
        begun = StoreRepair.objects.filter(item_id=item_id, ended_at=None)
        begun.update(ended_at=Now(), differed=result.differed)
        item_state.mark_verified(item_id=item_id, incarnation=incarnation, timeline=timeline)
        journal.apply_pending(item_id=item_id)
    result.seconds = time.monotonic() - started_s
    return result


def finish_changes(*, item_id: int) -> None:
    counters = item_state.counters(item_id=item_id)
    answer = None
    if counters is not None:
        answer = ledger.AdjustAnswer(
            word=Adjusted.ALREADY_APPLIED,
            quantity=counters.quantity,
            left=counters.left,
            held=counters.held,
            sold=counters.sold,
            closes_ms=counters.closes_ms,
        )
    operation_ids = item_state.applied_operations(item_id=item_id)
    journal.finish_interrupted(item_id=item_id, operation_ids=operation_ids, answer=answer)


def is_repairable(*, item_id: int) -> bool:
    """Whether holds can be repaired one by one: no part of the item is lost, and its terms are those in PostgreSQL."""
    if item_state.condition(item_id=item_id) is item_state.Condition.LOST:
        return False
    applied = SaleChange.objects.filter(item_id=item_id, status=SaleChange.Status.APPLIED)
    # The store never hears of a draw's entry (seckill/draw/carrying_out.py).
    told = applied.exclude(kind=SaleChange.Kind.DRAW).values_list("operation_id", flat=True)
    if set(told) - item_state.applied_operations(item_id=item_id):
        return False
    terms = expected_terms(item_id=item_id)
    expected = {
        "opens_ms": terms.opens_ms,
        **({} if journal.is_end_unknown(item_id=item_id) else {"closes_ms": terms.closes_ms}),
        "hold_ms": terms.hold_ms,
        "per_buyer_max": terms.per_buyer_max,
        "price_minor": terms.price_minor,
        "currency": terms.currency,
        "state": "paused" if pauses_of(item_id) else "open",
        **({} if terms.quantity is None else {"quantity": terms.quantity}),
    }
    found = item_state.terms(item_id=item_id)
    return all(found.get(name) == str(value) for name, value in expected.items()) and (
        ("quantity" in found) == ("quantity" in expected)
    )


def expected_terms(*, item_id: int) -> ledger.Terms:
    """The terms after the last change that the store has applied, so without units that are still to be added."""
    terms = terms_of(SaleItem.objects.select_related("sale").get(pk=item_id))
    closes_ms = journal.store_closes_ms(item_id=item_id) or terms.closes_ms
    return replace(terms, quantity=journal.store_quantity(item_id=item_id), closes_ms=closes_ms)


def republish(*, item_id: int) -> None:
    """Wipe the item and publish its terms again, unverified. Make orders of all reservations first."""
    applied = SaleChange.objects.filter(item_id=item_id, status=SaleChange.Status.APPLIED)
    item_state.wipe(item_id=item_id)
    terms, paused = expected_terms(item_id=item_id), bool(pauses_of(item_id))
    ledger.publish(item_id=item_id, terms=terms, paused=paused, verified=False)
    operation_ids = applied.values_list("operation_id", flat=True)
    item_state.mark_applied(item_id=item_id, operation_ids=operation_ids, now_ms=now_ms())


def collect_lost_orders(*, item_id: int, incarnation: str) -> int:
    """Create the orders that only a hold is left of, neither an entry nor an order. Returns how many.

    `incarnation` is that of the store's server, read before. Call `accept_only` with it first. Raises ServerReplaced.
    """
    count = 0
    hold_time = timedelta(seconds=SaleItem.objects.values_list("sale__hold_seconds", flat=True).get(pk=item_id))
    for portion in item_state.all_holds(item_id=item_id):
        live = {UUID(name): hold for name, hold in portion.items() if hold is not None and hold.state != "ended"}
        # The sale may go on (sale_rebuild --lost-orders): the entry of a new hold becomes its order now.
        intake.drain_all(item_id=item_id)
        known = Order.objects.filter(reservation_id__in=live).values_list("reservation_id", flat=True)
        new_orders = [
            intake.NewOrder(
                entry=None,
                incarnation=incarnation,
                reservation_id=reservation_id,
                buyer_id=live[reservation_id].buyer_id,
                units=live[reservation_id].units,
                reserved_at=from_ms(live[reservation_id].deadline_ms) - hold_time,
                deadline=from_ms(live[reservation_id].deadline_ms),
            )
            for reservation_id in live.keys() - set(known)
        ]
        if new_orders:
            reservations = [str(new_order.reservation_id) for new_order in new_orders[:20]]
            log.error("holds_without_entry", item_id=item_id, reservations=reservations)
            intake.persist_and_acknowledge(item_id=item_id, new_orders=new_orders, by_reconcile=True)
        count += len(new_orders)
    return count


def try_repair(*, item_id: int, result: Reconciled, report_progress: ReportProgress) -> bool:
    """Repair the holds. False too if a script refuses because a value of the item is damaged: then it is rebuilt."""
    try:
        return repair_holds(item_id=item_id, result=result, report_progress=report_progress)
    except StoreUnreachable as error:
        # Raises it again if the store does not answer at all.
        ledger.clock_ms(item_id=item_id)
        log.warning("item_damaged", item_id=item_id, error=str(error))
        return False


def repair_holds(*, item_id: int, result: Reconciled, report_progress: ReportProgress) -> bool:
    """Compare every order of the item with its hold, in batches, and repair the differences in the store.

    Returns whether the item's totals are consistent afterwards.
    """
    total = OrderLine.objects.filter(sale_item_id=item_id).count()
    compared = 0
    report_progress(0, total)
    for size in compare_in_batches(item_id=item_id, result=result):
        compared += size
        report_progress(compared, max(total, compared))
    result.compared = compared
    return not result.refused and totals_agree(item_id=item_id)


def totals_agree(*, item_id: int) -> bool:
    for attempt in range(TOTALS_TRIES):
        if attempt:
            time.sleep(TOTALS_PAUSE_SECONDS)
        if item_state.totals(item_id=item_id).consistent:
            return True
    return False


def compare_in_batches(*, item_id: int, result: Reconciled) -> Iterator[int]:
    """Compare without locks, since most orders agree. Lock the rows of the others and compare them again, so that none
    of them ends between the comparison and the repair. Yields the size of each batch.
    """
    for order_ids in order_ids_in_batches(item_id=item_id, batch_max=BATCH_MAX):
        pairs = with_holds(item_id, expected_holds(item_id=item_id, order_ids=order_ids))
        missing = {expected.reservation_id: expected.buyer_id for expected, hold in pairs if hold is None}
        waiting = ids_in_line(item_id=item_id, buyer_ids=missing)
        if differing := [expected.order_id for expected, hold in pairs if not agrees(expected, hold, waiting)]:
            with transaction.atomic():
                list(Order.objects.select_for_update(no_key=True).filter(pk__in=differing).order_by("pk").values("pk"))
                locked = expected_holds(item_id=item_id, order_ids=differing)
                repair_batch(item_id=item_id, pairs=with_holds(item_id, locked), result=result)
        yield len(order_ids)


def order_ids_in_batches(*, item_id: int, batch_max: int) -> Iterator[list[int]]:
    """The ids of all orders of the item, the oldest first.

    From the index of the lines alone: joined with the orders, PostgreSQL would read them from the first one again for
    each batch.
    """
    lines = OrderLine.objects.filter(sale_item_id=item_id).order_by("order_id")
    last_id = 0
    while batch := list(lines.filter(order_id__gt=last_id).values_list("order_id", flat=True)[:batch_max]):
        yield batch
        last_id = batch[-1]


def expected_holds(*, item_id: int, order_ids: Sequence[int]) -> list[ExpectedHold]:
    lines = OrderLine.objects.filter(
        sale_item_id=item_id, order_id__in=order_ids, order__reservation_id__isnull=False
    ).order_by("order_id")
    columns = ("order_id", "order__reservation_id", "order__buyer_id", "units", "order__expires_at")
    return [
        ExpectedHold(
            order_id, reservation_id, buyer_id, units, to_ms(deadline), state_for(status, units_back, attention)
        )
        for order_id, reservation_id, buyer_id, units, deadline, status, units_back, attention in lines.values_list(
            *columns, "order__status", "order__units_back", "order__attention"
        )
    ]


def with_holds(item_id: int, batch: Sequence[ExpectedHold]) -> list[tuple[ExpectedHold, Hold | None]]:
    """Each expected hold with the hold that the store has; None if it has none."""
    holds = item_state.find_holds(item_id=item_id, reservation_ids=[expected.reservation_id for expected in batch])
    return list(zip(batch, holds, strict=True))


def agrees(expected: ExpectedHold, hold: Hold | None, waiting: Set[UUID]) -> bool:
    if hold is None:
        # A pass that waits in line must find its ended hold, or it gets units under the id of this order.
        return is_forgettable(expected) and expected.reservation_id not in waiting
    return same_units(expected, hold) and (hold.state == expected.state.value or is_lost_payment(expected, hold))


def is_lost_payment(expected: ExpectedHold, hold: Hold) -> bool:
    """Whether the order was paid before PostgreSQL was restored from a backup (orders/units/lost_payments.py).

    That is all that is left of the payment, so the hold stays sold until a person has decided; the audit shows it.
    """
    return expected.state is RestoreAs.HELD and hold.state == "sold"


def is_forgettable(expected: ExpectedHold) -> bool:
    """Whether the hold may be missing: it has ended, and its pass is of no use any more (orders/repair/ended_holds.py).

    Writing such holds again would fill the store with them at every reconcile.
    """
    return expected.state is RestoreAs.ENDED and passes.is_useless(deadline_ms=expected.deadline_ms)


def same_units(expected: ExpectedHold, hold: Hold) -> bool:
    """Whether buyer and units are equal. A pass whose hold was lost may have been used again for more units."""
    return (hold.buyer_id, hold.units) == (expected.buyer_id, expected.units)


def expected_state(order: Order) -> RestoreAs:
    """The state that the order's hold should have in the store."""
    return state_for(order.status, order.units_back)


def state_for(status: str, units_back: bool, attention: str = "") -> RestoreAs:
    if status == OrderStatus.AWAITING_PAYMENT:
        # A rebuild must not forget a payment.
        return RestoreAs.SOLD if attention == Attention.PAYMENT_LOST else RestoreAs.HELD
    return RestoreAs.SOLD if status in SOLD or not units_back else RestoreAs.ENDED


def repair_batch(*, item_id: int, pairs: Sequence[tuple[ExpectedHold, Hold | None]], result: Reconciled) -> None:
    """Repair the store's holds. Releases come first: restored holds may need the units they free."""
    released = [
        expected.reservation_id
        for expected, hold in pairs
        if expected.state is RestoreAs.ENDED and hold is not None and hold.state != "ended"
    ]
    confirmed = [
        expected.reservation_id
        for expected, hold in pairs
        if expected.state is RestoreAs.SOLD and hold is not None and hold.state == "held"
    ]
    missing = [
        Restoration(expected.reservation_id, expected.buyer_id, expected.units, expected.deadline_ms, expected.state)
        for expected, hold in pairs
        if hold is None or (hold.state == "ended" and expected.state is not RestoreAs.ENDED)
    ]
    if released:
        # Always as a refund: the store releases sold units for no other reason.
        ledger.release(item_id=item_id, reservation_ids=released, reason=ReleaseReason.REFUNDED, even_unverified=True)
    if confirmed:
        ledger.confirm(item_id=item_id, reservation_ids=confirmed, even_unverified=True)
    answers = ledger.restore_many(item_id=item_id, restorations=missing) if missing else []
    for restoration, answer in zip(missing, answers, strict=True):
        if answer is not Restored.RESTORED:
            log.error(
                "restore_refused", item_id=item_id, reservation=str(restoration.reservation_id), answer=answer.value
            )
    result.released += len(released)
    result.confirmed += len(confirmed)
    result.restored += answers.count(Restored.RESTORED)
    result.refused += len(answers) - answers.count(Restored.RESTORED)
    # With other units: no verb repairs that, the item must be rebuilt.
    result.refused += sum(hold is not None and not same_units(expected, hold) for expected, hold in pairs)
