"""`GET /api/v1/me/`: what is personal on public pages, and for nobody else."""

from datetime import timedelta
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from orders.models import Order, OrderStatus
from seckill.items import holdings
from seckill.models import SaleItem
from seckill.store.client import StoreUnreachable
from shop.accounts.sign_in_hint import COOKIE, hint_of
from shop.models import BuyerLanguage, Product
from tests.steps.buying import order_of, reserve
from tests.steps.shop import make_item

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_buyer_sees_name_language_and_what_is_to_be_paid(
    as_buyer: Client, product: Product, buyer: User, rival: User
) -> None:
    item = make_item(product, quantity=9, per_buyer_max=4)
    order, later, paid, overdue = (order_of(item, buyer) for _ in range(4))
    order_of(item, rival)
    now = timezone.now()
    Order.objects.filter(pk=later.pk).update(expires_at=order.expires_at + timedelta(minutes=1))
    Order.objects.filter(pk=paid.pk).update(status=OrderStatus.PAID, ended_at=now)
    Order.objects.filter(pk=overdue.pk).update(expires_at=now - timedelta(seconds=1))
    BuyerLanguage.objects.create(user=buyer, language="zh-hans")
    answer = as_buyer.get("/api/v1/me/")
    assert answer["Cache-Control"] == "no-store"
    body = answer.json()
    assert (body["name"], body["language"]) == ("buyer", "zh-hans")
    assert [hold["order"] for hold in body["holds"]] == [str(order.number), str(later.number)]
    assert body["holds"][0]["item"] == item.pk
    assert body["holds"][0]["units"] == sum(line.units for line in order.lines.all())
    assert "items" not in body
    assert body["cart_units"] == 0


def test_the_buyers_units_of_a_sale_are_said_on_request(
    as_buyer: Client, product: Product, buyer: User, rival: User
) -> None:
    item = make_item(product, quantity=9, per_buyer_max=3)
    for user, units in ((buyer, 2), (rival, 1)):
        reserve(item, user, units)
    assert as_buyer.get(f"/api/v1/me/?sale={item.sale_id}").json()["items"] == [{"id": item.pk, "units": 2}]
    assert as_buyer.get("/api/v1/me/?sale=999999").json()["items"] == []
    for nonsense in ("", "x", "-1", "²", "9" * 30):
        assert "items" not in as_buyer.get("/api/v1/me/", {"sale": nonsense}).json()
    # While the store does not answer, the rest is said.
    with mock.patch.object(holdings, "units_of_buyer", side_effect=StoreUnreachable):
        body = as_buyer.get(f"/api/v1/me/?sale={item.sale_id}").json()
    assert (body["name"], "items" in body) == ("buyer", False)


def test_it_brings_the_token_for_the_calls_of_a_page(item: SaleItem, buyer: User) -> None:
    # Given a browser that is signed in and has seen public pages only
    client = Client(enforce_csrf_checks=True)
    client.force_login(buyer)
    passes_url = f"/api/v1/sale-items/{item.pk}/passes/"
    assert client.post(passes_url, content_type="application/json").status_code == 403
    client.get("/api/v1/me/")
    token = client.cookies["csrftoken"].value
    answer = client.post(passes_url, content_type="application/json", headers={"x-csrftoken": token})
    assert answer.status_code == 201


def test_the_hint_comes_and_goes_with_the_session(client: Client, buyer: User) -> None:
    client.get("/accounts/login/")
    assert COOKIE not in client.cookies
    client.post("/accounts/login/", {"login": "buyer", "password": "wrong"})
    assert COOKIE not in client.cookies
    client.post("/accounts/login/", {"login": "buyer", "password": "buyer-password"})
    hint, session = client.cookies[COOKIE], client.cookies["sessionid"]
    assert hint.value == hint_of(str(buyer.pk))
    assert not hint["httponly"]
    assert session["httponly"]
    assert hint["max-age"] == session["max-age"]
    client.post("/accounts/logout/")
    assert client.cookies[COOKIE].value == ""


def test_a_session_without_a_hint_gets_one_and_a_hint_without_a_session_is_taken_back(
    client: Client, buyer: User
) -> None:
    client.force_login(buyer)
    client.get("/orders/")
    assert client.cookies[COOKIE].value == hint_of(str(buyer.pk))
    assert COOKIE not in client.get("/orders/").cookies
    # The session may have ended on the server, by a new password or by time.
    client.cookies[COOKIE] = hint_of(str(buyer.pk))
    client.cookies["sessionid"] = "a" * 32
    answer = client.get("/api/v1/me/")
    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
    assert client.cookies[COOKIE].value == ""


def test_a_program_with_a_token_gets_no_cookies(api: APIClient, buyer: User) -> None:
    token = api.post("/api/v1/auth/token/", {"username": "buyer", "password": "buyer-password"}).json()["token"]
    assert APIClient().get("/api/v1/me/").status_code == 401
    answer = APIClient().get("/api/v1/me/", HTTP_AUTHORIZATION=f"Bearer {token}")
    assert answer.status_code == 200
    assert not answer.cookies


def test_it_takes_one_query_for_each_part(
    buyer: User, order: Order, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """The caller, their language, their open orders, their cart."""
    browser = Client()
    browser.force_login(buyer)
    with django_assert_num_queries(5):
        assert len(browser.get("/api/v1/me/").json()["holds"]) == 1
