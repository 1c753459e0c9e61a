"""What becomes of a rehearsal's reservations: real workers write their orders, and take them back at once.

A batch is read from the outbox like any other and goes through the same statement into the same tables, in a
transaction that is rolled back. So no order, number, mail, figure or journal is ever seen by anybody. What is committed
is the time of the batch in the row of the rehearsal: PostgreSQL syncs a commit here as often as for real orders.
"""

import structlog
from django.db import transaction
from django.utils import timezone

from orders.life import intake
from orders.models import OrderStatus, Rehearsal
from orders.rehearsal.shadows import KEPT_SECONDS
from seckill.items.shadow import expire_in, parts_of
from seckill.outbox import outbox

log = structlog.get_logger(__name__)


def drain_once(*, item_id: int) -> int:
    """Write one batch of the shadow's outbox and take it back. Returns how many entries it handled.

    As `intake.drain_once`, it raises StoreUnreachable and database errors, and the entries are read again later.
    """
    entries = outbox.read_batch(item_id=item_id, count_max=intake.BATCH_MAX)
    if not entries:
        return 0
    rehearsal_id, number = parts_of(item_id)
    rehearsal = Rehearsal.objects.filter(pk=rehearsal_id, status=Rehearsal.Status.RUNNING).first()
    # Where it is over, the entries are only thrown away.
    if rehearsal is not None and number < len(rehearsal.items):
        write_and_take_back(item_id=rehearsal.items[number][0], entries=entries)
        Rehearsal.objects.filter(pk=rehearsal_id).update(written_at=timezone.now())
    # By now the shadow has all its keys.
    expire_in(KEPT_SECONDS, item_id=item_id)
    outbox.acknowledge(item_id=item_id, entry_ids=[entry.id for entry in entries])
    return len(entries)


def write_and_take_back(*, item_id: int, entries: list[outbox.Entry]) -> None:
    """`item_id` is the shadow's sale item. Simulated buyers have no account, which is asked at commit only."""
    new_orders = [intake.parse_entry(entry) for entry in entries]
    with transaction.atomic():
        item = intake.find_item(item_id=item_id, buyer_ids=[])
        if item is None:
            # A draft that was changed meanwhile.
            log.warning("rehearsed_item_gone", item_id=item_id)
            return
        intake.insert_rows(item_id=item_id, item=item, new_orders=new_orders, status=OrderStatus.AWAITING_PAYMENT)
        transaction.set_rollback(True)
