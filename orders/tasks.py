"""The Celery tasks. A message never holds the only copy of anything, so a lost or repeated task does no harm."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from django.conf import settings

from orders import idempotent_calls
from orders.alerts import alert_sending, alert_watch
from orders.approvals.approved_changes import carry_out_approved
from orders.cart import cart_holder
from orders.invoices import numbering, writing
from orders.life import draw_results, intake, lifecycle, settlement
from orders.mails import line_mails, sending
from orders.payments import inbox, late_money, refunds, sessions
from orders.payments.simulated import delivery
from orders.preflight import readiness
from orders.rehearsal import running, written_orders
from orders.reminders import due_reminders, reminder_mails
from orders.repair import archiving, ended_holds
from orders.repair.audit import audit, audit_lock, remember_result
from orders.repair.nightly_stock_audit import audit_stock_if_due
from orders.repair.store_watch import items_to_watch, reconcile_if_needed
from orders.report import kept_sums
from orders.units import one_for_each
from seckill.changes.journal import sweep_changes
from seckill.changes.replica_choice import repeat_choice
from seckill.changes.unsold import return_unsold
from seckill.draw import carrying_out
from seckill.items.archive import retired_items
from seckill.items.loop import for_each_item, until
from seckill.items.shadow import is_shadow
from seckill.line.waiting_list import sweep_lines
from seckill.models import Draw, movable_items
from seckill.outbox import lease, outbox
from seckill.publication import announce_pending
from seckill.store.client import StoreUnreachable
from seckill.store.weak_settings import judge_settings
from seckill.waiting_room.admission import move_rooms, remove_old_rooms
from shop.accounts import mail_queue
from shop.background import outages
from shop.background.queued_tasks import queued_task, sweep
from shop.staff.stock_step import forget_old_tokens

log = structlog.get_logger(__name__)

# A task stops after this long and the next sweep continues. Far below the time limit of 60 s.
BUDGET_SECONDS = 20.0

# A drain that a doorbell asked for stops after this long, and the next doorbell continues: other queues of its worker
# wait for the process. Units of expired orders, for example, would come back on sale late.
DRAIN_SECONDS = 1.0

# How long such a drain waits after a batch that was not full, so that the next one is fuller: ten batches a second cost
# a fifth of the processor time of the hundreds that would be taken otherwise. The first batch never waits.
GATHER_SECONDS = 0.1

# Mails to waiting lists and losers of a draw, and reminders: thousands may wait, and nothing depends on them. So the
# next sweep soon begins with the others again.
MANY_MAILS_SECONDS = 4.0

# How long the audit of one item may repeat its comparison, since other tasks wait for the process.
AUDIT_PATIENCE_SECONDS = 5.0


@queued_task(queue="drain")
def drain_outbox(*, item_id: int) -> int:
    """Turn the item's outbox entries into orders until it is empty. Called by seckill/outbox/doorbell.py."""
    return drain(item_id=item_id, seconds_max=DRAIN_SECONDS, gather_seconds=GATHER_SECONDS)


def drain(*, item_id: int, seconds_max: float, gather_seconds: float = 0.0) -> int:
    """Drain the item's outbox until it is empty or the time is up; one batch in any case. Returns how many entries.

    Does nothing if another process drains the item.
    """
    give_up_s, count = time.monotonic() + seconds_max, 0
    drain_once = written_orders.drain_once if is_shadow(item_id) else intake.drain_once
    while lease.take(item_id):
        try:
            count += drain_batches(drain_once, item_id=item_id, give_up_s=give_up_s, gather_seconds=gather_seconds)
        finally:
            lease.give_back(item_id)
        # A reservation after the last batch found the lease taken, so no task was asked to drain it.
        late = drain_once(item_id=item_id)
        count += late
        if not late or time.monotonic() >= give_up_s:
            break
    return count


def drain_batches(drain_once: Callable[..., int], *, item_id: int, give_up_s: float, gather_seconds: float) -> int:
    """Drain until the outbox is empty or time is up, with a pause after each batch that was not full."""
    count = 0
    while handled := drain_once(item_id=item_id):
        count += handled
        if time.monotonic() >= give_up_s:
            break
        lease.keep(item_id)
        if handled < intake.BATCH_MAX:
            time.sleep(gather_seconds)
    return count


def drain_items(*, item_ids: Sequence[int], seconds_max: float) -> int:
    """Drain what waits in the items' outboxes, within one budget of which each item gets a fair part.

    An item that fails is logged and left to the next sweep. Raises StoreUnreachable, and database errors where
    PostgreSQL is away.
    """
    ends_s = time.monotonic() + seconds_max
    waiting = list(outbox.backlogs(item_ids=item_ids))
    behind = len(waiting)

    def drain_item(item_id: int) -> int:
        nonlocal behind
        part_seconds = (ends_s - time.monotonic()) / behind
        behind -= 1
        return drain(item_id=item_id, seconds_max=part_seconds)

    counts, _ = for_each_item(drain_item, item_ids=until(ends_s, waiting), event="outbox_not_drained")
    return sum(counts.values())


