"""The rules of a sale count for entries in its draw, by API and on the page, and refusals are counted by rule."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from orders.report.sale_report import report_of
from seckill.live.answer_counts import answer_counts
from seckill.models import DrawEntry, Sale, SaleItem
from shop.models import Product
from tests.shop.http.schema_client import promised_headers
from tests.steps.buying import new_buyers
from tests.steps.drawing import enter, make_draw
from tests.steps.guarding import confirmed, guarded_by

pytestmark = pytest.mark.django_db


@pytest.fixture
def drawn_item(product: Product) -> SaleItem:
    return make_draw(product, quantity=3)


def told(item: SaleItem, user: User) -> str:
    answer = enter(item, user, units=1)
    return "entered" if answer.status_code == 201 else str(answer.json()["code"])


def test_entries_are_refused_by_mail_age_and_network(drawn_item: SaleItem, buyer: User, rival: User) -> None:
    # A proof is asked for by no draw.
    guarded_by(drawn_item, needs_confirmed_mail=True, proof_of_work=True)
    assert told(drawn_item, buyer) == "mail_not_confirmed"
    assert told(drawn_item, confirmed(buyer)) == "entered"
    guarded_by(drawn_item, needs_confirmed_mail=False, account_age_hours=24)
    answer = enter(drawn_item, rival, units=1)
    assert (answer.status_code, answer.json()["code"]) == (403, "account_too_new")
    # The entries close at the opening, so waiting is no advice.
    assert "Retry-After" not in answer
    assert "reserve" not in answer.json()["detail"]
    guarded_by(drawn_item, account_age_hours=None, accounts_per_network=2)
    assert [told(drawn_item, one) for one in new_buyers(4)] == ["entered"] * 2 + ["too_many_accounts"] * 2
    assert DrawEntry.objects.count() == 3
    answer_counts.write(second=int(timezone.now().timestamp()))
    refused = report_of(Sale.objects.get(pk=drawn_item.sale_id)).refused
    assert refused == {"mail_not_confirmed": 1, "account_too_new": 1, "too_many_accounts": 2}


def test_an_account_that_is_old_enough_before_the_opening_is_told_when(drawn_item: SaleItem, rival: User) -> None:
    guarded_by(drawn_item, account_age_hours=24)
    User.objects.filter(pk=rival.pk).update(date_joined=timezone.now() - timedelta(hours=24, seconds=-60))
    answer = enter(drawn_item, rival, units=1)
    assert (answer.status_code, answer.json()["code"]) == (403, "account_too_new")
    assert 50 < int(answer["Retry-After"]) <= 60
    assert "Retry-After" in promised_headers("enter_draw", 403)
    assert "In 1 minute you can take part." in answer.json()["detail"]


def test_an_entry_that_changes_nothing_uses_up_no_place_of_its_network(
    drawn_item: SaleItem, buyer: User, rival: User, stranger: User, client: Client
) -> None:
    assert told(drawn_item, buyer) == "entered"
    guarded_by(drawn_item, accounts_per_network=1)
    # A second call of one who has an entry, one for too many units, and a form without a number
    assert told(drawn_item, buyer) == "entered"
    assert enter(drawn_item, rival, units=drawn_item.per_buyer_max + 1).json()["code"] == "limit_reached"
    client.force_login(stranger)
    path = f"/sales/{drawn_item.sale_id}/enter/"
    page = client.post(path, {"item": drawn_item.pk, "units": "x"}, follow=True).content.decode()
    assert "Choose how many units you want." in page
    assert told(drawn_item, rival) == "entered"
    assert told(drawn_item, stranger) == "too_many_accounts"


def test_the_page_says_why_and_withdrawing_asks_no_rule(drawn_item: SaleItem, as_buyer: Client, buyer: User) -> None:
    path = f"/sales/{drawn_item.sale_id}/enter/"
    assert as_buyer.post(path, {"item": drawn_item.pk, "units": "1"}).status_code == 302
    guarded_by(drawn_item, needs_confirmed_mail=True)
    page = as_buyer.post(path, {"item": drawn_item.pk, "withdraw": "1"}, follow=True).content.decode()
    assert "Your entry is withdrawn" in page
    page = as_buyer.post(path, {"item": drawn_item.pk, "units": "1"}, follow=True).content.decode()
    assert "Only accounts with a confirmed address" in page
    assert not DrawEntry.objects.exists()
