"""Addresses, API tokens and sessions of a person. tests/shop/test_owner_checks.py tries those of others."""

import re
from functools import partial
from typing import Any
from unittest import mock

import pytest
from allauth.usersessions.models import UserSession
from django import forms
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.template import Template
from django.test import Client
from django.utils import translation
from pytest_django.asserts import assertHTMLEqual

from shop.accounts.address_book import ADDRESSES_MAX
from shop.accounts.address_form import PlaceSelect
from shop.accounts.browser_names import browser_name
from shop.accounts.tokens import new_token
from shop.addresses.countries import country_choices
from shop.models import Address, ApiToken
from tests.steps.accounts import enter_password_again, is_signed_in, sign_in
from tests.steps.at_once import at_once
from tests.steps.buying import ADDRESS
from tests.steps.staff import messages_on

pytestmark = pytest.mark.django_db


def add(client: Client, **changes: str) -> Any:
    return client.post("/accounts/addresses/new/", {**ADDRESS, **changes})


def saved(user: User, **changes: Any) -> Address:
    return Address.objects.create(user=user, **{**ADDRESS, **changes})


def test_an_address_is_added_changed_and_deleted(as_buyer: Client, buyer: User) -> None:
    assert add(as_buyer, line2="Flat 4", phone="+86 138 0013 8000")["Location"] == "/accounts/addresses/"
    address = Address.objects.get()
    assert (address.user, address.is_default, address.line2) == (buyer, True, "Flat 4")
    page = as_buyer.get("/accounts/addresses/").content.decode()
    assert "Tianshan Road 123" in page
    assert "China" in page
    assert "中国" in as_buyer.get("/zh-hans/accounts/addresses/").content.decode()
    as_buyer.post(f"/accounts/addresses/{address.pk}/", {**ADDRESS, "city": "Beijing"})
    address.refresh_from_db()
    assert (address.city, address.is_default) == ("Beijing", True)
    assert "Delete this address?" in as_buyer.get(f"/accounts/addresses/{address.pk}/delete/").content.decode()
    assert Address.objects.exists()
    as_buyer.post(f"/accounts/addresses/{address.pk}/delete/")
    assert not Address.objects.exists()
    assert as_buyer.post(f"/accounts/addresses/{address.pk}/delete/").status_code == 404


def test_missing_fields_are_named_where_they_stand(as_buyer: Client) -> None:
    page = as_buyer.post("/accounts/addresses/new/", {"phone": "call me"}).content.decode()
    for words in (
        "Please enter the name of the person who receives the parcel.",
        "Please enter street and house number.",
        "Please enter the city.",
        "Please choose a country.",
        "This does not look like a phone number. Write digits, for example +86 138 0013 8000.",
    ):
        assert words in page
    page = as_buyer.post("/accounts/addresses/new/", {"country": "CN"}).content.decode()
    assert "Please enter a mobile number. The courier calls it." in page
    assert "Please enter the postcode." not in page
    assert "Please enter the postcode." in as_buyer.post("/accounts/addresses/new/", {"country": "DE"}).content.decode()
    chinese = as_buyer.post("/zh-hans/accounts/addresses/new/", {"country": "XX"}).content.decode()
    assert "请选择国家或地区。" in chinese
    assert "请填写收货人姓名。" in chinese
    assert not Address.objects.exists()


def test_a_field_refers_to_its_help_and_to_its_error_for_screen_readers(as_buyer: Client) -> None:
    described = set()
    for path in ("/accounts/addresses/new/", "/accounts/email/", "/accounts/password/change/"):
        enter_password_again(as_buyer, "buyer-password")
        page = as_buyer.post(path, {"country": "CN", "action_add": ""}).content.decode()
        ids = set(re.findall(r'aria-describedby="([^"]+)"', page))
        assert ids, path
        for one in " ".join(ids).split():
            assert page.count(f' id="{one}"') == 1, (path, one)
            described.add(one)
    page = as_buyer.post("/accounts/2fa/totp/activate/", {"code": "000000"}).content.decode()
    assert re.search(r'<input[^>]* aria-describedby="id_code_error"', page)
    assert '<div class="errors" id="id_code_error" role="alert">' in page
    assert {"id_name_error", "id_email_error", "id_password1_helptext", "id_password1_error"} <= described


def test_one_address_is_the_default(as_buyer: Client, buyer: User) -> None:
    add(as_buyer, name="first")
    add(as_buyer, name="second", is_default="on")
    add(as_buyer, name="third")
    assert list(Address.objects.filter(is_default=True).values_list("name", flat=True)) == ["second"]
    second = Address.objects.get(name="second")
    as_buyer.post(f"/accounts/addresses/{second.pk}/delete/")
    assert list(Address.objects.filter(is_default=True).values_list("name", flat=True)) == ["third"]
    with pytest.raises(IntegrityError), transaction.atomic():
        Address.objects.filter(name="first").update(is_default=True)
    with pytest.raises(IntegrityError), transaction.atomic():
        saved(buyer, country="cn")


def test_there_are_at_most_twenty_addresses(as_buyer: Client, buyer: User) -> None:
    for number in range(ADDRESSES_MAX - 1):
        saved(buyer, name=f"name {number}")
    add(as_buyer, name="the last")
    page = as_buyer.get("/accounts/addresses/").content.decode()
    assert "Add an address" not in page
    answer = as_buyer.post("/accounts/addresses/new/", ADDRESS, follow=True)
    assert messages_on(answer) == ["You have 20 addresses already. Delete one before you add another."]
    assert Address.objects.count() == ADDRESSES_MAX


