"""Finds the items of which a store may have lost data, and reconciles them, as the sweep `watch_store`.

Either store may have lost it: the reservation store restarted or failed over (the item's `incarnation`), or another
PostgreSQL server took over, which may lack the last commits (its `timeline`). Until an item is reconciled its buyers
get `unavailable`.
"""

from collections.abc import Sequence

import structlog

from orders.models import OrderLine, OrderStatus
from orders.repair.reconcile import Reconciled, reconcile
from seckill.items import item_state
from seckill.items.item_state import Condition
from seckill.items.lock import item_lock
from seckill.items.loop import for_each_item
from seckill.models import SaleItem, movable_items
from seckill.store import durability
from shop.databases.timeline import database_timeline

log = structlog.get_logger(__name__)


def items_to_watch() -> list[int]:
    """The items whose figures can still change, and older ones with orders that the store has not been told of."""
    unsettled = OrderLine.objects.filter(order__settled_at=None).exclude(order__status=OrderStatus.AWAITING_PAYMENT)
    announced = SaleItem.objects.filter(
        announced_at__isnull=False, archived_at=None, pk__in=unsettled.values("sale_item_id")
    )
    return sorted({*movable_items().values_list("pk", flat=True), *announced.values_list("pk", flat=True)})


def reconcile_if_needed(*, item_ids: Sequence[int]) -> list[Reconciled]:
    """Reconcile those items that are lost, unverified or outdated; skip items that another process has locked.

    Outdated is also an item whose reservations PostgreSQL refuses, because it was compared last with another server.
    An item that cannot be reconciled is logged and does not stop the others. Raises StoreUnreachable.
    """
    accepted = dict(SaleItem.objects.filter(pk__in=item_ids).values_list("pk", "incarnation"))
    conditions = item_state.conditions(item_ids=item_ids, timeline=database_timeline(), accepted=accepted)
    needed = [item_id for item_id, condition in conditions.items() if condition is not Condition.VERIFIED]
    # All of them before the first is reconciled, which may take minutes: PostgreSQL may have lost orders of each.
    for_each_item(
        lambda item_id: item_state.mark_unverified(item_id=item_id),
        item_ids=[item_id for item_id in needed if conditions[item_id] is Condition.OUTDATED],
        event="outdated_item_not_marked",
    )
    outcomes, _ = for_each_item(reconcile_if_free, item_ids=needed, event="item_not_reconciled")
    results = [result for result in outcomes.values() if result]
    # The sales were opened while the store had safe settings. Only a person may decide to stop them, so this just logs.
    for weakness in durability.find_weaknesses() if results else ():
        log.error("store_came_back_weaker", setting=weakness.setting, value=weakness.value)
    return results


def reconcile_if_free(item_id: int) -> Reconciled | None:
    with item_lock(item_id=item_id, wait=False) as mine:
        # It may have been archived since the items were listed. Under the lock it cannot be archived.
        if mine and SaleItem.objects.filter(pk=item_id, archived_at=None).exists():
            result = reconcile(item_id=item_id)
            log_result(result)
            return result
    return None


def log_result(result: Reconciled) -> None:
    """A warning only if something had to be repaired: each start of the store makes every item be compared once."""
    write = log.warning if result.differed else log.info
    write("item_reconciled", **{name: getattr(result, name) for name in Reconciled.__slots__})
