"""`…/sales/{id}/queue/`: one place for an account, the same each time, and a pass once it is called."""

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from orders.tasks import move_waiting_rooms
from seckill.models import Sale, SaleItem
from seckill.passes import passes
from seckill.publication import publish_sale
from seckill.waiting_room.permutation import place_of as permuted
from shop.models import Product
from tests.steps.shop import make_item
from tests.steps.waiting_room import join, joined, open_now, place_of

pytestmark = pytest.mark.django_db


def ask_for_pass(item: SaleItem, user: User) -> Any:
    client = APIClient()
    client.force_authenticate(user)
    return client.post(f"/api/v1/sale-items/{item.pk}/passes/")


def test_a_place_is_drawn_at_the_opening_called_and_leads_to_a_pass(waiting: SaleItem, buyer: User) -> None:
    assert ask_for_pass(waiting, buyer).json()["code"] == "place_needed"
    assert join(waiting, buyer, token="q1").json()["code"] == "invalid"
    answer = joined(waiting, buyer)
    assert (answer["state"], answer["place"], answer["arrival"]) == ("before_opening", None, 0)
    assert ask_for_pass(waiting, buyer).json()["code"] == "place_not_called"
    open_now(waiting)
    place = place_of(waiting, answer["place_token"])
    assert (place["state"], place["place"], place["ahead"]) == ("waiting", 1, 0)
    move_waiting_rooms()
    assert place_of(waiting, answer["place_token"])["state"] == "called"
    given = ask_for_pass(waiting, buyer)
    assert given.status_code == 201
    assert passes.read(given.json()["pass"]).buyer_id == buyer.pk


def test_a_second_call_hears_the_same_place(waiting: SaleItem, buyer: User, rival: User) -> None:
    first, other, again = joined(waiting, buyer), joined(waiting, rival), joined(waiting, buyer)
    assert (first["arrival"], other["arrival"], again["arrival"]) == (0, 1, 0)
    assert first["place_token"] == again["place_token"]


def test_a_session_alone_does_not_say_whose_place_is_asked_for(waiting: SaleItem, as_buyer: Client) -> None:
    for call in (as_buyer.get, as_buyer.head):
        assert call(f"/api/v1/sales/{waiting.sale_id}/queue/").status_code == 401


def test_where_there_is_no_place_to_have_a_call_says_why(product: Product, buyer: User) -> None:
    item = make_item(product, has_room=True, published=False)
    assert join(item, buyer).status_code == 404
    publish_sale(sale_id=item.sale_id)
    assert (join(item, None).status_code, join(item, None).json()["code"]) == (401, "not_authenticated")
    # The store does not have the room yet.
    assert (join(item, buyer).status_code, ask_for_pass(item, buyer).status_code) == (503, 503)
    for opens_in_hours, status, code in ((1, 409, "too_early"), (-2, 410, "closed")):
        opens_at = timezone.now() + timedelta(hours=opens_in_hours)
        Sale.objects.update(opens_at=opens_at, closes_at=opens_at + timedelta(hours=1))
        answer = join(item, buyer)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
    Sale.objects.update(admission=Sale.Admission.FIRST_COME)
    answer = join(item, buyer)
    assert (answer.status_code, answer.json()["code"]) == (409, "no_waiting_room")
    shown = APIClient().get(f"/api/v1/sales/{item.sale_id}/").json()
    assert (shown["admission"], shown["waiting_room"]) == ("first_come", None)


@pytest.mark.slow
def test_an_account_may_call_only_so_often(waiting: SaleItem, buyer: User) -> None:
    answers = [join(waiting, buyer).status_code for _ in range(31)]
    assert answers == [201] * 30 + [429]


def test_the_hash_of_the_key_is_shown_first_and_the_key_at_the_end(product: Product, buyer: User) -> None:
    """From it anybody can compute the place."""
    item = make_item(product, opens_in_seconds=300, has_room=True)
    move_waiting_rooms()
    path = f"/api/v1/sales/{item.sale_id}/"
    shown = APIClient().get(path).json()
    assert shown["admission"] == "waiting_room"
    assert (shown["waiting_room"]["key"], shown["waiting_room"]["early"]) == (None, None)
    tokens = [joined(item, user)["place_token"] for user in (buyer, User.objects.create_user("second"))]
    # A web server whose clock is ahead shows no key before the places are fixed.
    Sale.objects.update(opens_at=timezone.now() - timedelta(hours=1), closes_at=timezone.now() - timedelta(seconds=1))
    assert APIClient().get(path).json()["waiting_room"]["key"] is None
    Sale.objects.update(closes_at=timezone.now() + timedelta(hours=1))
    open_now(item)
    places = [place_of(item, token)["place"] for token in tokens]
    move_waiting_rooms()
    assert APIClient().get(path).json()["waiting_room"]["early"] == 2
    Sale.objects.update(opens_at=timezone.now() - timedelta(hours=1), closes_at=timezone.now() - timedelta(seconds=1))
    at_end = APIClient().get(path).json()["waiting_room"]
    key = bytes.fromhex(at_end["key"])
    assert hashlib.sha256(key).hexdigest() == at_end["key_sha256"] == shown["waiting_room"]["key_sha256"]
    assert [permuted(arrival, early=2, key=key) + 1 for arrival in (0, 1)] == places
