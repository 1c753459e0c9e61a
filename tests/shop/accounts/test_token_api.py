"""`/api/v1/auth/token/`: who gets a token, and when it ends."""

from collections.abc import Callable
from datetime import timedelta
from unittest import mock

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient
from structlog.testing import capture_logs

from shop.models import ApiToken
from tests.steps.accounts import age_used_codes, code_of, latest_code_of

pytestmark = pytest.mark.django_db


def test_a_token_opens_the_api(buyer: User, settings: Settings) -> None:
    settings.TIME_ZONE = "Asia/Shanghai"
    api = APIClient()
    answer = api.post("/api/v1/auth/token/", {"username": "buyer", "password": "buyer-password"})
    assert answer.status_code == 201
    assert answer["Cache-Control"] == "no-store"
    assert answer.json()["expires_at"].endswith("Z")
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {answer.json()['token']}")
    assert api.get("/api/v1/orders/").status_code == 200


def test_wrong_credentials_are_401_and_do_not_say_which(buyer: User, rival: User) -> None:
    User.objects.filter(pk=rival.pk).update(is_active=False)
    for name, password in (
        *(("buyer", "wrong"), ("nobody", "x"), ("buyer", "buyer-password "), ("rival", "rival-password")),
    ):
        answer = APIClient().post("/api/v1/auth/token/", {"username": name, "password": password})
        assert (answer.status_code, answer.json()["code"]) == (401, "wrong_credentials"), name
        assert answer.json()["detail"] == "The user name or the password is wrong."


def test_bad_input_is_400(db: None) -> None:
    whole = {"username": "a", "password": "b"}
    for body in ({}, {"username": "buyer"}, {**whole, "otp": "1"}, {**whole, "username": "a\x00"}):
        answer = APIClient().post("/api/v1/auth/token/", body)
        assert answer.status_code == 400, body
        assert answer.json()["errors"]


def test_a_wrong_token_is_401(db: None) -> None:
    for header in ("Bearer", "Bearer x", "Bearer a b", "Bearer " + "x" * 10_000, "Bearer é"):
        answer = APIClient().get("/api/v1/orders/", HTTP_AUTHORIZATION=header)
        assert answer.status_code == 401, header
        assert answer["Content-Type"] == "application/problem+json"
        assert answer["WWW-Authenticate"].startswith("Bearer")


def token_of(*, password: str = "buyer-password", **more: str) -> str:
    answer = APIClient().post("/api/v1/auth/token/", {"username": "buyer", "password": password, **more})
    assert answer.status_code == 201, answer.json()
    token: str = answer.json()["token"]
    return token


def bearing(token: str) -> APIClient:
    api = APIClient()
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return api


def opens_the_api(token: str) -> bool:
    status: int = bearing(token).get("/api/v1/orders/").status_code
    assert status in (200, 401)
    return status == 200


def test_a_token_is_revoked_and_no_other(buyer: User) -> None:
    revoked, kept = token_of(), token_of()
    answer = bearing(revoked).delete("/api/v1/auth/token/")
    assert (answer.status_code, answer.content) == (204, b"")
    assert bearing(revoked).delete("/api/v1/auth/token/").status_code == 401
    assert not opens_the_api(revoked)
    # A session is none.
    api = APIClient()
    api.force_login(buyer)
    for nothing in (api, APIClient()):
        assert nothing.delete("/api/v1/auth/token/").status_code == 401
    assert opens_the_api(kept)


def test_of_eleven_tokens_the_oldest_ends_and_expired_ones_take_no_room(buyer: User, rival: User) -> None:
    rival_token = APIClient().post("/api/v1/auth/token/", {"username": "rival", "password": "rival-password"}).json()
    tokens = [token_of() for _ in range(11)]
    assert [opens_the_api(token) for token in tokens] == [False] + [True] * 10
    kept = ApiToken.objects.get(token_key=tokens[1][:15])
    ApiToken.objects.filter(user=buyer).exclude(pk=kept.pk).update(expiry=timezone.now() - timedelta(seconds=1))
    token_of()
    assert ApiToken.objects.filter(user=buyer).count() == 2
    assert opens_the_api(tokens[1])
    assert opens_the_api(rival_token["token"])


def change_on_the_web(buyer: User) -> None:
    client = Client()
    client.force_login(buyer)
    new = {"password1": "a-good-long-password", "password2": "a-good-long-password"}
    assert client.post("/accounts/password/change/", {"oldpassword": "buyer-password", **new}).status_code == 302
    assert client.get("/orders/").status_code == 200


def change_in_the_admin(buyer: User) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("manager"))
    new = {"password1": "a-good-long-password", "password2": "a-good-long-password", "usable_password": "true"}
    assert client.post(f"/admin/auth/user/{buyer.pk}/password/", new).status_code == 302


def change_by_a_program(buyer: User) -> None:
    buyer.set_password("a-good-long-password")
    buyer.save()


@pytest.mark.parametrize("change", [change_on_the_web, change_in_the_admin, change_by_a_program])
def test_tokens_and_other_sessions_end_with_the_password(buyer: User, change: Callable[[User], None]) -> None:
    token, elsewhere = token_of(), Client()
    elsewhere.force_login(buyer)
    change(buyer)
    answer = bearing(token).get("/api/v1/orders/")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert elsewhere.get("/orders/").status_code == 302
    assert opens_the_api(token_of(password="a-good-long-password"))


def test_a_token_outlives_a_rotation_of_the_secret_key(buyer: User, settings: Settings) -> None:
    token = token_of()
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key, of more than fifty characters, as Django asks for"
    assert opens_the_api(token)
    settings.SECRET_KEY_FALLBACKS = []
    assert not opens_the_api(token)


def test_the_api_asks_for_the_second_factor_too_and_a_refused_code_is_in_the_log(buyer: User) -> None:
    TOTP.activate(buyer, "JBSWY3DPEHPK3PXP")
    credentials = {"username": "buyer", "password": "buyer-password"}
    with capture_logs() as lines:
        for more in ({}, {"code": "000000x"}):
            answer = APIClient().post("/api/v1/auth/token/", {**credentials, **more})
            assert (answer.status_code, answer.json()["code"]) == (401, "second_factor_needed")
    [line] = [line for line in lines if line["event"] == "second_factor_failed"]
    assert (line["user"], line["path"]) == (buyer.pk, "/api/v1/auth/token/")
    assert "000000x" not in str(line)
    assert opens_the_api(token_of(code=code_of("JBSWY3DPEHPK3PXP")))


def test_a_code_gives_one_token_for_as_long_as_it_is_valid(buyer: User) -> None:
    TOTP.activate(buyer, "JBSWY3DPEHPK3PXP")
    body = {"username": "buyer", "password": "buyer-password", "code": latest_code_of("JBSWY3DPEHPK3PXP")}
    assert APIClient().post("/api/v1/auth/token/", body).status_code == 201
    for more_seconds in (0, 31, 50):
        age_used_codes(seconds=more_seconds)
        assert APIClient().post("/api/v1/auth/token/", body).status_code == 401, more_seconds


def test_codes_of_the_second_factor_cannot_be_guessed_in_a_row(buyer: User) -> None:
    TOTP.activate(buyer, "JBSWY3DPEHPK3PXP")
    with mock.patch.object(TOTP, "validate_code", return_value=False) as compared:
        for number in range(7):
            body = {"username": "buyer", "password": "buyer-password", "code": f"{number:06}"}
            assert APIClient().post("/api/v1/auth/token/", body).status_code == 401
    assert compared.call_count == 5
