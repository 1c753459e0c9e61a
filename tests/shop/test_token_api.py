"""`POST /api/v1/auth/token/`."""

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

pytestmark = pytest.mark.django_db


def test_a_token_opens_the_api(buyer: User) -> None:
    api = APIClient()
    answer = api.post("/api/v1/auth/token/", {"username": "buyer", "password": "buyer-password"})
    assert answer.status_code == 201
    assert answer["Cache-Control"] == "no-store"
    assert answer.json()["expires_at"].endswith("Z")
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {answer.json()['token']}")
    assert api.get("/api/v1/orders/").status_code == 200


@pytest.mark.parametrize(("name", "password"), [("buyer", "wrong"), ("nobody", "x"), ("buyer", "buyer-password ")])
def test_wrong_credentials_are_401_and_do_not_say_which(name: str, password: str, buyer: User) -> None:
    answer = APIClient().post("/api/v1/auth/token/", {"username": name, "password": password})
    assert answer.status_code == 401
    assert answer.json()["code"] == "wrong_credentials"
    assert answer.json()["detail"] == "The user name or the password is wrong."


def test_an_inactive_buyer_gets_none(buyer: User) -> None:
    buyer.is_active = False
    buyer.save()
    answer = APIClient().post("/api/v1/auth/token/", {"username": "buyer", "password": "buyer-password"})
    assert answer.status_code == 401


@pytest.mark.parametrize(
    "body",
    [{}, {"username": "buyer"}, {"username": "a", "password": "b", "otp": "1"}, {"username": "a\x00", "password": "b"}],
)
def test_bad_input_is_400(body: dict[str, str], db: None) -> None:
    answer = APIClient().post("/api/v1/auth/token/", body)
    assert answer.status_code == 400
    assert answer.json()["errors"]


@pytest.mark.parametrize("header", ["Bearer", "Bearer x", "Bearer a b", "Bearer " + "x" * 10_000, "Bearer é"])
def test_a_wrong_token_is_401(header: str, db: None) -> None:
    answer = APIClient().get("/api/v1/orders/", HTTP_AUTHORIZATION=header)
    assert answer.status_code == 401
    assert answer["Content-Type"] == "application/problem+json"
    assert answer["WWW-Authenticate"].startswith("Bearer")
