"""A waiting room on the sale's page, and without JavaScript on a page that reloads itself."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from orders.tasks import move_waiting_rooms
from seckill import pages
from seckill.models import Sale, SaleItem
from seckill.store.keys import keys_of, room_keys_of
from shop.models import Product
from tests.steps.shop import text_of
from tests.steps.waiting_room import joined, open_now

pytestmark = pytest.mark.django_db


def queue_of(item: SaleItem, language: str = "") -> str:
    return f"{language}/sales/{item.sale_id}/queue/"


def test_the_sales_page_has_the_room_and_leads_to_the_other_page(client: Client, waiting: SaleItem) -> None:
    page = text_of(client, f"/sales/{waiting.sale_id}/")
    assert "Each account has one place, on all devices." in page
    assert f'href="{queue_of(waiting)}"' in page
    assert "this page reserves for you at the start" not in page
    assert "每个账号只有一个排位" in text_of(client, f"/zh-hans/sales/{waiting.sale_id}/")


def test_other_sales_have_none(client: Client, buyer: User, item: SaleItem) -> None:
    assert "Waiting room" not in text_of(client, f"/sales/{item.sale_id}/")
    assert client.get(queue_of(item)).headers["Location"].startswith("/accounts/login/?next=")
    client.force_login(buyer)
    assert client.get(queue_of(item)).headers["Location"] == f"/sales/{item.sale_id}/"


def test_from_the_first_press_to_the_item(as_buyer: Client, waiting: SaleItem) -> None:
    before = as_buyer.get(queue_of(waiting))
    assert "You have no place yet" in before.content.decode()
    assert "Refresh" not in before
    assert as_buyer.post(queue_of(waiting)).headers["Location"] == queue_of(waiting)
    early = as_buyer.get(queue_of(waiting))
    assert "Your place is drawn at the start." in early.content.decode()
    assert 5 <= int(early["Refresh"]) <= 13
    # The item's page leads back to the room.
    reserve = f"/sale-items/{waiting.pk}/reserve/"
    assert as_buyer.get(reserve).headers["Location"] == queue_of(waiting)
    open_now(waiting)
    assert "Your place is 1. You are next." in text_of(as_buyer, queue_of(waiting))
    assert "您排在第 1 位，下一位就是您。" in text_of(as_buyer, queue_of(waiting, "/zh-hans"))
    move_waiting_rooms()
    called = as_buyer.get(queue_of(waiting))
    assert "It is your turn" in called.content.decode()
    assert f'href="{reserve}"' in called.content.decode()
    assert "Refresh" not in called
    assert 'name="pass" value="p1.' in text_of(as_buyer, reserve)


def test_a_page_that_is_made_while_the_room_opens_has_no_pass(
    as_buyer: Client, waiting: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    opens_at = waiting.sale.passes_open_at
    moments = iter([opens_at - timedelta(milliseconds=1)])
    monkeypatch.setattr(pages, "timezone", SimpleNamespace(now=lambda: next(moments, opens_at)))
    assert "p1." not in as_buyer.get(f"/sale-items/{waiting.pk}/reserve/").content.decode()


def test_too_many_presses_of_a_network_are_told_to_wait(
    as_buyer: Client, waiting: SaleItem, settings: Settings
) -> None:
    settings.PASS_LIMIT_BY_NETWORK = "1/minute"
    assert [as_buyer.post(queue_of(waiting)).status_code for _ in range(2)] == [302, 429]


def test_a_room_that_the_store_does_not_have_yet_is_waited_for(as_buyer: Client, waiting: SaleItem, store: Any) -> None:
    store.delete(room_keys_of(waiting.sale_id).room)
    # Somebody who pressed the button just before the room was gone hears the same.
    assert as_buyer.post(queue_of(waiting)).headers["Location"] == queue_of(waiting)
    early = as_buyer.get(queue_of(waiting))
    assert "The waiting room is being prepared" in early.content.decode()
    assert "Get a place" not in early.content.decode()
    assert early["Refresh"] == "5"
    assert "等候室正在准备" in text_of(as_buyer, queue_of(waiting, "/zh-hans"))
    move_waiting_rooms()
    assert "Get a place" in text_of(as_buyer, queue_of(waiting))


def test_somebody_behind_many_hears_how_many_and_how_long(
    as_buyer: Client, waiting: SaleItem, buyer: User, store: Any
) -> None:
    open_now(waiting)
    store.hset(
        room_keys_of(waiting.sale_id).room,
        mapping={"arrivals": 1300, "early": 0, "called": 300, "lapsed": 100, "pace": 60, "left": 5},
    )
    joined(waiting, buyer)
    opened_ms = int(store.hget(room_keys_of(waiting.sale_id).room, "opens_ms")) - 119_000
    store.hset(room_keys_of(waiting.sale_id).room, "opens_ms", opened_ms)
    page = text_of(as_buyer, queue_of(waiting))
    assert "Your place is 1,301. 1,000 places before it are not called yet." in page
    # Two hundred places in two minutes, or sixty people a minute if nobody else is gone.
    assert "Your turn comes in about 8 minutes to 25 minutes." in page
    assert "5 units are left at the moment, so it may be that none is left for you." in page


def test_a_line_that_stands_says_why(as_buyer: Client, waiting: SaleItem, store: Any) -> None:
    as_buyer.post(queue_of(waiting))
    open_now(waiting)
    for fields, text in (
        ({"left": 0, "held": 5}, "at the earliest. The line stands still at the moment."),
        ({"state": "paused"}, "The line stands still at the moment. You keep your place."),
        ({"state": "open", "held": 0, "sold": 5}, "nothing can be left for anybody who waits"),
    ):
        store.hset(keys_of(waiting.pk).item, mapping=fields)
        move_waiting_rooms()
        assert text in text_of(as_buyer, queue_of(waiting)), fields


def test_somebody_who_came_too_late_presses_for_a_new_place(as_buyer: Client, waiting: SaleItem, store: Any) -> None:
    as_buyer.post(queue_of(waiting))
    open_now(waiting)
    store.hset(room_keys_of(waiting.sale_id).room, mapping={"early": 1, "called": 1, "lapsed": 1})
    lapsed = as_buyer.get(queue_of(waiting))
    assert "Get a new place" in lapsed.content.decode()
    assert "Refresh" not in lapsed
    as_buyer.post(queue_of(waiting))
    assert "Your place is 2. You are next." in text_of(as_buyer, queue_of(waiting))


def test_before_the_room_opens_and_after_the_end_there_is_nothing_to_press(
    as_buyer: Client, product: Product, waiting: SaleItem
) -> None:
    Sale.objects.update(opens_at=timezone.now() + timedelta(hours=1), closes_at=timezone.now() + timedelta(hours=2))
    early = text_of(as_buyer, queue_of(waiting))
    assert "The waiting room is not open yet" in early
    assert "It opens at" in early
    assert "Get a place" not in early
    Sale.objects.update(opens_at=timezone.now() - timedelta(hours=2), closes_at=timezone.now() - timedelta(hours=1))
    over = text_of(as_buyer, queue_of(waiting))
    assert "Nothing is sold any more." in over
    assert "Get a place" not in over
