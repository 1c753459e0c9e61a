"""Draws: entering, the end of the entries that comes at once, and the sweep."""

from datetime import timedelta
from typing import Any
from unittest import mock

from django.contrib.auth.models import User
from django.utils import timezone
from django_redis import get_redis_connection

from orders.tasks import carry_out_draws, settle_orders
from seckill.draw import entering
from seckill.models import Draw, DrawEntry, Sale, SaleItem
from seckill.store.keys import keys_of
from shop.models import Product
from shop.times.timestamps import now_ms
from tests.steps.buying import drained, new_buyers, signed_in
from tests.steps.shop import make_item


def make_draw(product: Product, **terms: Any) -> SaleItem:
    """An item whose units are drawn, with five minutes left to enter."""
    return make_item(product, admission=Sale.Admission.DRAW, **{"opens_in_seconds": 300, **terms})


def enter(item: SaleItem, user: User, **body: Any) -> Any:
    return signed_in(user).post(f"/api/v1/sale-items/{item.pk}/entries/", body, format="json")


def entered(item: SaleItem, count: int, units: int = 1) -> list[User]:
    """As many buyers, each with an entry."""
    buyers = new_buyers(count)
    for buyer in buyers:
        answer = entering.enter(item=item, buyer_id=buyer.pk, units=units, network="127.0.0.1")
        assert answer.word is entering.EntryWord.ENTERED
    return buyers


def opening_passes(item: SaleItem) -> None:
    """The opening is a moment ago, for PostgreSQL and for the store."""
    Sale.objects.filter(pk=item.sale_id).update(opens_at=timezone.now() - timedelta(seconds=1))
    get_redis_connection("seckill").hset(keys_of(item.pk).item, "opens_ms", now_ms() - 1_000)


def swept(item: SaleItem) -> None:
    """What a few seconds of the sweeps do: close, draw and give, then orders and mails."""
    for _second in range(3):
        carry_out_draws()
        drained(item)
        settle_orders()


def drawn(item: SaleItem) -> Draw:
    opening_passes(item)
    swept(item)
    return Draw.objects.get(pk=item.sale_id)


def drawn_in_this_order(item: SaleItem, buyers: list[User]) -> Any:
    """No seed can be chosen for an order: a draw meanwhile sorts the entries so."""
    place_of = {str(entry_of(item, buyer).entry_id).encode(): n for n, buyer in enumerate(buyers)}
    return mock.patch("seckill.draw.drawing.hmac.digest", side_effect=lambda _key, entry, _name: place_of[entry])


def entry_of(item: SaleItem, user: User) -> DrawEntry:
    return DrawEntry.objects.get(item=item, buyer=user)


def in_order(item: SaleItem) -> list[DrawEntry]:
    return list(DrawEntry.objects.filter(item=item).order_by("place"))


def statuses(item: SaleItem) -> list[str]:
    """What has become of each entry, in the drawn order."""
    return [entry.status for entry in in_order(item)]
