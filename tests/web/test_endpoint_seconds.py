"""How long each endpoint takes, by the name of its route: in all processes, whoever gives the answer."""

from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from shop.http.endpoints import ADMIN, OTHER, all_endpoints, endpoint_seconds
from tests.steps.operating import answers_by_route
from web.addresses import endpoint_at
from web.reservations.calls import ENDPOINTS, Kind

pytestmark = pytest.mark.django_db


def test_labels_are_names_of_routes_and_never_paths() -> None:
    assert set(ENDPOINTS) == set(Kind)
    assert set(ENDPOINTS.values()) < set(all_endpoints())
    assert len(all_endpoints()) < 150
    for path, name in {
        "/": "home",
        "/zh-hans/": "home",
        "/zh-hans/products/": "products",
        "/api/v1/products/": "api-products",
        "/admin/orders/order/": ADMIN,
        "/%2e%2e/etc/passwd": OTHER,
        "/\ud800": OTHER,
    }.items():
        assert endpoint_at(path) == name


def test_an_endpoint_that_was_never_called_is_left_out(client: Client) -> None:
    assert answers_by_route(client) == dict.fromkeys(ENDPOINTS.values(), 0)
    endpoint_seconds.observe("cart", 0.02)
    endpoint_seconds.counts.write()
    assert answers_by_route(client)["cart"] == 1
    text = client.get("/metrics").text
    assert 'stampede_endpoint_seconds_bucket{endpoint="cart",le="0.03"} 1' in text
    assert 'stampede_endpoint_seconds_bucket{endpoint="cart",le="0.01"} 0' in text


def test_the_sums_go_to_the_cache_in_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("a call of its own")

    for name in ("add", "incr", "set"):
        monkeypatch.setattr(cache, name, refused)
    endpoint_seconds.observe("cart", 0.02)
    endpoint_seconds.observe("cart", 0.5)
    endpoint_seconds.counts.write()
    assert sum(endpoint_seconds.in_all_processes(["cart"])["cart"].counts) == 2
