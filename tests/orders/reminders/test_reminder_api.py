"""Reminders by the API: the same rules as on the pages."""

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from orders.models import Reminder
from orders.reminders import subscribing
from seckill.models import SaleItem
from shop.models import AccountMail, Product, Variant
from tests.steps.buying import signed_in
from tests.steps.drawing import make_draw
from tests.steps.guarding import confirmed
from tests.steps.shop import goods, make_item

pytestmark = pytest.mark.django_db

URL = "/api/v1/reminders/"


@pytest.fixture
def coming(product: Product) -> SaleItem:
    return make_item(product, opens_in_seconds=7200, closes_in_seconds=9000)


def test_an_account_with_a_confirmed_address_waits_at_once(coming: SaleItem, buyer: User) -> None:
    api = signed_in(confirmed(buyer))
    for _ in range(2):
        answer = api.post(URL, {"sale": coming.sale_id})
        assert (answer.status_code, answer.json()["status"]) == (202, "waiting")
    row = Reminder.objects.get()
    assert (row.email, row.user, row.confirmed_at is None) == ("buyer@example.com", buyer, False)
    assert not AccountMail.objects.exists()


def test_an_account_that_waits_for_as_many_mails_as_one_may_is_refused(
    coming: SaleItem, buyer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscribing, "REMINDERS_MAX", 1)
    api = signed_in(confirmed(buyer))
    assert api.post(URL, {"sku": goods("pot", units=0).sku}).status_code == 202
    refused = api.post(URL, {"sale": coming.sale_id})
    assert (refused.status_code, refused.json()["code"]) == (409, "too_many_reminders")


def test_any_other_address_is_asked_first(item: SaleItem, buyer: User) -> None:
    for number, api in enumerate((APIClient(), signed_in(confirmed(buyer)))):
        answer = api.post(URL, {"item": item.pk, "email": f"li{number}@example.com"})
        assert answer.json()["status"] == "to_confirm"
    assert AccountMail.objects.count() == 2
    assert not Reminder.objects.exclude(confirmed_at=None).exists()


def test_a_reminder_of_something_that_is_there_or_does_not_exist_is_404(coming: SaleItem, item: SaleItem) -> None:
    there, gone = goods("cup", units=1), goods("pot", units=0)
    codes = [
        APIClient().post(URL, {**about, "email": "li@example.com"}).status_code
        for about in ({"sku": there.sku}, {"sku": "none"}, {"sale": item.sale_id}, {"sale": 2**62}, {"sku": gone.sku})
    ]
    assert codes == [404, 404, 404, 404, 202]


def test_nobody_is_reminded_of_what_comes_back_in_a_draw(product: Product) -> None:
    item = make_draw(product)
    codes = [
        APIClient().post(URL, {**about, "email": "li@example.com"}).status_code
        for about in ({"item": item.pk}, {"sale": item.sale_id})
    ]
    assert codes == [404, 202]


def test_a_call_about_nothing_or_two_things_or_without_an_address_is_refused(coming: SaleItem, buyer: User) -> None:
    for body in ({"email": "li@example.com"}, {"sale": 1, "item": 1, "email": "li@example.com"}):
        assert APIClient().post(URL, body).json()["errors"][0]["field"] == "sale"
    assert signed_in(buyer).post(URL, {"sale": coming.sale_id}).json()["errors"][0]["field"] == "email"
    for query in ("", "?sale=1&item=1", "?sale=x", "?sale=1&sale=2", "?mail=1"):
        assert signed_in(buyer).delete(f"{URL}{query}").status_code == 400, query
    # A guest deletes nothing.
    assert APIClient().delete(f"{URL}?item=1").status_code == 401


def test_an_account_wants_a_mail_no_more_and_others_keep_theirs(coming: SaleItem, buyer: User, rival: User) -> None:
    pot = goods("pot", units=0)
    mine, theirs = signed_in(confirmed(buyer)), signed_in(confirmed(rival))
    for api in (mine, theirs):
        api.post(URL, {"sale": coming.sale_id})
    mine.post(URL, {"sku": pot.sku})
    for _ in range(2):
        assert mine.delete(f"{URL}?sale={coming.sale_id}").status_code == 204
    assert [(row.user, row.sale_id) for row in Reminder.objects.order_by("pk")] == [
        (rival, coming.sale_id),
        (buyer, None),
    ]
    # Also when it is back, or sold no more.
    Variant.objects.filter(pk=pot.pk).update(is_active=False)
    assert mine.delete(f"{URL}?sku={pot.sku}").status_code == 204
    assert mine.delete(f"{URL}?sku=none").status_code == 204
    assert Reminder.objects.get().user == rival


def test_a_guests_reminder_is_deleted_by_its_confirmed_address_alone(item: SaleItem, buyer: User, rival: User) -> None:
    for address in ("buyer@example.com", "rival@example.com"):
        APIClient().post(URL, {"item": item.pk, "email": address})
    # Her address is not confirmed, so anybody could have given it.
    User.objects.filter(pk=rival.pk).update(email="rival@example.com")
    assert signed_in(rival).delete(f"{URL}?item={item.pk}").status_code == 204
    assert Reminder.objects.count() == 2
    assert signed_in(confirmed(buyer)).delete(f"{URL}?item={item.pk}").status_code == 204
    assert Reminder.objects.get().email == "rival@example.com"
