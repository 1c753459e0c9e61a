"""The shadows of one rehearsal in the reservation store: published, read, given back, removed."""

from uuid import UUID

from django.utils.translation import gettext_lazy as _

from orders.models import Rehearsal
from orders.rehearsal.plan import Refused
from seckill import ledger
from seckill.items import item_state
from seckill.items.shadow import expire_in
from seckill.ledger import Counters, Terms
from seckill.ledger_words import ReleaseReason
from seckill.models import SaleItem
from seckill.publication import terms_of

# A hold of the rehearsal: long enough that a slow answer still belongs to it, short enough to wait for its end.
HOLD_SECONDS = 5
# Many times as long as a rehearsal takes. After it nothing is left in the store, even if the row of the rehearsal is
# lost, and with it the sweep's reason to look.
KEPT_SECONDS = 3600
# Holds that are released in one call.
RELEASE_MAX = 250


def publish(rehearsal: Rehearsal, *, opens_ms: int) -> None:
    """Put the shadows on sale, with the prices of their items and a window of their own.

    Raises StoreUnreachable, and Refused where a draft has lost one of the items meanwhile.
    """
    items = SaleItem.objects.select_related("sale").in_bulk([item_id for item_id, _units in rehearsal.items])
    if len(items) < len(rehearsal.items):
        raise Refused(_("The sale or an item of it was deleted during the rehearsal."))
    for shadow_id, (item_id, units) in zip(rehearsal.shadow_ids, rehearsal.items, strict=True):
        real = terms_of(items[item_id])
        terms = Terms(
            quantity=units,
            opens_ms=opens_ms,
            closes_ms=opens_ms + KEPT_SECONDS * 1000,
            hold_ms=HOLD_SECONDS * 1000,
            per_buyer_max=1,
            price_minor=real.price_minor,
            currency=real.currency,
        )
        ledger.publish(item_id=shadow_id, terms=terms)
        expire_in(KEPT_SECONDS, item_id=shadow_id)


def read(rehearsal: Rehearsal) -> dict[int, Counters]:
    """The counters of those that can be read. Raises StoreUnreachable."""
    found = ledger.read_many(item_ids=rehearsal.shadow_ids)
    return {shadow_id: counters for shadow_id, counters in found.items() if counters is not None}


def release_overdue(rehearsal: Rehearsal) -> int:
    """Put the units of unpaid holds past their deadline back on sale. Returns how many. Raises StoreUnreachable."""
    count = 0
    for shadow_id in rehearsal.shadow_ids:
        now_ms = ledger.clock_ms(item_id=shadow_id)
        overdue = [
            UUID(name)
            for portion in item_state.all_holds(item_id=shadow_id)
            for name, hold in portion.items()
            if hold is not None and hold.state == "held" and hold.deadline_ms <= now_ms
        ]
        for start in range(0, len(overdue), RELEASE_MAX):
            batch = overdue[start : start + RELEASE_MAX]
            ledger.release(item_id=shadow_id, reservation_ids=batch, reason=ReleaseReason.EXPIRED)
        count += len(overdue)
    return count


def remove(rehearsal: Rehearsal) -> None:
    """Afterwards the store has nothing of them. Raises StoreUnreachable."""
    for shadow_id in rehearsal.shadow_ids:
        item_state.remove(item_id=shadow_id)
