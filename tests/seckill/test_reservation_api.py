"""`POST …/reservations/`: every outcome over HTTP, and hostile input.

The gate follows each call (tests/web/reservations/shadow.py).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from orders.models import Order
from seckill.models import SaleItem
from seckill.store.keys import keys_of
from shop.models import Product
from tests.own_store import OwnStore, as_reservation_store
from tests.steps.buying import reserve_by_api
from tests.steps.cast import PassFor
from tests.steps.shop import make_item
from tests.steps.store import left_held_sold, store_away

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _followed_by_the_gate(request: pytest.FixtureRequest) -> None:
    """Except where the commands of the store are counted."""
    if "counting_store" not in request.fixturenames:
        request.getfixturevalue("shadow")


@contextmanager
def nothing_changes(store: Any) -> Iterator[None]:
    """The reservation store is after the block as it was before, and nobody has an order."""
    before = {key: store.dump(key) for key in store.scan_iter()}
    yield
    assert {key: store.dump(key) for key in store.scan_iter()} == before
    assert Order.objects.count() == 0


def address_of(item: SaleItem) -> str:
    return f"/api/v1/sale-items/{item.pk}/reservations/"


def assert_problem(answer: Any, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert (body["code"], body["status"]) == (code, status)
    assert body["title"]
    assert body["detail"]
    return body


def test_repeating_the_call_gets_the_same_reservation(item: SaleItem, buyer: User, pass_for: PassFor) -> None:
    text = pass_for(buyer, item)
    first, second = reserve_by_api(item.pk, text), reserve_by_api(item.pk, text)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert "Idempotent-Replayed" not in first
    assert second["Idempotent-Replayed"] == "true"
    assert left_held_sold(item)[:2] == (4, 1)


@pytest.fixture
def counting_store(own_store: OwnStore, settings: LazySettings) -> Iterator[Any]:
    """A server that nobody else speaks to, so that it counts the calls of the test alone. It does not sync."""
    settings.SECKILL_ALLOW_WEAK_DURABILITY = True
    own_store.client.flushall()
    with as_reservation_store(own_store):
        yield own_store.client


def test_a_yes_and_a_refusal_make_one_round_trip_and_no_query(
    counting_store: Any, item: SaleItem, buyer: User, rival: User, pass_for: PassFor
) -> None:
    reserve_by_api(item.pk, pass_for(rival, item))  # The store learns the script.
    first, second = pass_for(buyer, item), pass_for(buyer, item)
    for text, status, more in ((first, 201, {"xadd", "hset", "lpush"}), (second, 409, set())):
        counting_store.config_resetstat()
        with CaptureQueriesContext(connection) as queries:
            assert reserve_by_api(item.pk, text).status_code == status
        assert len(queries) == 0
        stats = counting_store.info("commandstats")
        calls = {name.removeprefix("cmdstat_"): figures["calls"] for name, figures in stats.items()}
        # What the script itself calls is counted by the server too; of what came over the wire there is one command.
        assert calls.pop("evalsha") == 1
        assert calls.keys() - {"config|resetstat"} <= {"time", "hmget", "exists", "hget", "info", "xlen", *more}


def test_the_limit_is_units_held_and_bought(product: Product, buyer: User, pass_for: PassFor) -> None:
    item = make_item(product, per_buyer_max=3)
    assert reserve_by_api(item.pk, pass_for(buyer, item), {"units": 2}).status_code == 201
    refused = assert_problem(reserve_by_api(item.pk, pass_for(buyer, item), {"units": 2}), 409, "limit_reached")
    assert (refused["remaining"], refused["per_buyer_max"]) == (1, 3)
    assert refused["detail"] == "You have 2 of at most 3; you can still take 1."
    assert reserve_by_api(item.pk, pass_for(buyer, item), {"units": 1}).status_code == 201
    refused = assert_problem(reserve_by_api(item.pk, pass_for(buyer, item), {"units": 1}), 409, "limit_reached")
    assert refused["remaining"] == 0
    assert refused["detail"] == "You have reached the limit of 3 per buyer."


def test_a_final_refusal_says_no_time_to_try_again(
    running: SaleItem, stranger: User, pass_for: PassFor, store: Any
) -> None:
    key = keys_of(running.pk).item
    before = store.hgetall(key)
    for fields, status, code, may_come_back in (
        ({"left": 0, "held": 0, "sold": 5}, 410, "sold_out", False),
        ({"closes_ms": 1}, 410, "closed", False),
        ({"state": "paused"}, 409, "paused", True),
        ({"left": 0, "held": 5}, 409, "held_by_others", True),
    ):
        store.hset(key, mapping={**before, **fields})
        answer = reserve_by_api(running.pk, pass_for(stranger, running))
        body = assert_problem(answer, status, code)
        assert (int(answer.get("Retry-After", 0)) > 0) == may_come_back, code
        assert body.get("retry_after", 0) == int(answer.get("Retry-After", 0))
    store.hset(key, mapping={**before, "left": 1, "held": 3, "per_buyer_max": 2})
    few = reserve_by_api(running.pk, pass_for(stranger, running), {"units": 2})
    assert assert_problem(few, 409, "too_few_left")["left"] == 1


def test_before_the_window_the_buyer_is_told_when_it_opens(product: Product, buyer: User, pass_for: PassFor) -> None:
    item = make_item(product, opens_in_seconds=120)
    answer = reserve_by_api(item.pk, pass_for(buyer, item))
    body = assert_problem(answer, 409, "not_open")
    assert 110 < body["retry_after"] <= 120
    assert int(answer["Retry-After"]) == body["retry_after"]
    assert body["server_time"].endswith("Z")


def test_an_item_that_the_store_has_lost_is_unavailable_and_not_sold_out(
    item: SaleItem, buyer: User, pass_for: PassFor, store: Any, settings: LazySettings
) -> None:
    store.flushdb()
    for _lost_or_away in range(2):
        answer = reserve_by_api(item.pk, pass_for(buyer, item))
        assert_problem(answer, 503, "unavailable")
        assert int(answer["Retry-After"]) > 0
        store_away(settings)


def test_refusals_are_in_chinese_for_those_who_ask_for_it(item: SaleItem, buyer: User, pass_for: PassFor) -> None:
    reserve_by_api(item.pk, pass_for(buyer, item))
    answer = reserve_by_api(item.pk, pass_for(buyer, item), HTTP_ACCEPT_LANGUAGE="zh-CN,zh;q=0.9")
    body = assert_problem(answer, 409, "limit_reached")
    assert any("一" <= character <= "鿿" for character in body["detail"])


INVALID_BODIES = [
    b'{"units": 0}',
    b'{"units": -1}',
    b'{"units": 1.5}',
    b'{"units": 1.0}',
    b'{"units": "1"}',
    '{"units": "１"}'.encode(),
    b'{"units": 1000000000000000000000000000000}',
    b'{"units": 1e400}',
    b'{"units": NaN}',
    b'{"units": Infinity}',
    b'{"units": true}',
    b'{"units": null}',
    b'{"units": [1]}',
    b'{"units": {"a": 1}}',
    b'{"units": 1, "price": 0}',
    b'{"unit": 1}',
    b'[{"units": 1}]',
    b'"units"',
    b"null",
    b"{",
    b"\xff\xfe",
    b"[" * 5000,
    b'{"units": ' + b"1" * 5000 + b"}",
]


def test_an_invalid_body_is_400_and_changes_nothing(item: SaleItem, buyer: User, pass_for: PassFor, store: Any) -> None:
    for body in INVALID_BODIES:
        with nothing_changes(store):
            answer = reserve_by_api(item.pk, pass_for(buyer, item), body, content_type="application/json")
        assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json"), body
        assert answer.json()["code"] in {"invalid", "parse_error"}, body


def test_another_content_type_is_415_and_a_large_body_413(
    item: SaleItem, buyer: User, pass_for: PassFor, store: Any
) -> None:
    body = b'{"units": 1}'
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "application/xml"):
        with nothing_changes(store):
            answer = reserve_by_api(item.pk, pass_for(buyer, item), body, content_type=content_type)
        assert_problem(answer, 415, "unsupported_media_type")
    for size in (70_000, 10_000_000):
        large = b'{"units": 1' + b" " * size + b"}"
        with nothing_changes(store):
            answer = reserve_by_api(item.pk, pass_for(buyer, item), large, content_type="application/json")
        assert_problem(answer, 413, "body_too_large")


def test_a_body_of_unknown_length_is_411_and_not_read_as_empty(
    item: SaleItem, buyer: User, pass_for: PassFor, store: Any
) -> None:
    headers: dict[str, Any] = {
        "HTTP_AUTHORIZATION": f"Pass {pass_for(buyer, item)}",
        "HTTP_TRANSFER_ENCODING": "chunked",
    }
    with nothing_changes(store):
        answer = APIClient().generic("POST", address_of(item), **headers)
    assert_problem(answer, 411, "length_required")


def altered(text: str) -> str:
    """The pass with one character of its buyer changed."""
    version, item, buyer, *rest = text.split(".")
    return ".".join([version, item, str(int(buyer) + 1), *rest])


INVALID_PASSES: list[Callable[[str], str]] = [
    lambda text: "x",
    lambda text: text[:-1] + ("A" if text[-1] != "A" else "B"),
    altered,
    lambda text: text + "A",
    lambda text: text.upper(),
    lambda text: "é" * 100,
    lambda text: text * 1000,
]


def test_an_invalid_pass_is_refused_and_changes_nothing(
    item: SaleItem, buyer: User, pass_for: PassFor, store: Any
) -> None:
    text, expired = pass_for(buyer, item), pass_for(buyer, item, expires_in_seconds=0)
    with nothing_changes(store):
        for change in INVALID_PASSES:
            answer = reserve_by_api(item.pk, change(text))
            assert_problem(answer, 401, "pass_invalid")
            assert answer["WWW-Authenticate"] == "Pass"
        for none, code in (("", "pass_missing"), (expired, "pass_expired")):
            answer = reserve_by_api(item.pk, none)
            assert_problem(answer, 401, code)
            assert answer["WWW-Authenticate"] == "Pass"


def test_no_pass_or_another_scheme_is_401_and_get_is_405(item: SaleItem, buyer: User, pass_for: PassFor) -> None:
    client, url = APIClient(), address_of(item)
    assert_problem(client.get(url, HTTP_AUTHORIZATION=f"Pass {pass_for(buyer, item)}"), 405, "method_not_allowed")
    assert_problem(client.post(url), 401, "pass_missing")
    assert_problem(client.post(url, HTTP_AUTHORIZATION="Bearer abc"), 401, "pass_missing")
    client.force_login(buyer)
    assert_problem(client.post(url), 401, "pass_missing")


def test_a_pass_for_another_item_is_403(item: SaleItem, product: Product, buyer: User, pass_for: PassFor) -> None:
    other = make_item(product, opens_in_seconds=7200, closes_in_seconds=9000)
    answer = reserve_by_api(item.pk, pass_for(buyer, other))
    assert_problem(answer, 403, "pass_of_another_item")


def test_a_browser_signed_in_as_another_buyer_cannot_use_the_pass(
    item: SaleItem, buyer: User, rival: User, pass_for: PassFor, store: Any
) -> None:
    client, url = APIClient(), address_of(item)
    client.force_login(rival)
    with nothing_changes(store):
        answer = client.post(url, HTTP_AUTHORIZATION=f"Pass {pass_for(buyer, item)}")
    assert_problem(answer, 403, "pass_of_another_buyer")
    assert client.post(url, HTTP_AUTHORIZATION=f"Pass {pass_for(rival, item)}").status_code == 201


def test_without_the_cache_buyers_can_still_reserve(
    item: SaleItem, buyer: User, pass_for: PassFor, settings: LazySettings
) -> None:
    client = APIClient()
    client.force_login(buyer)
    store_away(settings, "default")
    assert client.post(address_of(item), HTTP_AUTHORIZATION=f"Pass {pass_for(buyer, item)}").status_code == 201
