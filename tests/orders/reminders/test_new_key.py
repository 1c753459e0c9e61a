"""After a new SECRET_KEY, rows and links still have marks of the former one; both are of the same address as before."""

from urllib.parse import urlsplit

import pytest
from django.test import Client
from pytest_django import Settings

from orders.models import Reminder
from orders.reminders.subscribing import stop_url
from seckill.models import SaleItem
from shop.models import Product
from tests.steps.guarding import replace_key
from tests.steps.shop import goods, make_item

pytestmark = pytest.mark.django_db


@pytest.fixture
def coming(product: Product) -> SaleItem:
    return make_item(product, opens_in_seconds=7200, closes_in_seconds=9000)


def ask(coming: SaleItem, email: str) -> None:
    Client().post(f"/reminders/sale/{coming.sale_id}/", {"email": email})


def ask_for_cup(email: str) -> Reminder:
    Client().post(f"/reminders/variant/{goods('cup', units=0).pk}/", {"email": email})
    return Reminder.objects.get(email=email, sale=None)


def stop_link(row: Reminder) -> str:
    return urlsplit(stop_url(row)).path


def test_a_link_of_the_former_key_stops_all_reminders_of_its_address(coming: SaleItem, settings: Settings) -> None:
    # Given two people whose addresses differ in a dot, and the link of one
    for address in ("a.b@example.com", "ab@example.com"):
        ask(coming, address)
    link = stop_link(Reminder.objects.get(email="a.b@example.com"))
    # When the key is replaced, and this person asks for the same mail and for another, and presses the link
    replace_key(settings)
    ask(coming, "a.b@example.com")
    assert Reminder.objects.count() == 2
    ask_for_cup("a.b@example.com")
    assert Client().post(link).status_code == 200
    # Then only the reminder of the other is left
    assert [row.email for row in Reminder.objects.all()] == ["ab@example.com"]


def test_a_link_of_the_new_key_stops_what_was_asked_for_before(coming: SaleItem, settings: Settings) -> None:
    ask(coming, "a.b@example.com")
    replace_key(settings)
    cup = ask_for_cup("a.b@example.com")
    link = stop_link(cup)
    # Its mail was sent.
    cup.delete()
    Client().post(link)
    assert not Reminder.objects.exists()
