"""The waiting list over HTTP: joining with a pass, the place under the reservation's address, leaving, refusals."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from orders.life import intake, lifecycle
from seckill import pages
from seckill.api import line_views
from seckill.line.line_ledger import JoinAnswer, join_line
from seckill.line.waiting_list import sweep_lines
from seckill.models import Sale, SaleChange, SaleItem
from seckill.passes import passes
from seckill.store.client import StoreUnreachable
from shop.models import Product
from tests.shop.http.schema_client import DOCUMENT
from tests.steps.buying import order_of, signed_in
from tests.steps.shop import make_item, other_item
from tests.steps.staff import change
from tests.steps.store import store_away
from tests.steps.waiting import join, join_by_api, status

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def item(product: Product, buyer: User) -> SaleItem:
    """Two units, which the buyer holds, and a waiting list."""
    item = make_item(product, quantity=2, per_buyer_max=2, waiting_list=True)
    sweep_lines()
    order_of(item, buyer, units=2)
    return item


def pass_for(item: SaleItem, buyer: User) -> str:
    return passes.issue(item_id=item.pk, buyer_id=buyer.pk, expires_s=passes.expiry_s())


def test_a_refused_pass_gets_a_place_whose_address_says_the_same(item: SaleItem, rival: User) -> None:
    text = pass_for(item, rival)
    answer = join_by_api(item, rival, units=2, pass_text=text)
    assert answer.status_code == 201
    body = answer.json()
    assert UUID(body["id"]) == passes.read(text).reservation_id
    assert answer["Location"] == body["status_url"] == f"/api/v1/reservations/{body['id']}/"
    assert (body["units"], body["place"], body["ahead"]) == (2, 1, 0)
    assert body["poll_after_ms"] == 5_000
    assert "We cannot say" in body["note"]
    found = status(rival, body["id"])
    assert (found["status"], found["place"], found["ahead"]) == ("waiting", 1, 0)
    assert (found["expires_at"], found["order"], found["units"]) == (None, None, 2)


def test_a_repeated_call_and_a_second_pass_get_the_place_that_is_there(item: SaleItem, rival: User) -> None:
    text = pass_for(item, rival)
    first = join_by_api(item, rival, pass_text=text)
    for again in (join_by_api(item, rival, pass_text=text), join_by_api(item, rival)):
        assert again.status_code == 201
        assert again["Idempotent-Replayed"] == "true"
        assert again.json()["id"] == first.json()["id"]


def test_an_answer_that_units_have_overtaken_is_as_the_schema_says(
    item: SaleItem, buyer: User, rival: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def then_served(**asked: Any) -> JoinAnswer:
        joined = join_line(**asked)
        lifecycle.cancel(order_id=buyer.orders.get().pk)
        return joined

    monkeypatch.setattr(line_views, "join_line", then_served)
    answer = join_by_api(item, rival)
    assert (answer.status_code, answer.json()["poll_after_ms"]) == (201, 0)
    note = DOCUMENT["components"]["schemas"]["PlaceInLine"]["properties"]["note"]
    assert len(answer.json()["note"]) >= note["minLength"]
    assert status(rival, answer.json()["id"])["status"] == "reserved"


def test_a_place_is_nobody_elses(item: SaleItem, rival: User, stranger: User) -> None:
    place = join(item, rival)
    assert status(stranger, place) == {"status": 404}
    assert signed_in(stranger).delete(f"/api/v1/reservations/{place}/").status_code == 404
    assert APIClient().delete(f"/api/v1/reservations/{place}/").status_code == 401
    assert status(rival, place)["status"] == "waiting"
    for unknown in (passes.new_reservation_id(item.pk), uuid4()):
        assert signed_in(rival).delete(f"/api/v1/reservations/{unknown}/").status_code == 404


def test_refusals_have_the_codes_of_a_reservation_or_their_own(item: SaleItem, buyer: User, rival: User) -> None:
    def refusal(of: SaleItem, **body: int) -> tuple[int, str]:
        path, header = f"/api/v1/sale-items/{of.pk}/waiting-list/", f"Pass {pass_for(of, rival)}"
        answer = APIClient().post(path, body, format="json", HTTP_AUTHORIZATION=header)
        return answer.status_code, answer.json()["code"]

    assert refusal(item, units=3) == (409, "limit_reached")
    for body in ({"units": 11}, {"units": 0}, {"pieces": 1}):
        assert refusal(item, **body) == (400, "invalid"), body
    change(item, SaleChange.Kind.PAUSE)
    assert refusal(item) == (409, "paused")
    without = other_item(quantity=1)
    order_of(without, buyer)
    assert refusal(without) == (409, "no_line")
    left = other_item("pot", waiting_list=True)
    coming = other_item("jug", waiting_list=True, opens_in_seconds=600)
    sweep_lines()
    assert [refusal(left), refusal(coming)] == [(409, "units_left"), (409, "not_open")]
    assert 590 < int(join_by_api(coming, rival)["Retry-After"]) <= 600
    assert join_by_api(coming, rival, pass_text=pass_for(left, rival)).json()["code"] == "pass_of_another_item"


def test_a_store_that_is_away_is_no_refusal(item: SaleItem, rival: User, settings: LazySettings) -> None:
    place = join(item, rival)
    former = store_away(settings)
    assert join_by_api(item, rival).json()["code"] == "unavailable"
    assert signed_in(rival).delete(f"/api/v1/reservations/{place}/").json()["code"] == "unavailable"
    settings.CACHES = former
    assert status(rival, place)["status"] == "waiting"


def test_the_sale_and_the_buyer_say_that_there_is_a_line(item: SaleItem, rival: User) -> None:
    place = join(item, rival)
    assert APIClient().get(f"/api/v1/sales/{item.sale_id}/").json()["waiting_list"] is True
    [mine] = signed_in(rival).get(f"/api/v1/me/?sale={item.sale_id}").json()["items"]
    assert mine == {"id": item.pk, "units": 0, "waiting": str(place)}
    Sale.objects.update(waiting_list=False)
    [mine] = signed_in(rival).get(f"/api/v1/me/?sale={item.sale_id}").json()["items"]
    assert mine == {"id": item.pk, "units": 0}


# --- without JavaScript ---


@pytest.fixture
def as_rival(rival: User) -> Client:
    client = Client()
    client.force_login(rival)
    return client


def test_the_page_offers_to_wait_shows_the_place_and_lets_go(item: SaleItem, as_rival: Client) -> None:
    path = f"/sale-items/{item.pk}/reserve/"
    page = as_rival.get(path)
    assert "Join the waiting list" in page.content.decode()
    posted = {"pass": page.context["pass_text"], "units": "2", "action": "join"}
    place = as_rival.post(path, posted, follow=True)
    text = place.content.decode()
    assert "You are number 1 in line for 2 × Longjing tea" in text
    assert 'http-equiv="refresh"' in text
    address = place.redirect_chain[-1][0]
    assert as_rival.post(path, posted).headers["Location"] == address
    left = as_rival.post(address, {"leave": "1"}, follow=True)
    assert "You have left the waiting list." in left.content.decode()
    assert as_rival.get(address).status_code == 404


def test_a_lost_answer_leaves_the_page_its_pass_so_the_next_press_finds_the_place(
    item: SaleItem, as_rival: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unanswered(**asked: Any) -> None:
        join_line(**asked)
        raise StoreUnreachable

    path = f"/sale-items/{item.pk}/reserve/"
    posted = {"pass": as_rival.get(path).context["pass_text"], "units": "2", "action": "join"}
    with monkeypatch.context() as patched:
        patched.setattr(pages, "join_line", unanswered)
        page = as_rival.post(path, posted)
    assert "Temporarily unavailable" in page.content.decode()
    assert (page.context["pass_text"], page.context["units_chosen"]) == (posted["pass"], 2)
    place = passes.read(posted["pass"]).reservation_id
    assert as_rival.post(path, posted).headers["Location"] == f"/reservations/{place}/"


def test_the_page_of_a_place_leads_on_to_the_order(item: SaleItem, as_rival: Client, rival: User, buyer: User) -> None:
    place = join(item, rival)
    lifecycle.cancel(order_id=buyer.orders.get().pk)
    assert "Reserved for you" in as_rival.get(f"/reservations/{place}/").content.decode()
    refused = signed_in(rival).delete(f"/api/v1/reservations/{place}/")
    assert (refused.status_code, refused.json()["code"]) == (409, "already_reserved")
    # Too late to leave: the page says what it is now.
    assert as_rival.post(f"/reservations/{place}/", {"leave": "1"}).headers["Location"] == f"/reservations/{place}/"
    intake.drain_once(item_id=item.pk)
    assert "/orders/" in as_rival.get(f"/reservations/{place}/").headers["Location"]
    # Nor is anything given up of an order that has ended.
    lifecycle.cancel(order_id=rival.orders.get().pk)
    late = signed_in(rival).delete(f"/api/v1/reservations/{place}/").json()
    assert (late["code"], late["order_status"]) == ("not_awaiting_payment", "cancelled")


def test_the_button_is_there_only_for_what_cannot_be_reserved(product: Product, as_rival: Client) -> None:
    item = make_item(product, waiting_list=True)
    for waiting_list in (True, False):
        Sale.objects.update(waiting_list=waiting_list)
        assert "Join the waiting list" not in as_rival.get(f"/sale-items/{item.pk}/reserve/").content.decode()
        # On the page of the sale, the script shows and hides the one that is there.
        assert ("data-line hidden" in as_rival.get(f"/sales/{item.sale_id}/").content.decode()) == waiting_list


def test_a_refusal_on_the_page_says_why(item: SaleItem, as_rival: Client, buyer: User) -> None:
    path = f"/sale-items/{item.pk}/reserve/"
    text = as_rival.get(path).context["pass_text"]
    lifecycle.cancel(order_id=buyer.orders.get().pk)
    back = as_rival.post(path, {"pass": text, "units": "1", "action": "join"}, follow=True)
    assert "You need not wait: reserve them now." in back.content.decode()
