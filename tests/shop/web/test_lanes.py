"""Which lane a request uses: what brings in money, and staff, never wait behind a crowd."""

import pytest
from django.urls import reverse

from orders.payments.provider.call_bound import CALLS_MAX
from shop.web.lanes import lanes

NUMBER = "00000000-0000-4000-8000-000000000000"


def lane_of(path: str) -> str:
    return next(lane.name for lane in lanes() if lane.path.fullmatch(path))


@pytest.mark.parametrize(
    ("path", "lane"),
    [
        (reverse("api-reserve", args=[1]), "reserve"),
        (reverse("api-live", args=[1]), "live"),
        (reverse("api-payment-webhook", args=["stripe"]), "webhooks"),
        (reverse("api-order-pay", args=[NUMBER]), "orders"),
        (reverse("api-orders"), "orders"),
        (reverse("orders"), "orders"),
        (reverse("order-pay", args=[NUMBER]), "orders"),
        (f"/zh-hans/orders/{NUMBER}/", "orders"),
        ("/pay/simulated/sim_abc/", "orders"),
        ("/admin/", "admin"),
        ("/admin/orders/order/", "admin"),
        (reverse("api-passes", args=[1]), "pages"),
        (reverse("api-reservation", args=[NUMBER]), "pages"),
        ("/", "pages"),
        ("/sales/1/", "pages"),
        ("/no/orders/", "pages"),
        ("/orders\n", "pages"),
    ],
)
def test_a_path_has_its_lane(path: str, lane: str) -> None:
    assert lane_of(path) == lane


def test_a_slow_payment_provider_leaves_threads_for_orders() -> None:
    assert next(lane.threads for lane in lanes() if lane.name == "orders") > CALLS_MAX
