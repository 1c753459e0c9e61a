"""A line as it moves: two sweeps at once, wrong clocks, people who come too late, a store that lost everything."""

from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from orders.tasks import move_waiting_rooms
from seckill.models import Sale, SaleChange, SaleItem, WaitingRoom
from seckill.publication import publish_sale
from seckill.store.client import StoreUnreachable
from seckill.store.keys import keys_of, room_keys_of
from seckill.waiting_room import admission
from seckill.waiting_room.presence import presence
from seckill.waiting_room.room_ledger import RoomState, arrive
from seckill.waiting_room.standing import NotLetIn, join, why_not_let_in
from shop.models import Product
from shop.times.timestamps import now_ms
from tests.steps.at_once import at_once
from tests.steps.shop import goods, make_item
from tests.steps.staff import change
from tests.steps.store import store_away
from tests.steps.waiting_room import age_steps, joined, open_now, place_of, room_of
from tests.steps.waiting_room import join as join_by_api

pytestmark = pytest.mark.django_db


def arrivals(item: SaleItem, count: int) -> list[int]:
    return [arrive(sale_id=item.sale_id, account_id=account).number for account in range(1, count + 1)]


def sale_of(item: SaleItem) -> Sale:
    return admission.moving_sales().get(pk=item.sale_id)


def test_sweeps_at_once_do_not_double_the_pace(waiting: SaleItem) -> None:
    arrivals(waiting, 40)
    open_now(waiting)
    Sale.objects.update(pace=60)
    sale = sale_of(waiting)
    room = room_of(waiting)
    called = at_once([lambda: admission.call_next(sale, room, backlog=0)] * 8)
    # A second has passed since the opening: one person then, and one now. A busy machine takes some time more.
    assert room_of(waiting).called == max(called)
    assert 2 <= room_of(waiting).called <= 4


