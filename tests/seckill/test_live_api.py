"""`GET …/live/` and the sales. The gate follows each call (tests/web/reservations/shadow.py)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from seckill import ledger
from seckill.live.answer import jitter_ms, jitter_seconds
from seckill.models import Sale, SaleItem
from seckill.passes import passes
from seckill.store.keys import keys_of
from shop.models import Product
from shop.times.timestamps import now_ms
from tests.steps.shop import make_item
from tests.steps.store import store_away

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shadow")]


def live(item: SaleItem, *, queries_expected: int = 0) -> dict[str, Any]:
    with CaptureQueriesContext(connection) as queries:
        answer = APIClient().get(f"/api/v1/sale-items/{item.pk}/live/")
    assert len(queries) == queries_expected
    assert answer.status_code == 200
    body: dict[str, Any] = answer.json()
    return body


def test_live_shows_what_the_store_knows(item: SaleItem, buyer: User, pass_for: Callable[..., str]) -> None:
    pass_ = passes.read(pass_for(buyer, item))
    ledger.reserve(item_id=item.pk, reservation_id=pass_.reservation_id, buyer_id=buyer.pk, units=1)
    body = live(item)
    assert (body["phase"], body["availability"]) == ("open", "available")
    assert (body["quantity"], body["left"], body["held"], body["sold"]) == (5, 4, 1, 0)
    assert body["opens_at"] < body["server_time"] < body["closes_at"]
    assert body["poll_after_ms"] > 0


def test_live_says_when_no_yes_can_be_given_because_too_many_wait_to_become_orders(
    item: SaleItem, store: Any, settings: LazySettings
) -> None:
    settings.SECKILL_BACKLOG_MAX = 1
    assert live(item)["availability"] == "available"
    store.xadd(keys_of(item.pk).outbox, {"an": "entry"})
    assert (live(item)["phase"], live(item)["availability"]) == ("open", "unavailable")
    # What is final comes before it.
    for held, sold, availability in ((5, 0, "held_by_others"), (0, 5, "sold_out")):
        store.hset(keys_of(item.pk).item, mapping={"left": 0, "held": held, "sold": sold})
        assert (live(item)["phase"], live(item)["availability"]) == ("open", availability)


def test_phase_and_availability(item: SaleItem, store: Any) -> None:
    key = keys_of(item.pk).item
    before = store.hgetall(key)
    for changes, phase, availability in (
        ({}, "open", "available"),
        ({"left": 0, "held": 5}, "open", "held_by_others"),
        ({"left": 0, "held": 0, "sold": 5}, "open", "sold_out"),
        ({"state": "paused"}, "paused", "available"),
        ({"opens_ms": 4_000_000_000_000, "closes_ms": 4_000_000_000_001}, "upcoming", "available"),
        ({"closes_ms": 1}, "ended", "available"),
        ({"closes_ms": 1, "state": "paused"}, "ended", "available"),
    ):
        store.hset(key, mapping={**before, **changes})
        body = live(item)
        assert (body["phase"], body["availability"]) == (phase, availability), changes
    store.delete(key, keys_of(item.pk).outbox)
    # A damaged outbox hides nothing.
    store.set(keys_of(item.pk).outbox, "no stream")
    store.hset(key, mapping={name: value for name, value in before.items() if name not in (b"quantity", b"left")})
    body = live(item)
    assert (body["availability"], body["quantity"], body["left"]) == ("unlimited", None, None)


def test_a_lost_item_and_a_lost_store_are_unavailable(item: SaleItem, store: Any, settings: LazySettings) -> None:
    store.hdel(keys_of(item.pk).item, "left")
    assert live(item, queries_expected=1)["availability"] == "unavailable"
    store_away(settings)
    assert live(item)["availability"] == "unavailable"
    body = APIClient().get(f"/api/v1/sales/{item.sale_id}/live/").json()
    assert [figures["availability"] for figures in body["items"]] == ["unavailable"]
    assert 2_000 <= body["poll_after_ms"] <= 2_500


def test_a_page_asks_slowly_until_shortly_before_the_opening_and_after_the_end(product: Product, store: Any) -> None:
    item = make_item(product, opens_in_seconds=3600, closes_in_seconds=7200)
    for opens_in_seconds, least_ms, most_ms in (
        (3600, 10_000, 12_500),
        # Not past the moment from which pages ask each second.
        (22, 5_000, 8_750),
        (14, 1_000, 1_250),
    ):
        store.hset(keys_of(item.pk).item, "opens_ms", now_ms() + opens_in_seconds * 1000)
        assert least_ms <= live(item)["poll_after_ms"] <= most_ms, opens_in_seconds
    # After the end too.
    store.hset(keys_of(item.pk).item, mapping={"opens_ms": now_ms() - 2000, "closes_ms": now_ms() - 1000})
    assert 10_000 <= live(item)["poll_after_ms"] <= 12_500


def test_sales_are_listed_by_phase_and_drafts_are_not(product: Product) -> None:
    now = make_item(product)
    coming = make_item(product, opens_in_seconds=7200, closes_in_seconds=9000)
    make_item(product, opens_in_seconds=10_000, closes_in_seconds=11_000, published=False)
    api = APIClient()

    def ids(**query: str) -> list[int]:
        return [sale["id"] for sale in api.get("/api/v1/sales/", query).json()]

    assert ids() == [coming.sale_id, now.sale_id]
    assert ids(phase="open") == [now.sale_id]
    assert ids(phase="upcoming") == [coming.sale_id]
    assert ids(phase="ended") == []
    Sale.objects.filter(pk=now.sale_id).update(paused=True)
    assert ids(phase="open") == []
    assert ids(phase="paused") == [now.sale_id]
    wrong = api.get("/api/v1/sales/", {"phase": "later"})
    assert wrong.status_code == 400
    assert wrong.json()["errors"][0]["field"] == "phase"


def test_an_unlisted_sale_is_found_by_its_address_alone(product: Product, client: Client) -> None:
    item = make_item(product)
    listed = ["Spring sale" in client.get("/").content.decode(), len(client.get("/api/v1/sales/").json())]
    assert listed == [True, 1]
    Sale.objects.update(listed=False)
    listed = ["Spring sale" in client.get("/").content.decode(), len(client.get("/api/v1/sales/").json())]
    assert listed == [False, 0]
    assert client.get(f"/api/v1/sales/{item.sale_id}/").status_code == 200
    assert client.get(item.sale.get_absolute_url()).status_code == 200


def test_a_sale_shows_its_items_in_the_readers_language(product: Product) -> None:
    item = make_item(product)
    url = f"/api/v1/sales/{item.sale_id}/"
    body = APIClient().get(url).json()
    assert body["items"] == [
        {
            "id": item.pk,
            "product": "longjing",
            "sku": "SKU-longjing",
            "options": [],
            "name": "Longjing tea",
            "image": None,
            "price": "19.00",
            "ordinary_price": "99.00",
            "currency": "CNY",
            "quantity": 5,
            "per_buyer_max": 1,
        }
    ]
    chinese = APIClient().get(url, HTTP_ACCEPT_LANGUAGE="zh-CN").json()
    assert (chinese["name"], chinese["items"][0]["name"]) == ("春季秒杀", "龙井茶")


def test_a_draft_and_what_never_was_is_404_as_a_problem(product: Product) -> None:
    draft = make_item(product, published=False)
    sales = [f"/api/v1/sales/{pk}/{what}" for pk in (draft.sale_id, draft.sale_id + 1000) for what in ("", "live/")]
    items = [f"/api/v1/sale-items/{pk}/live/" for pk in (draft.pk, draft.pk + 1000, 10**30)]
    for address in [*sales, f"/api/v1/sales/{10**30}/", *items]:
        answer = APIClient().get(address)
        assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json"), address


def test_nothing_is_404_while_a_server_is_away(item: SaleItem, store: Any, request: pytest.FixtureRequest) -> None:
    store.delete(keys_of(item.pk).item)
    request.getfixturevalue("_no_database")
    assert APIClient().get(f"/api/v1/sale-items/{item.pk}/live/").json()["availability"] == "unavailable"


def test_waits_are_spread_by_the_time_and_never_shorter() -> None:
    for wait in (1_000, 2_000, 10_000):
        waits = {jitter_ms(wait, now_ms=1_767_225_600_000 + ms) for ms in range(wait // 4)}
        assert waits == set(range(wait, wait + wait // 4))
    for seconds, most in ((1, 1), (2, 3), (5, 7)):
        spread = {jitter_seconds(seconds, now_ms=1_767_225_600_000 + ms) for ms in range(100)}
        assert spread == set(range(seconds, most + 1))
