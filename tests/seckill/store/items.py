"""Items of a sale on several servers of the store, and what buyers hear of them."""

import itertools
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

import uvloop
from django.contrib.auth.models import User
from django.utils import timezone

from orders import tasks
from seckill import ledger
from seckill.items import item_state
from seckill.models import Sale, SaleItem
from seckill.outcomes import Outcome
from seckill.passes import passes
from seckill.publication import publish_sale
from seckill.store.client import StoreUnreachable, server_of
from seckill.store.pipeline.asking import ServerNotKnown
from shop.models import Variant
from tests.steps.pipelines import RunningPipelines
from tests.steps.shop import make_product, variant_of

# Twice the seconds in which a buyer is promised an answer, for a busy machine.
ANSWER_SECONDS = 2.0 * 2

_numbers = itertools.count(1)
_turns = itertools.cycle([False, True])
# Runs while the tests of this folder do, on the loop of the web server.
web = RunningPipelines(uvloop.new_event_loop)


def sale_of(count: int, *, quantity: int = 50) -> list[SaleItem]:
    """A sale of so many items, open now: variants of one product."""
    now = timezone.now()
    sale = Sale.objects.create(
        name="Spring sale", opens_at=now - timedelta(minutes=1), closes_at=now + timedelta(hours=1), hold_seconds=900
    )
    number = next(_numbers)
    first = variant_of(make_product(name=f"Tea {number}", slug=f"tea-{number}", price_minor=9900))
    more = [
        Variant(product=first.product, sku=f"TEA-{number}-{n}", price_minor=9900, available=quantity, position=n)
        for n in range(1, count)
    ]
    SaleItem.objects.bulk_create(
        SaleItem(sale=sale, variant=variant, quantity=quantity, per_buyer_max=2, price_minor=1900)
        for variant in (first, *Variant.objects.bulk_create(more))
    )
    publish_sale(sale_id=sale.pk)
    return list(sale.items.order_by("pk"))


def told(item: SaleItem, *, reservation_id: UUID | None = None, buyer_id: int | None = None) -> Outcome:
    """What a buyer is told who asks for one unit: `unavailable` also while the store does not answer."""
    buyer_id = buyer_id or User.objects.create(username=f"buyer-{item.pk}-{next(_numbers)}").pk
    reservation_id = reservation_id or passes.new_reservation_id(item.pk)
    asked: dict[str, Any] = {"item_id": item.pk, "reservation_id": reservation_id, "buyer_id": buyer_id, "units": 1}
    try:
        # In turns as a thread asks and as an event loop does.
        if next(_turns):
            with suppress(ServerNotKnown):
                return web.run(ledger.reserve_in_pipeline(web.pipelines, **asked)).outcome
        return ledger.reserve(**asked).outcome
    except StoreUnreachable:
        return Outcome.UNAVAILABLE


def of_one_server(items: Sequence[SaleItem]) -> tuple[list[SaleItem], list[SaleItem]]:
    """The items that share a server with the first one, and the others."""
    first = server_of(items[0].pk)
    return (
        [item for item in items if server_of(item.pk) is first],
        [item for item in items if server_of(item.pk) is not first],
    )


def reconciled(item: SaleItem) -> bool:
    """Let the sweep look once. Whether the item can be sold now."""
    tasks.watch_store()
    try:
        return item_state.condition(item_id=item.pk) is item_state.Condition.VERIFIED
    except StoreUnreachable:
        return False
