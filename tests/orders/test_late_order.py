"""An order that is written after its hold has ended can be paid: a yes does not arrive dead."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from django_redis import get_redis_connection

from orders import tasks
from orders.life import intake, lifecycle
from orders.models import Order, OrderStatus
from seckill.models import SaleItem
from seckill.store.keys import keys_of
from shop.times.timestamps import to_ms
from tests.steps.buying import reserve, signed_in
from tests.steps.shop import other_item
from tests.steps.store import counters_of, figures

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


def reserve_long_ago(item: SaleItem, buyer: User, *, ago: timedelta = HOUR) -> UUID:
    """A reservation that waited so long: its entry and its hold are as the store would have them by now."""
    reservation_id = reserve(item, buyer)
    keys, store = keys_of(item.pk), get_redis_connection("seckill")
    ((entry_id, fields),) = store.xrange(keys.outbox)
    back_ms = int(ago.total_seconds() * 1000)
    times: dict[Any, Any] = {name: int(fields[name]) - back_ms for name in (b"reserved_ms", b"deadline_ms")}
    store.xdel(keys.outbox, entry_id)
    store.xadd(keys.outbox, {**fields, **times})
    state = f"held:{buyer.pk}:1:{times[b'deadline_ms']}"
    store.hset(keys.holds, str(reservation_id), state)
    return reservation_id


def test_its_buyer_has_time_to_pay(item: SaleItem, buyer: User, as_buyer: Client) -> None:
    reservation_id = reserve_long_ago(item, buyer)
    # So says the page that waits for the order.
    response = as_buyer.get(f"/reservations/{reservation_id}/")
    assert response.status_code == 200
    assert response.context["deadline"] > timezone.now()
    intake.drain_once(item_id=item.pk)
    assert tasks.expire_overdue() == 0
    order = Order.objects.get()
    assert order.expires_at == order.created_at + timedelta(seconds=settings.SECKILL_PAY_SECONDS_MIN)
    assert lifecycle.pay(order_id=order.pk)
    order.refresh_from_db()
    assert order.status == OrderStatus.PAID
    assert order.settled_at is not None
    assert (counters_of(item).held, counters_of(item).sold) == (0, 1)


def test_the_units_come_back_at_the_deadline_of_the_order(item: SaleItem, buyer: User) -> None:
    """And not earlier: the store's own deadline passed long ago."""
    reserve_long_ago(item, buyer)
    intake.drain_once(item_id=item.pk)
    tasks.forget_ended_holds()
    before = figures(item)
    assert before[1] == before[3] == 1
    Order.objects.update(expires_at=timezone.now())
    assert tasks.expire_overdue() == 1
    assert figures(item)[1:] == (0, 0, 0)


def test_a_hold_with_time_enough_keeps_its_deadline_and_a_short_one_is_given_again(
    item: SaleItem, buyer: User, rival: User
) -> None:
    reserve_long_ago(item, buyer, ago=timedelta(seconds=10))
    intake.drain_once(item_id=item.pk)
    order = Order.objects.get()
    assert order.expires_at == order.reserved_at + timedelta(seconds=item.sale.hold_seconds)
    hold = timedelta(seconds=settings.SECKILL_PAY_SECONDS_MIN // 2)
    short = other_item(hold_seconds=int(hold.total_seconds()))
    reserve_long_ago(short, rival)
    intake.drain_once(item_id=short.pk)
    order = Order.objects.get(buyer=rival)
    assert order.expires_at == order.created_at + hold


def test_the_status_tells_the_deadline_of_the_order(item: SaleItem, buyer: User) -> None:
    reservation_id = reserve_long_ago(item, buyer)
    path, client = f"/api/v1/reservations/{reservation_id}/", signed_in(buyer)
    waiting = client.get(path).json()
    assert waiting["status"] == "reserved"
    assert datetime.fromisoformat(waiting["expires_at"]) > timezone.now()

    intake.drain_once(item_id=item.pk)
    told = datetime.fromisoformat(client.get(path).json()["expires_at"])
    assert to_ms(told) == to_ms(Order.objects.get().expires_at)
    assert told >= datetime.fromisoformat(waiting["expires_at"])
