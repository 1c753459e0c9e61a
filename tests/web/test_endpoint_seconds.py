"""How long each endpoint takes, by the name of its route: in all processes, whoever gives the answer."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from seckill.models import SaleItem
from shop.http.endpoints import ADMIN, OTHER, all_endpoints, endpoint_seconds
from tests.live_shop import SEVERAL_WEB_PROCESSES, live_web, status_of
from tests.processes import wait_until
from tests.steps.caller import Caller
from tests.steps.cast import PassFor
from web.addresses import endpoint_at
from web.reservations.calls import ENDPOINTS, Kind

pytestmark = pytest.mark.django_db(transaction=True)


def counts(text: str) -> dict[str, float]:
    """Answers by endpoint, as Prometheus reads them."""
    [family] = [one for one in text_string_to_metric_families(text) if one.name == "stampede_endpoint_seconds"]
    return {one.labels["endpoint"]: one.value for one in family.samples if one.name.endswith("_count")}


def test_answers_of_all_processes_are_counted_by_route(item: SaleItem, buyer: User, pass_for: PassFor) -> None:
    pass_text = pass_for(buyer, item)
    with live_web(GRANIAN_WORKERS=SEVERAL_WEB_PROCESSES) as shop:
        for path in (
            f"/sales/{item.sale_id}/",
            f"/zh-hans/sales/{item.sale_id}/",
            f"/api/v1/sale-items/{item.pk}/live/",
            f"/api/v1/sales/{item.sale_id}/live/",
            "/api/v1/orders/",
            "/admin/",
            "/no-such-page/17/",
        ):
            status_of(shop + path)
        # By Django at first, and in the event loop once it knows the headers.
        caller = Caller(shop, item)
        assert [caller.reserve(pass_text)[0] for _ in range(3)] == [201] * 3
        client = Client()
        wanted = {
            "sale": 2,
            "api-live": 1,
            "api-sale-live": 1,
            "api-orders": 1,
            "admin": 1,
            OTHER: 1,
            "api-reserve": 3,
        }

        def noted() -> dict[str, float]:
            return counts(client.get("/metrics").text)

        wait_until(lambda: noted().items() >= wanted.items(), seconds_max=30)


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
    assert counts(client.get("/metrics").text) == dict.fromkeys(ENDPOINTS.values(), 0)
    endpoint_seconds.observe("cart", 0.02)
    endpoint_seconds.counts.write()
    text = client.get("/metrics").text
    assert counts(text)["cart"] == 1
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