@sweep(queue="drain", every_seconds=1.0)
def sweep_outboxes() -> int:
    """Finish publications and changes that a crash interrupted, and drain outboxes without a doorbell.

    Past sales are left out: `archive_sales` drains their last entries.
    """
    drained = 0
    for step in (announce_pending, sweep_changes, drain_movable_items):
        # Each step for itself: all items of one may be on a server that is away, and those of the next on another one.
        try:
            drained = step()
        except StoreUnreachable as error:
            outages.wait(step.__name__, error)
            drained = 0
        else:
            outages.go_on(step.__name__)
    return drained


def drain_movable_items() -> int:
    return drain_items(item_ids=list(movable_items().values_list("pk", flat=True)), seconds_max=BUDGET_SECONDS)


@sweep(queue="expiry", every_seconds=1.0)
def move_waiting_rooms() -> int:
    """Let the next people in, as many as orders and payments can take."""
    return move_rooms(backlog=lambda: settlement.backlog() + inbox.backlog())


@sweep(queue="expiry", every_seconds=1.0)
def carry_out_draws() -> int:
    """Close the entries of draws, draw, give the units in the drawn order, and tell everybody what came of it."""
    # Most shops have none, and the steps take ten statements each second.
    if not Draw.objects.exists():
        return 0
    draw_results.follow_orders()
    given = carrying_out.carry_out_draws()
    return given + draw_results.tell_winners() + draw_results.tell_losers()


@sweep(queue="drain", every_seconds=10.0)
def return_unsold_units() -> int:
    """Put the unsold units of past sales back into the ordinary stock."""
    return return_unsold()


@sweep(queue="expiry", every_seconds=1.0)
def expire_overdue() -> int:
    """Put the units of unpaid orders past their deadline back on sale."""
    return repeat(lifecycle.expire_overdue)


def repeat(step: Callable[[], int]) -> int:
    """Take a step until nothing is left to do, or BUDGET_SECONDS are over. Returns how much was done."""
    ends_s, count = time.monotonic() + BUDGET_SECONDS, 0
    while done := step():
        count += done
        if time.monotonic() >= ends_s:
            break
    return count


@sweep(queue="expiry", every_seconds=1.0)
def hand_on_units() -> int:
    """Give units that lie idle to those who wait for them, and tell those in line that the sale has ended."""
    return sweep_lines() + line_mails.tell_ended_lines(seconds_max=BUDGET_SECONDS)


@sweep(queue="expiry", every_seconds=1.0)
def settle_orders() -> int:
    """Settle orders that a crash or an unreachable store left unsettled."""
    return settlement.settle_orders()


# Reconciling, auditing or archiving a large item takes longer than other tasks may, and longer than the broker waits
# before it delivers an unacknowledged message again. So these messages are acknowledged first: if the worker dies, beat
# soon sends the next one.
LONG_TASK: dict[str, Any] = {"time_limit": 900, "acks_late": False}


# A second task finds the item locked and skips it.
@sweep(queue="repair", every_seconds=1.0, **LONG_TASK)
def watch_store() -> int:
    """Find items of which a store may have lost data, and reconcile them with the orders."""
    return len(reconcile_if_needed(item_ids=items_to_watch()))


@sweep(queue="repair", every_seconds=60.0, **LONG_TASK)
def audit_sales() -> int:
    """Audit the items whose figures can change. Returns the number of problems, which must be 0.

    If the last audit still runs, this one is left out.
    """
    with audit_lock() as mine:
        return audit_all() if mine else 0


def audit_all() -> int:
    item_ids = list(movable_items().values_list("pk", flat=True))
    problems, broken = for_each_item(audit_item, item_ids=item_ids, event="item_not_audited")
    # An item that cannot be audited must not look like one without problems.
    problems |= dict.fromkeys(broken, 1)
    remember_result(problems_of_item=problems)
    return sum(problems.values())


def audit_item(item_id: int) -> int:
    """Audit one item and log its problems. Returns how many there are."""
    comparison = audit(item_id=item_id, patience_seconds=AUDIT_PATIENCE_SECONDS).comparison
    if comparison.problem_count:
        differences = sorted(str(each) for each in comparison.differences)[:20]
        totals = sorted(comparison.mismatched_totals)
        log.error("audit_differs", item_id=item_id, mismatched_totals=totals, differences=differences)
    return comparison.problem_count


