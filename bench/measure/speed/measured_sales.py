"""The sales of a run: one that pages and live figures show, one that is sold out, one not open yet, and new ones.

Each is made when a part first needs it, and is used by all rounds. All are load-test sales (bench/load_sale.py), except
the first, which must be listed.
"""

import secrets
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.utils import timezone

from bench import load_buyers
from bench.load_sale import PRICE_MINOR, SLUG_PREFIX, make_load_product, open_load_sale
from orders.life import intake, lifecycle, settlement
from orders.models import Order
from seckill import ledger
from seckill.models import Sale, SaleItem, WaitingRoom
from seckill.passes import passes
from seckill.publication import publish_sale
from seckill.waiting_room import place_tokens, room_ledger
from shop.accounts.session_store import SessionStore
from shop.times.timestamps import to_ms

# Longer than any run.
OPEN_SECONDS = 6 * 3600
# An open sale page with some items, as a crowd sees it.
SHOWN_ITEMS = 4
# Units of the sold-out item, one for each buyer: a process that answers refusals itself has to know who bought.
SOLD_UNITS = 500
# Passes with which refused requests are sent, in turn.
REFUSED_PASSES = 2_000
# People in the waiting room of a place that is asked for.
ROOM_PEOPLE = 20_000
# Buyers of refused requests come after those who bought.
REFUSED_FIRST = 1_000_000


@cache
def shown_sale() -> Sale:
    """An open, listed sale of some items."""
    now = timezone.now()
    sale = Sale.objects.create(
        name="Measured sale",
        name_zh_hans="测速专场",
        opens_at=now - timedelta(minutes=1),
        closes_at=now + timedelta(seconds=OPEN_SECONDS),
        hold_seconds=900,
    )
    for number in range(1, SHOWN_ITEMS + 1):
        variant = make_load_product(
            name=f"Measured product {number}",
            name_zh_hans=f"测速商品 {number}",
            slug=f"{SLUG_PREFIX}shown-{number}",
            description="A product of ordinary length, so that its page has something to show.",
            price_minor=2 * PRICE_MINOR,
            units=1_000 * number,
            is_active=True,
        )
        SaleItem.objects.create(
            sale=sale, variant=variant, price_minor=PRICE_MINOR, quantity=1_000 * number, per_buyer_max=1
        )
    publish_sale(sale_id=sale.pk)
    return sale


def shown_item() -> SaleItem:
    item = shown_sale().items.first()
    assert item is not None
    return item


@cache
def sold_out_item() -> SaleItem:
    """An item of which every unit was reserved, became an order, and was paid."""
    item = new_item("Sold out", quantity=SOLD_UNITS)
    for buyer_id in load_buyers.load_buyer_ids(count=SOLD_UNITS):
        reservation_id = passes.new_reservation_id(item.pk)
        ledger.reserve(item_id=item.pk, reservation_id=reservation_id, buyer_id=buyer_id, units=1)
    intake.drain_all(item_id=item.pk)
    orders = list(Order.objects.filter(lines__sale_item=item))
    for order in orders:
        lifecycle.mark_paid(order)
    settlement.settle_now([order.pk for order in orders])
    return item


@cache
def item_not_open() -> SaleItem:
    """An item whose sale opens after this run."""
    return new_item("Not open", quantity=100, opens_in_seconds=OPEN_SECONDS)


def place_tokens_of_crowd() -> tuple[SaleItem, list[str]]:
    """A new sale with a waiting room of twenty thousand early arrivals, and the tokens of some thousand of them.

    New for each round: after some minutes the first places have lapsed, and a view answers their holders.
    """
    item = new_item("Waiting", quantity=100, opens_in_seconds=-60, admission=Sale.Admission.WAITING_ROOM)
    sale = item.sale
    key = bytes.fromhex(WaitingRoom.objects.get(sale=sale).key)
    room_ledger.open_room(
        sale_id=sale.pk, terms=room_ledger.Terms(to_ms(sale.opens_at), key, arrivals=ROOM_PEOPLE, early=ROOM_PEOPLE)
    )
    tokens = []
    for arrival, account_id in enumerate(refused_buyer_ids()):
        room_ledger.arrive(sale_id=sale.pk, account_id=account_id, claimed=arrival)
        tokens.append(place_tokens.issue(sale_id=sale.pk, account_id=account_id, arrival=arrival))
    return item, tokens


def new_item(name: str, *, quantity: int, **more: Any) -> SaleItem:
    """The item of a new sale, usually open now. `more` are details of `open_load_items`."""
    return open_load_sale(
        name=name, quantity=quantity, per_buyer_max=1, open_seconds=OPEN_SECONDS, hold_seconds=3_600, **more
    )


def passes_of_refused(item: SaleItem) -> list[str]:
    return passes_for(item, buyer_ids=refused_buyer_ids())


def passes_for(item: SaleItem, *, buyer_ids: Sequence[int]) -> list[str]:
    """A new pass for each buyer."""
    return list(load_buyers.make_passes(item_id=item.pk, buyer_ids=buyer_ids))


@cache
def refused_buyer_ids() -> list[int]:
    return load_buyers.load_buyer_ids(count=REFUSED_PASSES, first=REFUSED_FIRST)


@cache
def buyer_ids(count: int) -> list[int]:
    """Buyers who reserve. Each round uses the same, with another item."""
    return load_buyers.load_buyer_ids(count=count)


@cache
def session_key() -> str:
    return session_of(User.objects.get(pk=refused_buyer_ids()[0]))


@cache
def staff_session_key() -> str:
    """The session of somebody who may see all of the admin."""
    return session_of(User.objects.create_superuser(f"measured-staff-{secrets.token_hex(4)}"))


def session_of(user: User) -> str:
    store: SessionBase = SessionStore()
    store[SESSION_KEY] = str(user.pk)
    store[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    store[HASH_SESSION_KEY] = user.get_session_auth_hash()
    store.save()
    assert store.session_key
    return store.session_key
