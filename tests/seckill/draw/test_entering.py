"""Entering a draw: once for an account and item, until the entries close, and nobody gets a pass."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from seckill.draw import carrying_out, draw_pages
from seckill.draw.drawing import entries_sha256
from seckill.draw.entering import EntryWord
from seckill.draw.entering import enter as enter_draw
from seckill.models import Draw, DrawEntry, Sale, SaleItem
from seckill.publication import CannotPublish
from shop.models import Product
from tests.shop.http.schema_client import DOCUMENT, promised_headers
from tests.steps.at_once import at_once
from tests.steps.buying import new_buyers, signed_in
from tests.steps.drawing import drawn, enter, entry_of, make_draw, opening_passes
from tests.steps.guarding import guarded_by
from tests.steps.shop import text_of

pytestmark = pytest.mark.django_db


def own_entry(item: SaleItem, user: User) -> tuple[int, dict[str, object]]:
    answer = signed_in(user).get(f"/api/v1/sale-items/{item.pk}/entries/")
    return answer.status_code, answer.json()


def test_an_account_enters_once_and_a_repeated_call_hears_the_same(item: SaleItem, buyer: User, stranger: User) -> None:
    refused = enter(item, buyer, units=3)
    assert (refused.status_code, refused.json()["code"], refused.json()["per_buyer_max"]) == (409, "limit_reached", 2)
    first, again = enter(item, buyer, units=2), enter(item, buyer, units=1)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert first.json() | {"entry": ""} == {
        "entry": "",
        "item": item.pk,
        "units": 2,
        "status": "entered",
        "place": None,
        "status_url": None,
    }
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" in promised_headers("enter_draw", 201)
    assert own_entry(item, buyer) == (200, first.json())
    assert own_entry(item, stranger)[0] == 404


@pytest.mark.django_db(transaction=True)
def test_of_calls_at_once_one_enters(product: Product, buyer: User) -> None:
    item = make_draw(product)
    answers = at_once([lambda: enter_draw(item=item, buyer_id=buyer.pk, units=1)] * 8)
    assert sorted(answer.word for answer in answers) == [EntryWord.ALREADY_ENTERED] * 7 + [EntryWord.ENTERED]
    assert DrawEntry.objects.count() == 1


def test_an_entry_is_withdrawn_and_made_anew_until_the_entries_close(item: SaleItem, buyer: User) -> None:
    before = enter(item, buyer).json()["entry"]
    path = f"/api/v1/sale-items/{item.pk}/entries/"
    assert signed_in(buyer).delete(path).status_code == 204
    assert signed_in(buyer).get(path).status_code == 404
    assert enter(item, buyer).json()["entry"] != before
    opening_passes(item)
    refused = signed_in(buyer).delete(path)
    assert (refused.status_code, refused.json()["code"]) == (410, "entries_closed")


def test_entries_end_at_the_opening_whether_or_not_the_sweep_has_come(item: SaleItem, buyer: User, rival: User) -> None:
    enter(item, buyer)
    opening_passes(item)
    refused = enter(item, rival)
    assert (refused.status_code, refused.json()["code"]) == (410, "entries_closed")
    # The answer that was lost is told again.
    assert enter(item, buyer).status_code == 201
    assert DrawEntry.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_no_entry_comes_behind_the_hash(item: SaleItem) -> None:
    """Entries and the close at once: each entry that was told yes is in the hash."""

    def call_of(buyer: User) -> Callable[[], object]:
        return lambda: enter_draw(item=item, buyer_id=buyer.pk, units=1).word

    calls = [call_of(buyer) for buyer in new_buyers(12)]
    answers = at_once([*calls, lambda: carrying_out.close_entries(sale_id=item.sale_id)])
    yes = answers.count(EntryWord.ENTERED)
    assert yes == DrawEntry.objects.count()
    draw = Draw.objects.get()
    assert draw.entries_sha256 == entries_sha256(carrying_out.entries_of(item.sale_id))


@pytest.mark.parametrize("asked", ["passes", "challenges"])
def test_a_draw_gives_neither_pass_nor_challenge_before_or_after_the_opening(
    item: SaleItem, buyer: User, asked: str
) -> None:
    guarded_by(item, proof_of_work=True)
    for _moment in range(2):
        refused = signed_in(buyer).post(f"/api/v1/sale-items/{item.pk}/{asked}/")
        assert (refused.status_code, refused.json()["code"]) == (409, "drawn")
        drawn(item)
    call = DOCUMENT["paths"][f"/api/v1/sale-items/{{item_id}}/{asked}/"]["post"]
    assert "[`drawn`]" in call["responses"]["409"]["description"]


def test_the_page_without_scripts_leads_to_the_draw_and_not_to_a_pass(
    item: SaleItem, as_buyer: Client, buyer: User
) -> None:
    assert as_buyer.get(f"/sale-items/{item.pk}/reserve/").headers["Location"] == f"/sales/{item.sale_id}/enter/"
    drawn(item)
    assert as_buyer.post(f"/sale-items/{item.pk}/reserve/", {"units": "1"}).status_code == 302
    assert DrawEntry.objects.count() == 0


def test_an_ordinary_sale_has_no_draw(item: SaleItem, buyer: User) -> None:
    Sale.objects.update(admission=Sale.Admission.FIRST_COME)
    withdrawn = signed_in(buyer).delete(f"/api/v1/sale-items/{item.pk}/entries/")
    for refused in (enter(item, buyer), withdrawn):
        assert (refused.status_code, refused.json()["code"]) == (409, "no_draw")


def test_a_draw_without_time_to_enter_is_not_published(product: Product) -> None:
    with pytest.raises(CannotPublish, match="until the opening"):
        make_draw(product, opens_in_seconds=-1)


def test_the_pages_lead_from_the_sale_to_the_entry_and_to_the_result(
    item: SaleItem, client: Client, buyer: User
) -> None:
    sale = f"/sales/{item.sale_id}/"
    assert APIClient().post(f"/api/v1/sale-items/{item.pk}/entries/").status_code == 401
    assert "/accounts/login/" in client.get(f"{sale}enter/").headers["Location"]
    client.force_login(buyer)
    page = text_of(client, sale)
    assert "Enter the draw" in page
    assert "data-item=" not in page
    assert f'href="{sale}draw/"' in page
    assert "Enter the draw" in text_of(client, f"{sale}enter/")
    for nonsense in ({}, {"item": "x"}, {"item": "0"}):
        assert client.post(f"{sale}enter/", nonsense).status_code == 404
    client.post(f"{sale}enter/", {"item": item.pk, "units": "2"})
    assert "You are in the draw" in text_of(client, f"{sale}enter/")
    assert entry_of(item, buyer).units == 2
    client.post(f"{sale}enter/", {"item": item.pk, "withdraw": "1"})
    assert not DrawEntry.objects.exists()
    client.post(f"{sale}enter/", {"item": item.pk})
    drawn(item)
    result = text_of(client, f"{sale}enter/")
    assert "You have won" in result
    assert "To my order" in result
    assert "您已中签" in text_of(client, f"/zh-hans{sale}enter/")


def test_too_many_changes_of_an_entry_are_told_to_wait(
    item: SaleItem, as_buyer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draw_pages, "ENTER_LIMIT", "1/minute")
    page = f"/sales/{item.sale_id}/enter/"
    assert [as_buyer.post(page, {"item": item.pk}).status_code for _ in range(2)] == [302, 429]


def test_the_page_of_an_entry_renews_itself_when_the_entries_have_closed(item: SaleItem, as_buyer: Client) -> None:
    page = f"/sales/{item.sale_id}/enter/"
    assert "Refresh" not in as_buyer.get(page), "somebody may be choosing units"
    as_buyer.post(page, {"item": item.pk})
    until_opening = (item.sale.opens_at - timezone.now()).total_seconds()
    waits = {int(as_buyer.get(page)["Refresh"]) for _ in range(5)}
    assert all(until_opening <= seconds <= until_opening + 31 for seconds in waits)
    assert len(waits) > 1
    opening_passes(item)
    assert as_buyer.get(page)["Refresh"] == "30"