# Not in the queue `repair`, one of whose processes must be free to reconcile. At night mails can wait for the other.
@sweep(queue="mail", every_seconds=600.0, **LONG_TASK)
def audit_stock_at_night() -> int:
    """Audit the ordinary stock if that is due. Returns how many figures differ, which must be 0."""
    return audit_stock_if_due()


@sweep(queue="celery", every_seconds=60.0)
def judge_stores() -> int:
    """Look for settings of both stores that can lose what buyers were told. Returns how many there are."""
    repeat_choice()
    return judge_settings()


@sweep(queue="celery", every_seconds=10.0)
def forget_ended_holds() -> int:
    """Remove ended holds from the store once their passes can no longer be used."""
    return ended_holds.forget_ended_holds(seconds_max=BUDGET_SECONDS)


@sweep(queue="repair", every_seconds=600.0, **LONG_TASK)
def archive_sales() -> int:
    """Take sales that were over long ago out of the store."""
    drain_items(item_ids=list(retired_items().values_list("pk", flat=True)), seconds_max=BUDGET_SECONDS)
    return remove_old_rooms() + archiving.archive_due(seconds_max=BUDGET_SECONDS)


@sweep(queue="celery", every_seconds=600.0)
def keep_sale_reports() -> int:
    """Keep what the report of an ended sale could not find out later. Returns of how many sales."""
    return kept_sums.keep_due(seconds_max=BUDGET_SECONDS)


@sweep(queue="celery", every_seconds=3600.0)
def clear_old_rows() -> int:
    """Remove old carts of guests, what was kept for repeated calls and forms, and marks of addresses and cards."""
    return repeat(
        lambda: (
            cart_holder.remove_old_carts()
            + idempotent_calls.forget_old_calls()
            + forget_old_tokens()
            + one_for_each.forget_old()
        )
    )


@sweep(queue="mail", every_seconds=5.0)
def send_mails() -> int:
    """Send the mails that are due, for some `BUDGET_SECONDS`. Those about accounts go first, reminders last."""
    started = time.monotonic()
    sent = mail_queue.send_due(seconds_max=BUDGET_SECONDS / 2)
    sent += sending.send_due(seconds_max=BUDGET_SECONDS * 0.75 - (time.monotonic() - started))
    sent += line_mails.send_due(seconds_max=MANY_MAILS_SECONDS)
    return sent + reminder_mails.send_due(seconds_max=MANY_MAILS_SECONDS)


@sweep(queue="mail", every_seconds=due_reminders.SWEEP_SECONDS)
def make_reminders_due() -> int:
    """Find the reminders whose time has come, and remove those of sales that are over."""
    return due_reminders.make_due()


@sweep(queue="expiry", every_seconds=1.0)
def apply_waiting_events() -> int:
    """Apply events that waited for their payment, and decide late payments that are still open."""
    return inbox.apply_waiting() + late_money.settle_waiting()


@sweep(queue="payments", every_seconds=1.0)
def move_refunds() -> int:
    """Ask the payment providers for the refunds that are due."""
    return refunds.request_due_refunds()


@sweep(queue="payments", every_seconds=2.0)
def write_invoices() -> int:
    """Number the invoices and notes that wait for it, and write those that an older release has not written."""
    return writing.write_missing() + numbering.number_waiting()


@sweep(queue="payments", every_seconds=1.0)
def close_sessions() -> int:
    """Close the payment pages of orders that ended in another way."""
    return sessions.close_sessions()


@sweep(queue="payments", every_seconds=1.0 if "simulated" in settings.PAYMENT_PROVIDERS else None)
def deliver_simulated_events() -> int:
    """The simulated provider sends its webhooks to the shop."""
    return delivery.deliver_due()


@sweep(queue="mail", every_seconds=10.0)
def judge_coming_sales() -> int:
    """Repeat the pre-flight of each sale that opens within the hour."""
    return readiness.judge_coming_sales()


@sweep(queue="celery", every_seconds=10.0 if settings.ALERTS else None)
def watch_alerts() -> int:
    """Write a message for each alert that began or is over. Returns how many."""
    return alert_watch.watch()


@sweep(queue="mail", every_seconds=5.0 if settings.ALERTS else None)
def send_alerts() -> int:
    return alert_sending.send_due(seconds_max=BUDGET_SECONDS)


@sweep(queue="celery", every_seconds=10.0 if settings.APPROVALS else None)
def finish_approvals() -> int:
    """Carry out what was approved by a process that was killed, and end requests that nobody decided in time."""
    return carry_out_approved()


@sweep(queue="celery", every_seconds=10.0)
def clear_rehearsals() -> int:
    """Remove what rehearsals left in the store whose processes were killed."""
    return running.clear_ended()
