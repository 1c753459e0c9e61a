"""Staff sign in where buyers do; whoever has a second factor needs it."""

import re

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from django.contrib.auth.models import User
from django.test import Client

from shop.languages.page_language import path_in
from tests.steps.accounts import enter_password, turn_on

pytestmark = pytest.mark.django_db


def test_the_admin_has_no_sign_in_of_its_own(shop_manager: User, client: Client) -> None:
    answer = client.post("/admin/login/?next=/admin/shop/", {"username": "manager", "password": "manager-password"})
    assert answer["Location"] == "/accounts/login/?next=%2Fadmin%2Fshop%2F"
    assert "_auth_user_id" not in client.session


def test_a_manager_signs_in_and_a_buyer_is_told_no(shop_manager: User, buyer: User, client: Client) -> None:
    assert enter_password(client, password="wrong") == ""
    assert enter_password(client) == "/admin/"
    assert client.get("/admin/").status_code == 200
    client.force_login(buyer)
    assert client.get("/admin/", follow=True).status_code == 403


def test_the_admin_s_password_page_is_the_shop_s(as_manager: Client) -> None:
    assert as_manager.post("/admin/password_change/", {"old_password": "x"})["Location"] == "/accounts/password/change/"
    page = as_manager.get("/admin/").content.decode()
    assert 'href="/accounts/2fa/"' in page
    assert 'href="/accounts/password/change/"' in page


def test_with_a_second_factor_the_password_is_not_enough(shop_manager: User, client: Client) -> None:
    enter_password(client)
    _secret, codes = turn_on(client)
    other = Client()
    assert enter_password(other) == "/accounts/2fa/authenticate/"
    assert other.get("/admin/").status_code == 302
    assert other.post("/accounts/2fa/authenticate/", {"code": "00000000"}).status_code == 200
    assert other.get("/admin/").status_code == 302
    assert other.post("/accounts/2fa/authenticate/", {"code": codes[0]})["Location"] == "/admin/"
    assert other.get("/admin/").status_code == 200
    again = Client()
    enter_password(again)
    assert again.post("/accounts/2fa/authenticate/", {"code": codes[0]}).status_code == 200  # good for once
    assert again.get("/admin/").status_code == 302


def test_a_code_of_the_app_signs_in(shop_manager: User, client: Client) -> None:
    enter_password(client)
    secret, _codes = turn_on(client)
    other = Client()
    enter_password(other)
    *_, latest = yield_hotp_counters_from_time()
    code = format_hotp_value(hotp_value(secret, latest))
    assert other.post("/accounts/2fa/authenticate/", {"code": code})["Location"] == "/admin/"


def test_it_is_turned_off_again(shop_manager: User, client: Client) -> None:
    enter_password(client)
    turn_on(client)
    assert client.get("/accounts/2fa/recovery-codes/download/").status_code == 200
    client.post("/accounts/2fa/totp/deactivate/")
    assert not Authenticator.objects.exists()
    assert enter_password(Client()) == "/admin/"


@pytest.mark.parametrize(("language", "title"), [("en", "Two-step sign-in"), ("zh-hans", "两步验证")])
def test_the_pages_have_the_frame_and_the_language_of_the_shop(
    shop_manager: User, client: Client, language: str, title: str
) -> None:
    enter_password(client)
    assert title in client.get(path_in(language, "/accounts/2fa/")).content.decode()
    turn_on(client)
    for path in ("", "totp/deactivate/", "recovery-codes/", "recovery-codes/generate/", "reauthenticate/"):
        page = client.get(path_in(language, f"/accounts/2fa/{path}"))
        assert page.status_code == 200, path
        text = page.content.decode()
        assert 'class="brand"' in text
        assert re.search(r"[一-鿿]", re.sub(r"中文", "", text)) is not None or language == "en"
        assert "<script>" not in text  # the content policy allows no inline script
    other = Client()
    enter_password(other)
    assert title in other.get(path_in(language, "/accounts/2fa/authenticate/")).content.decode()
