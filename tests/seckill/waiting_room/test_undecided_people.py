"""People who are called and cannot decide hold nobody up for long, down to the last unit. Time passes in the store."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from orders.tasks import move_waiting_rooms
from seckill import ledger
from seckill.models import SaleItem
from seckill.passes import passes
from seckill.store.keys import keys_of, room_keys_of
from seckill.waiting_room.room_ledger import DECIDE_MS, GRACE_MS, arrive, read_room
from shop.models import Product
from tests.steps.shop import make_item
from tests.steps.waiting_room import age_steps, open_now, room_of

pytestmark = pytest.mark.django_db

PEOPLE = 400
# Of ten people, five reserve three seconds after their call, and two after a minute. The others never do.
AFTER_SECONDS = (*[3] * 5, *[60] * 2, *[None] * 3)


def opened(product: Product, *, units: int, people: int) -> SaleItem:
    item = make_item(product, quantity=units, opens_in_seconds=300, has_room=True)
    move_waiting_rooms()
    for account in range(1, people + 1):
        arrive(sale_id=item.sale_id, account_id=account)
    open_now(item)
    return item


def pass_second(item: SaleItem, store: Any) -> int:
    """The sweep of a second later. Returns how many places are called then."""
    store.hincrby(room_keys_of(item.sale_id).room, "next_ms", -1_000)
    age_steps(item, ms=1_000)
    move_waiting_rooms()
    return room_of(item).called


def reserve(item: SaleItem, buyer: int) -> None:
    ledger.reserve(item_id=item.pk, reservation_id=passes.new_reservation_id(item.pk), buyer_id=buyer, units=1)


@contextmanager
def unverified(item: SaleItem, store: Any) -> Iterator[None]:
    """Meanwhile the store compares the item with its orders."""
    key = keys_of(item.pk).item
    incarnation = store.hget(key, "incarnation")
    store.hdel(key, "incarnation")
    yield
    store.hset(key, "incarnation", incarnation)


def test_a_room_that_was_lost_with_its_items_calls_no_more_people_than_units_are_left(
    product: Product, store: Any
) -> None:
    # Given twenty people who were called for twenty units, of which they have reserved fifteen
    item = opened(product, units=20, people=60)
    assert pass_second(item, store) == 20
    for buyer in range(15):
        reserve(item, 1 + buyer)
    # When the room is lost, and the item is not verified yet
    with unverified(item, store):
        store.delete(*[getattr(room_keys_of(item.sale_id), name) for name in ("room", "arrivals", "steps")])
        move_waiting_rooms()
        assert read_room(sale_id=item.sale_id) is None
    move_waiting_rooms()
    # Then five people are called for the five units
    assert [pass_second(item, store) for _second in range(5)] == [25] * 5


def test_people_who_had_their_time_while_an_item_was_unverified_are_not_counted_twice(
    product: Product, store: Any
) -> None:
    # Given fifteen units that were reserved, and five people who were called for the others
    item = opened(product, units=20, people=60)
    assert pass_second(item, store) == 20
    for buyer in range(15):
        reserve(item, 1 + buyer)
    age_steps(item, ms=DECIDE_MS)
    assert pass_second(item, store) == 25
    # When their time is over while the reservations are not known
    with unverified(item, store):
        age_steps(item, ms=DECIDE_MS)
        move_waiting_rooms()
    # Then five others are called, and no more
    assert [pass_second(item, store) for _second in range(5)] == [30] * 5


@pytest.mark.parametrize("outage_ms", [DECIDE_MS // 2, GRACE_MS])
def test_people_who_reserved_since_the_last_call_are_not_counted_twice_after_an_outage(
    product: Product, store: Any, outage_ms: int
) -> None:
    # Given twenty people who were called for twenty units; fifteen have reserved since, and the others have some time
    item = opened(product, units=20, people=60)
    assert pass_second(item, store) == 20
    for buyer in range(15):
        reserve(item, 1 + buyer)
    age_steps(item, ms=DECIDE_MS // 2)
    # When that time is over while the reservations are not known
    with unverified(item, store):
        age_steps(item, ms=outage_ms)
        move_waiting_rooms()
        assert room_of(item).lapsed == 0
    # Then five others are called, and no more
    assert [pass_second(item, store) for _second in range(5)] == [25] * 5
    assert room_of(item).lapsed == (20 if outage_ms == GRACE_MS else 0)


@pytest.mark.slow
def test_the_last_unit_waits_half_a_minute_for_somebody(product: Product, store: Any) -> None:
    item = opened(product, units=1, people=9)
    began_s = time.monotonic()
    called = [pass_second(item, store) for _second in range(33)]
    # The sweeps take some time of their own, which the store's clock counts too.
    sweeps_seconds = time.monotonic() - began_s
    assert DECIDE_MS / 1000 - sweeps_seconds - 1 <= called.count(1) <= DECIDE_MS / 1000
    assert called[-1] == 2


@pytest.mark.slow
def test_a_hundred_units_are_sold_in_two_minutes_though_half_of_the_people_cannot_decide(
    product: Product, store: Any
) -> None:
    item = opened(product, units=100, people=PEOPLE)
    after_seconds = random.Random(1).choices(AFTER_SECONDS, k=PEOPLE)
    called_at: list[int] = []
    came_at: list[int] = []
    # Until everybody who was called had two minutes.
    for second in range(600):
        called = pass_second(item, store)
        called_at += [second] * (called - len(called_at))
        for place, called_second in enumerate(called_at):
            if after_seconds[place] == second - called_second:
                reserve(item, 1 + place)
                came_at.append(second)
        if len(came_at) >= 100 and second > called_at[-1] + 70:
            break
    print(f"sold after {came_at[99]} s; {called} people called, {len(came_at) - 100} of {len(came_at)} came too late")
    assert came_at[99] <= 120
    assert len(came_at) - 100 < 30
