"""Wrong passwords from elsewhere keep no buyer out who signed in lately: each known device and network counts alone."""

from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from shop.accounts import known_places
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db

HOME, ELSEWHERE, CAFE = "192.0.2.10", "198.51.100.7", "203.0.113.5"
RIGHT = "buyer-password"


def by_page(client: Client, *, password: str, address: str, username: str = "buyer") -> int:
    form = {"login": username, "password": password}
    return client.post("/accounts/login/", form, REMOTE_ADDR=address).status_code


def by_api(client: Client, *, password: str, address: str, username: str = "buyer") -> int:
    form = {"username": username, "password": password}
    return client.post("/api/v1/auth/token/", form, content_type="application/json", REMOTE_ADDR=address).status_code


def sign_in_once(client: Client, *, address: str, username: str = "buyer", password: str = RIGHT) -> None:
    assert by_page(client, password=password, address=address, username=username) == 302
    client.post("/accounts/logout/")


def attack(address: str = ELSEWHERE) -> None:
    stranger = Client()
    for _ in range(6):
        status = by_api(stranger, password="guess", address=address)
    assert status == 429


def test_a_network_of_lately_is_not_kept_out(buyer: User) -> None:
    assert by_api(Client(), password=RIGHT, address=HOME) == 201
    attack()
    assert by_api(Client(), password=RIGHT, address=HOME) == 201
    assert by_page(Client(), password=RIGHT, address=HOME) == 302
    for sign_in in (by_api, by_page):
        assert sign_in(Client(), password=RIGHT, address=ELSEWHERE) == 429


def test_a_device_of_lately_is_not_kept_out_wherever_it_is(buyer: User) -> None:
    phone = Client()
    sign_in_once(phone, address=HOME)
    attack()
    assert by_api(phone, password=RIGHT, address=CAFE) == 201
    assert by_page(phone, password=RIGHT, address=CAFE) == 302
    for sign_in in (by_api, by_page):
        assert sign_in(Client(), password=RIGHT, address="203.0.113.6") == 429


def test_a_known_device_has_the_same_limit(buyer: User) -> None:
    phone = Client()
    sign_in_once(phone, address=HOME)
    ways = [by_page, by_api, by_page, by_api, by_page, by_api, by_page]
    statuses = [sign_in(phone, password="guess", address=CAFE) for sign_in in ways]
    assert statuses == [200, 401, 200, 401, 200, 429, 429]


def test_signing_in_to_an_account_of_ones_own_opens_no_other(buyer: User, rival: User) -> None:
    client = Client()
    sign_in_once(client, address=ELSEWHERE, username="rival", password="rival-password")
    attack(address=CAFE)
    assert by_page(client, password="guess", address=ELSEWHERE) == 429


@pytest.mark.parametrize(("name", "lookalike"), [("buyer", "ｂuyer"), ("straße", "STRASSE")])
def test_a_sign_in_to_an_account_of_before_whose_name_looks_alike_frees_nothing(name: str, lookalike: str) -> None:
    for username in (name, lookalike):
        # As sign-ups made them before: `create_user` would write both in plain letters.
        User.objects.create(username=username, password=make_password(RIGHT))
    thief = Client()
    sign_in_once(thief, address=ELSEWHERE, username=lookalike)
    statuses = []
    for _ in range(4):
        statuses += [by_api(thief, password="guess", address=ELSEWHERE, username=name) for _ in range(2)]
        sign_in_once(thief, address=ELSEWHERE, username=lookalike)
    assert statuses == [401] * 5 + [429] * 3


def test_a_forged_cookie_is_no_known_device(buyer: User) -> None:
    phone, forger = Client(), Client()
    sign_in_once(phone, address=HOME)
    value = phone.cookies[known_places.COOKIE].value
    forger.cookies[known_places.COOKIE] = value[:-3] + "abc"
    attack()
    assert by_page(forger, password=RIGHT, address=CAFE) == 429


def test_two_people_may_share_a_device(buyer: User, rival: User) -> None:
    shared = Client()
    sign_in_once(shared, address=HOME)
    sign_in_once(shared, address=HOME, username="rival", password="rival-password")
    cache.clear()
    attack()
    assert by_page(shared, password=RIGHT, address=CAFE) == 302


def test_the_cookie_ends_and_scripts_cannot_read_it(buyer: User, settings: Settings) -> None:
    settings.SESSION_COOKIE_SECURE = True
    phone = Client()
    sign_in_once(phone, address=HOME)
    cookie: Any = phone.cookies[known_places.COOKIE]
    assert (cookie["httponly"], cookie["secure"], cookie["samesite"]) == (True, True, "Lax")
    assert "buyer" not in cookie.value
    with mock.patch("django.core.signing.time.time", return_value=4e9):
        request = mock.Mock(COOKIES={known_places.COOKIE: cookie.value})
        assert known_places.read_device(request)["accounts"] == []


def test_without_the_cache_a_known_device_is_still_known(buyer: User, settings: Settings) -> None:
    phone = Client()
    sign_in_once(phone, address=HOME)
    store_away(settings, "default")
    stranger = Client(raise_request_exception=False)
    assert [by_api(stranger, password="guess", address=ELSEWHERE) for _ in range(6)][-1] == 429
    assert by_api(phone, password=RIGHT, address=CAFE) == 201
