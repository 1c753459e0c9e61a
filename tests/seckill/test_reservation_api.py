"""`POST …/reservations/`: every outcome over HTTP, and hostile input.

The gate follows each call (tests/web/reservations/shadow.py).
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from orders.models import Order
from seckill.models import SaleItem
from shop.models import Product
from tests.own_store import as_reservation_store, running
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


def dump(store: Any) -> dict[bytes, bytes]:
    """Everything in the reservation store, to see that nothing has changed."""
    return {key: store.dump(key) for key in store.scan_iter()}


def assert_problem(answer: Any, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert body["code"] == code
    assert body["status"] == status
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
def counting_store(tmp_path: Path) -> Iterator[Any]:
    """A server that nobody else speaks to, so that it counts the calls of the test alone."""
    with running(tmp_path) as own_store, as_reservation_store(own_store):
        yield own_store.client


def test_a_reservation_makes_one_round_trip_and_no_query(
    counting_store: Any, item: SaleItem, buyer: User, pass_for: PassFor
) -> None:
    reserve_by_api(item.pk, pass_for(buyer, item))  # The store learns the script.
    text = pass_for(buyer, item)
    counting_store.config_resetstat()
    with CaptureQueriesContext(connection) as queries:
        assert reserve_by_api(item.pk, text).json()["code"] == "limit_reached"
    assert len(queries) == 0
    commands = {name: figures["calls"] for name, figures in counting_store.info("commandstats").items()}
    commands.pop("cmdstat_config|resetstat", None)
    # What the script itself calls is counted by the server too; of what came over the wire there is one command.
    assert commands.pop("cmdstat_evalsha") == 1
    of_the_script = {"time", "hmget", "exists", "hget", "info", "xlen"}
    assert set(commands) <= {f"cmdstat_{name}" for name in of_the_script}


def test_a_yes_makes_one_round_trip_and_no_query(
    counting_store: Any, item: SaleItem, buyer: User, rival: User, pass_for: PassFor
) -> None:
    reserve_by_api(item.pk, pass_for(rival, item))
    text = pass_for(buyer, item)
    counting_store.config_resetstat()
    with CaptureQueriesContext(connection) as queries:
        assert reserve_by_api(item.pk, text).status_code == 201
    assert len(queries) == 0
    stats = counting_store.info("commandstats")
    assert stats["cmdstat_evalsha"]["calls"] == 1
    assert not {"cmdstat_eval", "cmdstat_get", "cmdstat_multi", "cmdstat_script|load"} & set(stats)


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


def test_each_step_to_the_last_unit_has_its_outcome(
    product: Product, buyer: User, rival: User, stranger: User, pass_for: PassFor
) -> None:
    item = make_item(product, quantity=3, per_buyer_max=3)
    assert reserve_by_api(item.pk, pass_for(buyer, item), {"units": 2}).status_code == 201
    assert (
        assert_problem(reserve_by_api(item.pk, pass_for(rival, item), {"units": 2}), 409, "too_few_left")["left"] == 1
    )
    yes = reserve_by_api(item.pk, pass_for(rival, item), {"units": 1})
    assert yes.status_code == 201
    held = reserve_by_api(item.pk, pass_for(stranger, item))
    assert assert_problem(held, 409, "held_by_others")["retry_after"] == int(held["Retry-After"])


def test_sold_out_is_final(product: Product, buyer: User, rival: User, pass_for: PassFor, store: Any) -> None:
    item = make_item(product, quantity=1)
    reserve_by_api(item.pk, pass_for(buyer, item))
    store.hset(f"seckill:{{{item.pk}}}:item", mapping={"held": 0, "sold": 1})
    answer = reserve_by_api(item.pk, pass_for(rival, item))
    assert_problem(answer, 410, "sold_out")
    assert "Retry-After" not in answer


def test_before_the_window_the_buyer_is_told_when_it_opens(product: Product, buyer: User, pass_for: PassFor) -> None:
    item = make_item(product, opens_in_seconds=120)
    answer = reserve_by_api(item.pk, pass_for(buyer, item))
    body = assert_problem(answer, 409, "not_open")
    assert 110 < body["retry_after"] <= 120
    assert int(answer["Retry-After"]) == body["retry_after"]
    assert body["server_time"].endswith("Z")


def test_after_the_window_it_is_closed(product: Product, buyer: User, pass_for: PassFor, store: Any) -> None:
    item = make_item(product)
    store.hset(f"seckill:{{{item.pk}}}:item", "closes_ms", 1)
    assert_problem(reserve_by_api(item.pk, pass_for(buyer, item)), 410, "closed")


def test_a_paused_sale_says_so(item: SaleItem, buyer: User, pass_for: PassFor, store: Any) -> None:
    store.hset(f"seckill:{{{item.pk}}}:item", "state", "paused")
    answer = reserve_by_api(item.pk, pass_for(buyer, item))
    assert_problem(answer, 409, "paused")
    assert int(answer["Retry-After"]) > 0


def test_an_item_that_the_store_has_lost_is_unavailable_and_not_sold_out(
    item: SaleItem, buyer: User, pass_for: PassFor, store: Any
) -> None:
    store.flushdb()
    answer = reserve_by_api(item.pk, pass_for(buyer, item))
    assert_problem(answer, 503, "unavailable")
    assert int(answer["Retry-After"]) > 0


def test_refusals_are_in_chinese_for_those_who_ask_for_it(item: SaleItem, buyer: User, pass_for: PassFor) -> None:
    reserve_by_api(item.pk, pass_for(buyer, item))
    answer = reserve_by_api(item.pk, pass_for(buyer, item), HTTP_ACCEPT_LANGUAGE="zh-CN,zh;q=0.9")
    body = assert_problem(answer, 409, "limit_reached")
    assert any("一" <= character <= "鿿" for character in body["detail"])


@pytest.mark.parametrize(
    "body",
    [
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
    ],
)
def test_an_invalid_body_is_400_and_changes_nothing(
    body: bytes, item: SaleItem, buyer: User, pass_for: PassFor, store: Any
) -> None:
    before = dump(store)
    answer = reserve_by_api(item.pk, pass_for(buyer, item), body, content_type="application/json")
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] in {"invalid", "parse_error"}
    assert dump(store) == before
    assert Order.objects.count() == 0


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "application/xml"])
def test_another_content_type_is_415(
    content_type: str, item: SaleItem, buyer: User, pass_for: PassFor, store: Any
) -> None:
    before = dump(store)
    answer = reserve_by_api(item.pk, pass_for(buyer, item), b'{"units": 1}', content_type=content_type)
    assert_problem(answer, 415, "unsupported_media_type")
    assert dump(store) == before


@pytest.mark.parametrize("size", [70_000, 10_000_000])
def test_a_large_body_is_413(size: int, item: SaleItem, buyer: User, pass_for: PassFor, store: Any) -> None:
    before = dump(store)
    body = b'{"units": 1' + b" " * size + b"}"
    answer = reserve_by_api(item.pk, pass_for(buyer, item), body, content_type="application/json")
    assert_problem(answer, 413, "body_too_large")
    assert dump(store) == before


def test_a_body_of_unknown_length_is_411_and_not_read_as_empty(
    item: SaleItem, buyer: User, pass_for: PassFor, store: Any
) -> None:
    before = dump(store)
    answer = APIClient().generic(
        "POST",
        f"/api/v1/sale-items/{item.pk}/reservations/",
        HTTP_AUTHORIZATION=f"Pass {pass_for(buyer, item)}",
        HTTP_TRANSFER_ENCODING="chunked",
    )
    assert_problem(answer, 411, "length_required")
    assert dump(store) == before


def altered(text: str) -> str:
    """The pass with one character of its buyer changed."""
    version, item, buyer, *rest = text.split(".")
    return ".".join([version, item, str(int(buyer) + 1), *rest])


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        (lambda text: "", 401, "pass_missing"),
        (lambda text: "x", 401, "pass_invalid"),
        (lambda text: text[:-1] + ("A" if text[-1] != "A" else "B"), 401, "pass_invalid"),
        (altered, 401, "pass_invalid"),
        (lambda text: text + "A", 401, "pass_invalid"),
        (lambda text: text.upper(), 401, "pass_invalid"),
        (lambda text: "é" * 100, 401, "pass_invalid"),
        (lambda text: text * 1000, 401, "pass_invalid"),
    ],
)
def test_an_invalid_pass_is_refused_and_changes_nothing(
    change: Callable[[str], str], status: int, code: str, item: SaleItem, buyer: User, pass_for: PassFor, store: Any
) -> None:
    before = dump(store)
    answer = reserve_by_api(item.pk, change(pass_for(buyer, item)))
    assert_problem(answer, status, code)
    assert answer["WWW-Authenticate"] == "Pass"
    assert dump(store) == before


def test_no_pass_or_another_scheme_is_401(item: SaleItem, buyer: User) -> None:
    client = APIClient()
    url = f"/api/v1/sale-items/{item.pk}/reservations/"
    assert_problem(client.post(url), 401, "pass_missing")
    assert_problem(client.post(url, HTTP_AUTHORIZATION="Bearer abc"), 401, "pass_missing")
    client.force_login(buyer)
    assert_problem(client.post(url), 401, "pass_missing")


def test_an_expired_pass_is_401(item: SaleItem, buyer: User, pass_for: PassFor, store: Any) -> None:
    before = dump(store)
    assert_problem(reserve_by_api(item.pk, pass_for(buyer, item, expires_in_seconds=0)), 401, "pass_expired")
    assert dump(store) == before


def test_a_pass_for_another_item_is_403(item: SaleItem, product: Product, buyer: User, pass_for: PassFor) -> None:
    other = make_item(product, opens_in_seconds=7200, closes_in_seconds=9000)
    answer = reserve_by_api(item.pk, pass_for(buyer, other))
    assert_problem(answer, 403, "pass_of_another_item")


def test_a_browser_signed_in_as_another_buyer_cannot_use_the_pass(
    item: SaleItem, buyer: User, rival: User, pass_for: PassFor, store: Any
) -> None:
    before = dump(store)
    client = APIClient()
    client.force_login(rival)
    url = f"/api/v1/sale-items/{item.pk}/reservations/"
    answer = client.post(url, HTTP_AUTHORIZATION=f"Pass {pass_for(buyer, item)}")
    assert_problem(answer, 403, "pass_of_another_buyer")
    assert dump(store) == before
    assert client.post(url, HTTP_AUTHORIZATION=f"Pass {pass_for(rival, item)}").status_code == 201


def test_without_the_cache_buyers_can_still_reserve(
    item: SaleItem, buyer: User, pass_for: PassFor, settings: LazySettings
) -> None:
    client = APIClient()
    client.force_login(buyer)
    store_away(settings, "default")
    url = f"/api/v1/sale-items/{item.pk}/reservations/"
    assert client.post(url, HTTP_AUTHORIZATION=f"Pass {pass_for(buyer, item)}").status_code == 201


def test_an_unreachable_store_is_503_within_a_short_time(
    item: SaleItem, buyer: User, pass_for: PassFor, settings: LazySettings
) -> None:
    store_away(settings)
    answer = reserve_by_api(item.pk, pass_for(buyer, item))
    assert_problem(answer, 503, "unavailable")
    assert answer["Retry-After"]


def test_get_is_405_as_a_problem(item: SaleItem, buyer: User, pass_for: PassFor) -> None:
    answer = APIClient().get(
        f"/api/v1/sale-items/{item.pk}/reservations/", HTTP_AUTHORIZATION=f"Pass {pass_for(buyer, item)}"
    )
    assert_problem(answer, 405, "method_not_allowed")