@pytest.mark.django_db(transaction=True)
def test_forms_that_are_sent_at_once_make_one_default_and_no_more_than_twenty(buyer: User) -> None:
    for number in range(ADDRESSES_MAX - 2):
        saved(buyer, name=f"name {number}")
    browsers = [Client() for _ in range(8)]
    for browser in browsers:
        browser.force_login(buyer)
    answers = at_once([partial(add, browser, is_default="on") for browser in browsers])
    assert {answer.status_code for answer in answers} == {302}
    assert Address.objects.count() == ADDRESSES_MAX
    assert Address.objects.filter(is_default=True).count() == 1


def test_countries_have_names_and_no_groups_among_them() -> None:
    for language, china in (("en", "China"), ("zh-hans", "中国")):
        with translation.override(language):
            names = dict(country_choices())
        assert names["CN"] == china
        assert {"DE", "HK", "US"} <= names.keys()
        assert not {"EU", "UN", "ZZ", "001"} & names.keys()
        assert len(names) > 240


def test_the_list_of_countries_is_the_one_that_django_writes_without_a_template_for_each() -> None:
    choices = [("", 'Choose "<one>"'), ("CN", "China"), ("CI", "Côte d’Ivoire & more")]
    for value in ("CN", "", "XX", None):
        of_django, ours = (kind(choices=choices) for kind in (forms.Select, PlaceSelect))
        written = of_django.render("country", value, {"required": True, "id": "id_country"})
        with mock.patch.object(Template, "render", side_effect=AssertionError):
            assertHTMLEqual(ours.render("country", value, {"required": True, "id": "id_country"}), written)


def test_a_token_is_shown_once_and_opens_the_api(as_buyer: Client) -> None:
    # The password is asked for where it was not just entered.
    asked = as_buyer.post("/accounts/tokens/new/")
    assert asked["Location"].startswith("/accounts/reauthenticate/")
    assert not ApiToken.objects.exists()
    page = as_buyer.post(asked["Location"], {"password": "buyer-password"}).content.decode()
    (token,) = [part.split("<")[0] for part in page.split('<code class="secret">')[1:]]
    me = Client().get("/api/v1/me/", headers={"Authorization": f"Bearer {token}"})
    assert me.json()["name"] == "buyer"
    page = as_buyer.get("/accounts/tokens/").content.decode()
    assert token not in page
    row = ApiToken.objects.get()
    assert f"{row.token_key}…" in page
    as_buyer.post("/accounts/tokens/revoke/", {"digest": row.digest})
    assert Client().get("/api/v1/me/", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert "You have no tokens." in as_buyer.get("/accounts/tokens/").content.decode()


def test_addresses_and_tokens_of_somebody_else_are_not_there(client: Client, buyer: User, stranger: User) -> None:
    address = saved(buyer, is_default=True)
    row, _token = new_token(buyer)
    client.force_login(stranger)
    for page in ("", "delete/"):
        assert client.get(f"/accounts/addresses/{address.pk}/{page}").status_code == 404, page
    for sent in ({"digest": row.digest}, {}, {"digest": "\0"}):
        assert client.post("/accounts/tokens/revoke/", sent).status_code == 404, sent
    assert ApiToken.objects.get() == row
    assert row.token_key not in client.get("/accounts/tokens/").content.decode()
    assert "Tianshan" not in client.get("/accounts/addresses/").content.decode()


def test_a_session_is_ended_from_another_browser(client: Client, buyer: User) -> None:
    phone = Client(headers={"User-Agent": "Mozilla/5.0 (Linux; Android 15) Chrome/130.0 Mobile Safari/537.36"})
    tablet = Client(headers={"User-Agent": "Tablet/1.0"})
    for browser in (client, phone, tablet):
        sign_in(browser, login="buyer", password="buyer-password")
    page = client.get("/accounts/sessions/").content.decode()
    assert "Chrome on Android" in page
    assert "Mozilla" not in page
    assert page.count("This browser") == 1
    session = UserSession.objects.get(user_agent__contains="Android")
    client.post(f"/accounts/sessions/{session.pk}/end/")
    assert [is_signed_in(browser) for browser in (client, phone, tablet)] == [True, False, True]
    client.post("/accounts/sessions/")
    assert [is_signed_in(browser) for browser in (client, phone, tablet)] == [True, False, False]


WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
BROWSERS = {
    f"Mozilla/5.0 (Windows NT 10.0) {WEBKIT} Chrome/130.0 Safari/537.36 Edg/130.0": "Edge on Windows",
    f"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) {WEBKIT} Version/18.0 Safari/604.1": "Safari on iPhone",
    "Mozilla/5.0 (Linux; Android 15) MicroMessenger/8.0 Chrome/130.0": "WeChat on Android",
    "curl/8.0": "Unknown browser",
    "": "Unknown browser",
}


def test_a_browser_has_a_name_and_no_programmers_text() -> None:
    assert {user_agent: browser_name(user_agent) for user_agent in BROWSERS} == BROWSERS
    with translation.override("zh-hans"):
        assert browser_name(next(iter(BROWSERS))) == "Windows 上的 Edge"


PAGES = ("", "addresses/", "addresses/new/", "email/", "password/change/", "2fa/", "sessions/", "tokens/", "data/")


def test_a_page_of_the_account_is_kept_by_no_cache_and_is_chinese_throughout(as_buyer: Client) -> None:
    for path in PAGES:
        answer = as_buyer.get(f"/zh-hans/accounts/{path}")
        assert "no-store" in answer.get("Cache-Control", "no-store"), path
        page = answer.content.decode()
        assert 'aria-label="我的账号"' in page, path
        main = page.split("<main")[1].split("</main>")[0]
        for words in ("Password", "Address", "Session", "Save", "Change", "Delete", "你"):
            assert words not in main.replace("API", ""), path
