"""The rules of a sale with a waiting room are asked before there is a place: a script must not fill the line."""

from datetime import timedelta
from functools import partial
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from orders.tasks import move_waiting_rooms
from seckill.guards import proof_of_work
from seckill.guards.pass_guards import GuardedCall
from seckill.live.answer_counts import answer_counts, of_items
from seckill.models import SaleItem
from seckill.store.client import StoreUnreachable
from seckill.store.keys import room_keys_of
from seckill.waiting_room import joining
from tests.steps.at_once import at_once
from tests.steps.buying import new_buyers
from tests.steps.guarding import ask_pass, confirmed, guarded_by, proof_for
from tests.steps.waiting_room import joined, open_now

pytestmark = pytest.mark.django_db


@pytest.fixture
def proven(waiting: SaleItem, monkeypatch: pytest.MonkeyPatch) -> SaleItem:
    """The same with proof of work, which is little here."""
    monkeypatch.setattr(proof_of_work, "TRIES", 20)
    return guarded_by(waiting, proof_of_work=True)


def join(item: SaleItem, user: User, *, address: str = "192.0.2.1", **body: str) -> Any:
    client = APIClient(REMOTE_ADDR=address)
    client.force_authenticate(user)
    return client.post(f"/api/v1/sales/{item.sale_id}/queue/", body)


def told(item: SaleItem, user: User, **how: str) -> str:
    """`place`, or the code of the refusal."""
    answer = join(item, user, **how)
    return "place" if answer.status_code == 201 else str(answer.json()["code"])


def people(item: SaleItem, store: Any) -> int:
    count: int = store.hlen(room_keys_of(item.sale_id).arrivals)
    return count


def test_an_account_that_a_rule_refuses_gets_no_place(
    waiting: SaleItem, buyer: User, rival: User, stranger: User, store: Any
) -> None:
    guarded_by(waiting, needs_confirmed_mail=True, account_age_hours=24)
    for user in (rival, stranger):
        confirmed(user)
    User.objects.filter(pk=rival.pk).update(date_joined=timezone.now() - timedelta(hours=25))
    assert [told(waiting, user) for user in (buyer, rival, stranger)] == [
        "mail_not_confirmed",
        "place",
        "account_too_new",
    ]
    assert people(waiting, store) == 1
    answer_counts.write(second=1)
    counts = of_items([waiting.pk])[waiting.pk]
    assert (counts["mail_not_confirmed"], counts["account_too_new"], sum(counts.values())) == (1, 1, 2)


def test_a_network_has_places_for_so_many_accounts_who_get_passes_later(waiting: SaleItem, store: Any) -> None:
    guarded_by(waiting, accounts_per_network=2)
    crowd = new_buyers(4)
    assert [told(waiting, who) for who in crowd] == ["place"] * 2 + ["too_many_accounts"] * 2
    assert told(waiting, crowd[3], address="192.0.2.2") == "place"
    assert people(waiting, store) == 3
    open_now(waiting)
    move_waiting_rooms()
    assert [ask_pass(waiting, who).status_code for who in crowd[:2]] == [201, 201]


def test_an_account_with_a_place_hears_it_again_though_a_rule_came_later(waiting: SaleItem, buyer: User) -> None:
    first = joined(waiting, buyer)
    guarded_by(waiting, needs_confirmed_mail=True, proof_of_work=True)
    assert joined(waiting, buyer)["arrival"] == first["arrival"]


def test_a_token_brings_a_lost_place_back_without_the_rules(waiting: SaleItem, buyer: User, store: Any) -> None:
    token = joined(waiting, buyer)["place_token"]
    guarded_by(waiting, needs_confirmed_mail=True)
    store.delete(room_keys_of(waiting.sale_id).arrivals)
    assert told(waiting, buyer) == "mail_not_confirmed"
    assert joined(waiting, buyer, place_token=token)["place_token"] == token


def test_the_proof_is_for_the_place_and_the_pass_needs_none(proven: SaleItem, buyer: User, rival: User) -> None:
    refused = join(proven, buyer).json()
    assert refused["code"] == "proof_needed"
    assert refused["challenge_url"] == f"/api/v1/sale-items/{proven.pk}/challenges/"
    proof = proof_for(proven, buyer)
    assert told(proven, rival, proof=proof) == "proof_refused"
    assert told(proven, buyer, proof=proof) == "place"
    open_now(proven)
    move_waiting_rooms()
    assert ask_pass(proven, buyer).status_code == 201


def test_a_proof_is_kept_while_the_store_has_no_room(proven: SaleItem, buyer: User, store: Any) -> None:
    proof = proof_for(proven, buyer)
    store.delete(room_keys_of(proven.sale_id).room)
    assert told(proven, buyer, proof=proof) == "unavailable"
    move_waiting_rooms()
    assert told(proven, buyer, proof=proof) == "place"


@pytest.mark.parametrize("failure", [StoreUnreachable("gone"), None], ids=["no answer", "no room"])
def test_a_proof_is_good_again_for_its_account_when_no_place_came_of_it(
    proven: SaleItem, buyer: User, rival: User, failure: StoreUnreachable | None
) -> None:
    proof = proof_for(proven, buyer)
    with mock.patch.object(joining, "join", side_effect=[failure]):
        assert told(proven, buyer, proof=proof) == "unavailable"
    assert told(proven, rival, proof=proof) == "proof_refused"
    assert told(proven, buyer, proof=proof) == "place"


def test_a_proof_that_is_sent_again_gives_the_same_place(proven: SaleItem, buyer: User, store: Any) -> None:
    proof = proof_for(proven, buyer)
    call = GuardedCall(sale=proven.sale, buyer_id=buyer.pk, network="192.0.2.1", device="", proof=proof)
    asked = partial(joining.join_by_rules, sale=proven.sale, account_id=buyer.pk, network="192.0.2.1", guarded=call)
    found = at_once([asked] * 5)
    assert [standing and standing.arrival for standing in found] == [0] * 5
    assert people(proven, store) == 1


def test_a_network_joins_so_often(waiting: SaleItem, settings: Settings) -> None:
    settings.PASS_LIMIT_BY_NETWORK = "2/minute"
    first, second, third = new_buyers(3)
    assert [told(waiting, who) for who in (first, second, third)] == ["place", "place", "too_many_attempts"]
    assert told(waiting, third, address="192.0.2.2") == "place"


def test_the_page_without_javascript_says_which_rule_it_is(waiting: SaleItem, buyer: User, store: Any) -> None:
    guarded_by(waiting, needs_confirmed_mail=True)
    browser = Client()
    browser.force_login(buyer)
    answer = browser.post(reverse("queue", args=[waiting.sale_id]))
    assert answer.status_code == 403
    assert "Confirm your e-mail address first" in answer.content.decode()
    assert people(waiting, store) == 0
