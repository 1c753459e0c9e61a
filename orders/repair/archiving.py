"""Archives items: removes sales that ended long ago from the reservation store, once both stores agree about them.

In one transaction the item is marked as archived and its keys are removed (archive.lua). If the process dies before
the commit, the item is not archived; if its keys are gone by then, the next attempt rebuilds it from the orders and
archives it again. The item's lock keeps a reconcile away meanwhile, and the row of the sale keeps changes away.
"""

import time
from enum import StrEnum

import structlog
from django.db import transaction
from django.db.models.functions import Now

from orders.repair.audit import audit
from orders.repair.reconcile import reconcile
from seckill import ledger
from seckill.items import item_state
from seckill.items.archive import archivable_items, archive_after
from seckill.items.lock import item_lock
from seckill.items.loop import for_each_item, until
from seckill.ledger_words import Archived
from seckill.line.line_ledger import remove_line
from seckill.models import Sale, SaleItem
from shop import failpoints
from shop.databases.timeline import database_timeline

log = structlog.get_logger(__name__)

# Nothing changes any more in such an item, so the audit needs no time to tell a difference from a sale in progress.
AUDIT_PATIENCE_SECONDS = 0.0


class ArchiveOutcome(StrEnum):
    """The result of an attempt to archive an item, in the order of the checks."""

    BUSY = "busy"
    NOT_DUE = "not_due"
    DIFFERS = "differs"
    REFUSED = "refused"
    ARCHIVED = "archived"


def archive_due(*, seconds_max: float) -> int:
    """Archive the items that are due, for at most about `seconds_max`. Returns how many were archived.

    The order is random, so that items that cannot be archived do not keep the others waiting for ever. Raises
    StoreUnreachable.
    """
    ends_s = time.monotonic() + seconds_max
    due = archivable_items().order_by("?").values_list("pk", flat=True)
    outcomes, _ = for_each_item(
        lambda item_id: archive(item_id=item_id), item_ids=until(ends_s, list(due)), event="item_not_archived"
    )
    return list(outcomes.values()).count(ArchiveOutcome.ARCHIVED)


def archive(*, item_id: int) -> ArchiveOutcome:
    """Archive one item, if it is due and both stores agree about it. Raises StoreUnreachable and StillDiffers."""
    with item_lock(item_id=item_id, wait=False) as mine:
        if not mine:
            return ArchiveOutcome.BUSY
        # Another process may have archived it meanwhile. A reconcile would put it back into the store.
        due = archivable_items().filter(pk=item_id).values_list("incarnation", flat=True)
        if not due:
            return ArchiveOutcome.NOT_DUE
        condition = item_state.condition(item_id=item_id, timeline=database_timeline(), accepted=due[0])
        if condition is not item_state.Condition.VERIFIED:
            # A store was restarted or replaced since. Only items that can change are reconciled by themselves.
            reconcile(item_id=item_id)
        comparison = audit(item_id=item_id, patience_seconds=AUDIT_PATIENCE_SECONDS).comparison
        if comparison.problem_count:
            log.error("archiving_found_differences", item_id=item_id, problems=comparison.problem_count)
            return ArchiveOutcome.DIFFERS
        outcome = mark_and_remove(item_id=item_id)
    log.info("item_archived", item_id=item_id, outcome=outcome.value)
    return outcome


def mark_and_remove(*, item_id: int) -> ArchiveOutcome:
    """Mark the item as archived and remove it from the store, both or neither."""
    with transaction.atomic():
        # Changes of a sale lock its row first: from here on no change can begin, and earlier ones are visible.
        Sale.objects.select_for_update(no_key=True).get(items=item_id)
        due = archivable_items().filter(pk=item_id).exists()
        if not due or SaleItem.objects.filter(pk=item_id, archived_at=None).update(archived_at=Now()) != 1:
            return ArchiveOutcome.NOT_DUE
        failpoints.reach("archive.before_store")
        over_ms = int(archive_after().total_seconds() * 1000)
        word = ledger.archive(item_id=item_id, over_ms=over_ms)
        failpoints.reach("archive.after_store")
        if word is not Archived.ARCHIVED:
            log.error("item_not_archived", item_id=item_id, answer=word.value)
            transaction.set_rollback(True)
            return ArchiveOutcome.REFUSED
        # Everybody in it was told at the end. The item goes first, since it says how many units the line waits for; a
        # line without its item is counted anew when that is rebuilt.
        remove_line(item_id=item_id)
    return ArchiveOutcome.ARCHIVED