def test_a_shop_without_a_room_takes_one_statement(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(1):
        move_waiting_rooms()


@pytest.mark.parametrize("hours", [-1, 1])
def test_the_clock_of_a_web_server_decides_nothing(
    product: Product, buyer: User, rival: User, settings: Settings, hours: int
) -> None:
    item = make_item(product, opens_in_seconds=300, has_room=True, closes_in_seconds=1800)
    move_waiting_rooms()
    off = timezone.now() + timedelta(hours=hours)
    with (
        mock.patch("django.utils.timezone.now", return_value=off),
        mock.patch("time.time", return_value=off.timestamp()),
    ):
        token = joined(item, buyer)["place_token"]
        assert place_of(item, token)["state"] == "before_opening"
        assert why_not_let_in(sale_id=item.sale_id, account_id=buyer.pk) is NotLetIn.PLACE_NOT_CALLED
    open_now(item)
    presence.write()
    with (
        mock.patch("django.utils.timezone.now", return_value=off),
        mock.patch("time.time", return_value=off.timestamp()),
    ):
        assert join_by_api(item, rival).json()["arrival"] == 1
        assert place_of(item, token)["place"] == 1
    move_waiting_rooms()
    assert why_not_let_in(sale_id=item.sale_id, account_id=buyer.pk) is None


def test_somebody_who_comes_after_the_call_and_its_grace_gets_a_new_place(
    waiting: SaleItem, buyer: User, rival: User
) -> None:
    first = joined(waiting, buyer)
    open_now(waiting)
    move_waiting_rooms()
    other = joined(waiting, rival)
    age_steps(waiting)
    move_waiting_rooms()
    assert why_not_let_in(sale_id=waiting.sale_id, account_id=buyer.pk) is NotLetIn.PLACE_NEEDED
    assert place_of(waiting, first["place_token"])["state"] == "lapsed"
    again = joined(waiting, buyer, place_token=first["place_token"])
    assert (first["arrival"], other["arrival"], again["arrival"]) == (0, 1, 2)
    assert again["state"] == "waiting"


def test_somebody_who_came_in_time_stays_in(waiting: SaleItem, buyer: User) -> None:
    token = joined(waiting, buyer)["place_token"]
    open_now(waiting)
    move_waiting_rooms()
    assert why_not_let_in(sale_id=waiting.sale_id, account_id=buyer.pk) is None
    age_steps(waiting)
    move_waiting_rooms()
    assert why_not_let_in(sale_id=waiting.sale_id, account_id=buyer.pk) is None
    assert place_of(waiting, token)["state"] == joined(waiting, buyer)["state"] == "called"


def test_people_who_are_gone_are_passed_over(waiting: SaleItem) -> None:
    """Of forty people the last ten of the line are there, and three of them are called."""
    arrivals(waiting, 40)
    move_waiting_rooms()
    open_now(waiting)
    Sale.objects.update(pace=120)
    room = room_of(waiting)
    there = [arrival for arrival in range(40) if (room.place(arrival) or 0) >= 30]
    for arrival in there:
        presence.note(sale_id=waiting.sale_id, arrival=arrival, now_ms=room.now_ms)
    presence.write()
    move_waiting_rooms()
    assert 33 <= room_of(waiting).called <= 35


def test_somebody_who_has_just_come_is_there(waiting: SaleItem, store: Any, settings: Settings) -> None:
    """Though the process that told the place has not written it down yet, or the cache server is away."""
    presence.note(sale_id=waiting.sale_id, arrival=9, now_ms=now_ms())
    presence.write()
    arrivals(waiting, 2)
    open_now(waiting)
    move_waiting_rooms()
    assert (room_of(waiting).called, room_of(waiting).admitted) == (2, 2)
    store_away(settings, "default")
    arrive(sale_id=waiting.sale_id, account_id=3)
    store.hset(room_keys_of(waiting.sale_id).room, "next_ms", 0)
    WaitingRoom.objects.update(arrivals=3)
    move_waiting_rooms()
    assert (room_of(waiting).called, room_of(waiting).admitted) == (3, 3)


def test_a_store_that_lost_everything_gets_the_room_again_and_its_holders_their_places(
    waiting: SaleItem, buyer: User, rival: User, stranger: User, store: Any
) -> None:
    tokens = {user: joined(waiting, user)["place_token"] for user in (buyer, rival)}
    open_now(waiting)
    Sale.objects.update(pace=1)
    move_waiting_rooms()
    before = {user: place_of(waiting, token)["place"] for user, token in tokens.items()}
    store.delete(*[getattr(room_keys_of(waiting.sale_id), name) for name in ("room", "arrivals", "steps")])
    assert join_by_api(waiting, buyer).status_code == 503
    move_waiting_rooms()
    for foreign in (tokens[buyer], "q1.nonsense"):
        assert joined(waiting, stranger, place_token=foreign)["arrival"] == 2
    again = {user: joined(waiting, user, place_token=token) for user, token in tokens.items()}
    assert {user: found["place"] for user, found in again.items()} == before
    assert {user: found["place_token"] for user, found in again.items()} == tokens
    assert room_of(waiting).called == 1


def test_a_place_is_told_when_replicas_have_it(waiting: SaleItem, settings: Settings) -> None:
    settings.SECKILL_YES_REPLICAS, settings.SECKILL_YES_WAIT_MS = 1, 1
    for _ in range(2):
        # It was written the first time, and must not be told the second time either.
        with pytest.raises(StoreUnreachable, match="of 1 replicas"):
            join(sale_id=waiting.sale_id, account_id=7)
    settings.SECKILL_YES_REPLICAS = 0
    found = join(sale_id=waiting.sale_id, account_id=7)
    assert found is not None
    assert found.arrival == 0


def test_work_that_waits_slows_the_line_down() -> None:
    for backlog, pace in ((0, 3000), (2500, 1500), (4999, 60), (50_000, 60)):
        assert admission.pace_for(backlog) == pace, backlog


def test_everybody_hears_within_a_second_what_the_line_can_still_give(waiting: SaleItem, store: Any) -> None:
    arrivals(waiting, 1)
    open_now(waiting)
    key = keys_of(waiting.pk).item
    before = store.hgetall(key)
    for fields, state in (
        ({"state": "paused"}, RoomState.PAUSED),
        ({"closes_ms": 1}, RoomState.CLOSED),
        ({"left": 0, "sold": 50}, RoomState.SOLD_OUT),
        # They may come back.
        ({"left": 0, "held": 50}, RoomState.OPEN),
        ({"incarnation": "0" * 40}, RoomState.PAUSED),
    ):
        store.hset(key, mapping={**before, **fields})
        move_waiting_rooms()
        assert (room_of(waiting).state, room_of(waiting).called) == (state, 0), fields
    store.hset(key, mapping=before)
    move_waiting_rooms()
    assert (room_of(waiting).state, room_of(waiting).called) == (RoomState.OPEN, 1)


# Two items: the first is on sale, the second is paused alone.
ON_SALE, SOLD, ALL_HELD, UNLIMITED = {"left": 3}, {"left": 0, "sold": 50}, {"left": 0, "held": 50}, "unlimited"


@pytest.mark.parametrize(
    ("first", "second", "state", "called", "units_left"),
    [
        (ON_SALE, {}, RoomState.OPEN, 3, 3),
        (UNLIMITED, {}, RoomState.OPEN, 10, None),
        (ALL_HELD, {}, RoomState.OPEN, 0, 0),
        (SOLD, {}, RoomState.PAUSED, 0, 50),
        (SOLD, UNLIMITED, RoomState.PAUSED, 0, None),
        (SOLD, ALL_HELD, RoomState.PAUSED, 0, 0),
        (SOLD, SOLD, RoomState.SOLD_OUT, 0, 0),
    ],
)
def test_units_of_an_item_that_is_paused_alone_call_nobody_and_the_line_waits_for_them(
    product: Product,
    buyer: User,
    store: Any,
    first: Any,
    second: Any,
    state: RoomState,
    called: int,
    units_left: int | None,
) -> None:
    items = two_items(product)
    token = joined(items[0], buyer)["place_token"]
    arrivals(items[0], 9)
    open_now(items[0])
    store.hset(keys_of(items[1].pk).item, "opens_ms", now_ms() - 1_000)
    for item, figures in zip(items, (first, second), strict=True):
        if figures == UNLIMITED:
            store.hdel(keys_of(item.pk).item, "quantity", "left")
        elif figures:
            store.hset(keys_of(item.pk).item, mapping=figures)
    change(items[1], SaleChange.Kind.PAUSE_ITEM)
    move_waiting_rooms()
    room = room_of(items[0])
    assert (room.state, room.called, room.left) == (state, called, units_left)
    assert place_of(items[0], token)["units_left"] == units_left


def test_the_line_goes_on_when_an_item_that_was_paused_alone_resumes(product: Product, store: Any) -> None:
    first, second = two_items(product)
    arrivals(first, 3)
    open_now(first)
    store.hset(keys_of(first.pk).item, mapping=SOLD)
    store.hset(keys_of(second.pk).item, "opens_ms", now_ms() - 1_000)
    change(second, SaleChange.Kind.PAUSE_ITEM)
    move_waiting_rooms()
    assert room_of(first).called == 0
    change(second, SaleChange.Kind.RESUME_ITEM)
    move_waiting_rooms()
    assert room_of(first).called == 3


def two_items(product: Product) -> list[SaleItem]:
    """Fifty units of each, in a sale with a waiting room that opens in five minutes."""
    first = make_item(product, quantity=50, opens_in_seconds=300, has_room=True, published=False)
    variant = goods("second", units=50)
    SaleItem.objects.create(sale=first.sale, variant=variant, quantity=50, per_buyer_max=1, price_minor=1000)
    publish_sale(sale_id=first.sale_id)
    move_waiting_rooms()
    return list(first.sale.items.order_by("pk"))


def test_the_room_leaves_the_store_two_days_after_the_end(waiting: SaleItem, store: Any) -> None:
    arrivals(waiting, 1)
    assert admission.remove_old_rooms() == 0
    Sale.objects.update(
        opens_at=timezone.now() - timedelta(days=3), closes_at=timezone.now() - timedelta(days=2, hours=1)
    )
    assert admission.remove_old_rooms() == 1
    assert store.keys("*sale-*") == []
