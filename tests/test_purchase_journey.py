"""One purchase from end to end through the API, the outbox, PostgreSQL and back, read as Given / When / Then."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db.models import F

from orders import tasks
from orders.life import intake, lifecycle
from orders.models import Order, OrderStatus
from seckill.models import SaleItem
from tests.steps.buying import reserve_by_api, with_token
from tests.steps.store import left_held_sold

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=["directly", "through a pooler"], autouse=True)
def _the_database_is_reached(request: pytest.FixtureRequest) -> None:
    if request.param == "through a pooler":
        request.getfixturevalue("pooler")


def test_a_buyer_reserves_pays_and_owns(buyer: User, item: SaleItem) -> None:
    # Given a buyer who is signed in, and a sale of five units that is open
    api = with_token(buyer)
    assert api.get("/api/v1/sales/", {"phase": "open"}).json()[0]["items"][0]["id"] == item.pk
    assert api.get(f"/api/v1/sale-items/{item.pk}/live/").json()["left"] == 5

    # When they get a pass and reserve with it
    text = api.post(f"/api/v1/sale-items/{item.pk}/passes/").json()["pass"]
    answer = reserve_by_api(item.pk, text, {"units": 1})

    # Then they are told yes, with the price and the deadline
    assert answer.status_code == 201
    reservation = answer.json()
    assert (reservation["units"], reservation["amount"], reservation["currency"]) == (1, "19.00", "CNY")
    assert answer["Location"] == reservation["status_url"]
    assert left_held_sold(item) == (4, 1, 0)
    assert api.get(reservation["status_url"]).json()["status"] == "reserved"

    # When intake has come by
    tasks.drain_outbox(item_id=item.pk)

    # Then the order stands in PostgreSQL, and the buyer finds it
    status = api.get(reservation["status_url"]).json()
    assert status["status"] == "awaiting_payment"
    order = api.get(f"/api/v1/orders/{status['order']}/").json()
    assert order["reservation"] == reservation["id"]
    assert [(line["units"], line["unit_price"]) for line in order["lines"]] == [(1, "19.00")]
    item.refresh_from_db()
    assert item.taken == 1

    # When the payment is recorded
    assert lifecycle.pay(order_id=Order.objects.get().pk)

    # Then the units are sold in both stores, and nothing is left to be told
    assert api.get(reservation["status_url"]).json()["status"] == "paid"
    assert left_held_sold(item) == (4, 0, 1)
    assert Order.objects.get().settled_at is not None
    assert tasks.expire_overdue() == 0


def test_a_buyer_who_does_not_pay_gives_the_units_back(buyer: User, item: SaleItem) -> None:
    # Given a reservation that became an order
    api = with_token(buyer)
    text = api.post(f"/api/v1/sale-items/{item.pk}/passes/").json()["pass"]
    reservation = reserve_by_api(item.pk, text).json()
    intake.drain_once(item_id=item.pk)

    # When its deadline passes
    Order.objects.update(expires_at=F("expires_at") - timedelta(hours=1))
    assert tasks.expire_overdue() == 1

    # Then the order is expired and its units are on sale again
    assert api.get(reservation["status_url"]).json()["status"] == OrderStatus.EXPIRED
    assert left_held_sold(item) == (5, 0, 0)
    item.refresh_from_db()
    assert item.taken == 0

    # And the old pass buys nothing, but the buyer's limit is free: a new one does
    assert reserve_by_api(item.pk, text).json()["code"] == "hold_ended"
    text = api.post(f"/api/v1/sale-items/{item.pk}/passes/").json()["pass"]
    assert reserve_by_api(item.pk, text).status_code == 201
