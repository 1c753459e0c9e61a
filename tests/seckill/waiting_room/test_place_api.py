"""`…/sales/{id}/queue/`: one place for an account, the same each time, and a pass once it is called."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from orders.tasks import move_waiting_rooms
from seckill.models import SaleItem
from seckill.passes import passes
from shop.models import Product
from tests.steps.shop import make_item
from tests.steps.waiting import joined, open_now, place_of

pytestmark = pytest.mark.django_db


def ask_for_pass(item: SaleItem, user: User) -> Any:
    client = APIClient()
    client.force_authenticate(user)
    return client.post(f"/api/v1/sale-items/{item.pk}/passes/")


def test_a_place_is_drawn_at_the_opening_called_and_leads_to_a_pass(product: Product, buyer: User) -> None:
    item = make_item(product, opens_in_seconds=300, has_room=True)
    move_waiting_rooms()
    answer = joined(item, buyer)
    assert (answer["state"], answer["place"], answer["arrival"]) == ("before_opening", None, 0)
    assert ask_for_pass(item, buyer).json()["code"] == "place_not_called"
    open_now(item)
    waiting = place_of(item, answer["place_token"])
    assert (waiting["state"], waiting["place"], waiting["ahead"]) == ("waiting", 1, 0)
    move_waiting_rooms()
    assert place_of(item, answer["place_token"])["state"] == "called"
    given = ask_for_pass(item, buyer)
    assert given.status_code == 201
    assert passes.read(given.json()["pass"]).buyer_id == buyer.pk


def test_a_second_call_hears_the_same_place(product: Product, buyer: User, rival: User) -> None:
    item = make_item(product, opens_in_seconds=300, has_room=True)
    move_waiting_rooms()
    first, other, again = joined(item, buyer), joined(item, rival), joined(item, buyer)
    assert (first["arrival"], other["arrival"], again["arrival"]) == (0, 1, 0)
    assert first["place_token"] == again["place_token"]
