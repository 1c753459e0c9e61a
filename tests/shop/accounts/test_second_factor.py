"""Staff sign in where buyers do; a second factor is asked of those who have one."""

import re

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings
from structlog.testing import capture_logs

from tests.steps.accounts import age_used_codes, enter_password, latest_code_of, turn_on
from tests.steps.shop import text_of

pytestmark = pytest.mark.django_db

SECRET = "JBSWY3DPEHPK3PXP"


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
    assert "You have 10 recovery codes left." in text_of(client, "/accounts/2fa/")
    other = Client()
    assert enter_password(other) == "/accounts/2fa/authenticate/"
    assert other.get("/admin/").status_code == 302
    with capture_logs() as lines:
        assert other.post("/accounts/2fa/authenticate/", {"code": "00000000"}).status_code == 200
        client.post("/accounts/2fa/reauthenticate/", {"code": "00000000"})
    assert other.get("/admin/").status_code == 302
    assert other.post("/accounts/2fa/authenticate/", {"code": codes[0]})["Location"] == "/admin/"
    assert other.get("/admin/").status_code == 200
    assert "You have 9 recovery codes left." in text_of(client, "/accounts/2fa/")
    again = Client()
    enter_password(again)
    assert again.post("/accounts/2fa/authenticate/", {"code": codes[0]}).status_code == 200  # good for once
    assert again.get("/admin/").status_code == 302
    # The log has the refused codes, and not what was typed.
    found = [line for line in lines if line["event"] == "second_factor_failed"]
    assert [line["path"] for line in found] == ["/accounts/2fa/authenticate/", "/accounts/2fa/reauthenticate/"]
    assert {line["user"] for line in found} == {shop_manager.pk}
    assert "00000000" not in str(found)


@pytest.mark.parametrize("used_at", ["authenticate", "reauthenticate"])
def test_a_code_of_the_app_signs_in_and_is_then_refused_for_as_long_as_it_is_valid(
    used_at: str, shop_manager: User, client: Client
) -> None:
    TOTP.activate(shop_manager, SECRET)
    client.force_login(shop_manager)
    other, code = Client(), {"code": latest_code_of(SECRET)}
    enter_password(other)
    user, leads_to = {"authenticate": (other, "/admin/"), "reauthenticate": (client, "/")}[used_at]
    assert user.post(f"/accounts/2fa/{used_at}/", code)["Location"] == leads_to
    again = Client()
    enter_password(again)
    for more_seconds in (31, 50):
        age_used_codes(seconds=more_seconds)
        assert again.post("/accounts/2fa/authenticate/", code).status_code == 200, more_seconds
        assert client.post("/accounts/2fa/reauthenticate/", code).status_code == 200, more_seconds


def test_the_code_that_turned_the_second_factor_on_is_used_up(shop_manager: User, client: Client) -> None:
    enter_password(client)
    secret, _codes = turn_on(client, code=latest_code_of)
    other, code = Client(), {"code": latest_code_of(secret)}
    enter_password(other)
    for more_seconds in (0, 31, 50):
        age_used_codes(seconds=more_seconds)
        assert other.post("/accounts/2fa/authenticate/", code).status_code == 200, more_seconds


def test_the_pages_have_the_frame_and_the_language_of_the_shop(shop_manager: User, client: Client) -> None:
    enter_password(client)
    assert "两步验证" in client.get("/zh-hans/accounts/2fa/").content.decode()
    turn_on(client)
    for path in ("", "totp/deactivate/", "recovery-codes/", "recovery-codes/generate/", "reauthenticate/"):
        text = text_of(client, f"/zh-hans/accounts/2fa/{path}")
        assert 'class="brand"' in text, path
        assert re.search(r"[一-鿿]", text.replace("中文", "")), path
        assert "<script>" not in text, path  # the content policy allows no inline script
    other = Client()
    enter_password(other)
    assert "两步验证" in text_of(other, "/zh-hans/accounts/2fa/authenticate/")


def test_staff_without_a_second_factor_are_led_to_make_one_and_can_leave(
    shop_manager: User, buyer: User, client: Client, settings: Settings
) -> None:
    settings.STAFF_SECOND_FACTOR = True
    assert client.get("/admin/")["Location"].startswith("/admin/login/")
    client.force_login(buyer)
    assert client.get("/orders/").status_code == 200
    client.logout()
    enter_password(client)
    assert client.get("/orders/").status_code == 200
    for path in ("/admin/", "/admin/auth/user/", "/admin/orders/order/"):
        assert client.get(path)["Location"] == "/accounts/2fa/totp/activate/"
    assert client.post("/admin/auth/user/add/", {"username": "x"})["Location"] == "/accounts/2fa/totp/activate/"
    assert "Staff sign in in two steps" in client.get("/accounts/2fa/totp/activate/", follow=True).content.decode()
    turn_on(client)
    assert client.get("/admin/").status_code == 200
    Authenticator.objects.all().delete()
    assert client.post("/admin/logout/").status_code == 200


def test_changes_of_rights_are_in_the_log(as_manager: Client, shop_manager: User, buyer: User) -> None:
    path = f"/admin/auth/user/{buyer.pk}/change/"
    form = {
        "username": "buyer",
        "email": "",
        "is_active": "on",
        "date_joined_0": "2026-11-01",
        "date_joined_1": "10:00",
    }
    with capture_logs() as lines:
        assert as_manager.post(path, form).status_code == 302
        assert as_manager.post(path, {**form, "is_staff": "on", "is_superuser": "on"}).status_code == 302
    [line] = [line for line in lines if line["event"] == "rights_changed"]
    assert (line["by"], line["person"], line["fields"]) == (shop_manager.pk, buyer.pk, ["is_staff", "is_superuser"])
