"""`POST /api/v1/receipts/`: a reservation that the store has lost comes back once, while units are left."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from orders.life import intake
from orders.models import Order, RefusedReceipt
from orders.repair.reconcile import reconcile
from seckill.items import item_state
from seckill.models import SaleItem
from seckill.passes import receipts
from tests.steps.buying import reserve_by_api, signed_in
from tests.steps.cast import PassFor
from tests.steps.store import figures

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/receipts/"


@pytest.fixture
def receipt(item: SaleItem, buyer: User, pass_for: PassFor) -> str:
    """Of a yes that is not an order yet."""
    return receipt_of(item, pass_for(buyer, item))


def receipt_of(item: SaleItem, pass_text: str, units: int = 1) -> str:
    answer = reserve_by_api(item.pk, pass_text, {"units": units})
    assert answer.status_code == 201
    return str(answer.json()["receipt"])


def lose(*items: SaleItem) -> None:
    """The store loses all that it has of the items, and the shop compares what is left with the orders."""
    for item in items:
        item_state.remove(item_id=item.pk)
        reconcile(item_id=item.pk, rebuild=True)


def bring(buyer: User, text: object) -> Any:
    return signed_in(buyer).post(ADDRESS, {"receipt": text})


def test_a_lost_reservation_comes_back_and_becomes_the_order(item: SaleItem, buyer: User, receipt: str) -> None:
    told = receipts.read(receipt)
    status_url = f"/api/v1/reservations/{told.reservation_id}/"
    lose(item)
    assert signed_in(buyer).get(status_url).status_code == 404

    answer = bring(buyer, receipt)
    assert (answer.status_code, answer["Location"]) == (201, status_url)
    assert answer.json()["status"] == "reserved"
    assert answer.json() == signed_in(buyer).get(status_url).json()
    assert figures(item) == (4, 1, 0, 0)

    assert intake.drain_once(item_id=item.pk) == 1
    order = Order.objects.get()
    assert (order.reservation_id, order.buyer, order.amount_minor) == (told.reservation_id, buyer, told.price_minor)
    assert round(order.expires_at.timestamp() * 1000) == told.deadline_ms
    assert figures(item) == (4, 1, 0, 1)
    assert not RefusedReceipt.objects.exists()
