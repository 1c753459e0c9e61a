"""Passwords cannot be guessed in a row: by name and by address, in the API and on the web, before one is hashed."""

from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import pytest
from django.conf import settings as shop_settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings
from structlog.testing import capture_logs

from shop.configuration.store_clients import redis_cache
from shop.http import rate_limits
from shop.local.ports import free_port
from tests.steps.accounts import confirmed
from tests.steps.shop import server_away

pytestmark = pytest.mark.django_db

PROXY = "10.0.0.1"
SignIn = Callable[..., Any]


def by_api(*, username: str = "buyer", password: str = "wrong", **headers: Any) -> Any:
    body = {"username": username, "password": password}
    client = Client(raise_request_exception=False)
    return client.post("/api/v1/auth/token/", body, content_type="application/json", **headers)


def by_page(*, username: str = "buyer", password: str = "wrong", prefix: str = "", **headers: Any) -> Any:
    client = Client(raise_request_exception=False)
    return client.post(f"{prefix}/accounts/login/", {"login": username, "password": password}, **headers)


each_way = pytest.mark.parametrize("sign_in", [by_api, by_page])


@pytest.fixture
def checked() -> Iterator[mock.MagicMock]:
    """Counts how often a password is compared, which is what costs a core a tenth of a second."""
    with mock.patch.object(ModelBackend, "authenticate", autospec=True, return_value=None) as authenticate:
        yield authenticate


@each_way
def test_of_seven_wrong_passwords_five_are_looked_at(sign_in: SignIn, checked: mock.MagicMock) -> None:
    answers = [sign_in() for _ in range(7)]
    assert [answer.status_code for answer in answers[5:]] == [429] * 2
    assert checked.call_count == 5
    assert all(1 <= int(answer["Retry-After"]) <= 300 for answer in answers[5:])


def test_thirty_names_from_one_address_are_the_limit(checked: mock.MagicMock) -> None:
    answers = [(by_page if number % 2 else by_api)(username=f"name-{number}") for number in range(33)]
    assert [answer.status_code == 429 for answer in answers] == [False] * 30 + [True] * 3
    assert checked.call_count == 30
    assert by_api(username="another", REMOTE_ADDR="198.51.100.7").status_code != 429


def test_a_name_is_limited_wherever_and_however_it_is_written(buyer: User) -> None:
    for name in ("buyer", "Buyer", " buyer", "BUYER"):
        by_api(username=name)
    assert by_page().status_code == 200
    assert by_page(password="buyer-password", REMOTE_ADDR="198.51.100.7").status_code == 429
    assert by_api(password="buyer-password", REMOTE_ADDR="198.51.100.7").status_code == 429


@pytest.mark.parametrize("has_account", [True, False])
@pytest.mark.parametrize(
    ("address", "also", "refused"),
    [
        ("li@example.com", "ｌi@example.com", 3),
        ("li@example.com", "LI＠example.com", 3),
        ("li@straße.example", "li@strasse.example", 0),
    ],
)
def test_the_limit_does_not_say_whether_an_address_has_an_account(
    buyer: User, address: str, also: str, refused: int, has_account: bool
) -> None:
    if has_account:
        confirmed(buyer, address)
    statuses = [by_api(username=name).status_code for _ in range(4) for name in (address, also)]
    assert statuses == [401] * (8 - refused) + [429] * refused


def test_the_api_answers_with_a_problem_and_the_web_with_a_page(buyer: User) -> None:
    for _ in range(5):
        by_api()
    problem = by_api()
    assert problem["Content-Type"] == "application/problem+json"
    assert problem.json()["code"] == "too_many_attempts"
    assert problem.json()["title"] == "Too many attempts"
    assert problem.json()["retry_after"] == int(problem["Retry-After"])
    page = by_page().content.decode()
    assert 'class="brand"' in page
    assert "Too many attempts" in page
    assert "then try again." in page
    assert "尝试次数过多" in by_page(prefix="/zh-hans").content.decode()


def test_a_person_with_the_right_password_may_sign_in_as_often_as_they_like(buyer: User) -> None:
    for _ in range(6):
        assert by_api().status_code == 401
        assert by_api(password="buyer-password").status_code == 201
    assert by_page(password="buyer-password").status_code == 302


def test_signing_in_frees_no_attempts_of_the_address(buyer: User, settings: Settings) -> None:
    settings.SIGN_IN_LIMIT_BY_ADDRESS = "6/minute"
    statuses = []
    for number in range(4):
        statuses.append(by_api(username=f"victim-{number}").status_code)
        statuses.append(by_api(password="buyer-password").status_code)
    assert statuses == [401, 201, 401, 201, 401, 201, 429, 429]


@each_way
def test_a_written_header_gains_nothing(sign_in: SignIn, settings: Settings, checked: mock.MagicMock) -> None:
    settings.SIGN_IN_LIMIT_BY_ADDRESS = "3/minute"
    for proxies, forwarded_for in ((0, "192.0.2.{}"), (1, "192.0.2.{}, 198.51.100.7")):
        settings.TRUSTED_PROXIES = proxies
        checked.reset_mock()
        for number in range(5):
            headers = {"REMOTE_ADDR": PROXY, "HTTP_X_FORWARDED_FOR": forwarded_for.format(number)}
            sign_in(username=f"name-{proxies}-{number}", **headers)
        assert checked.call_count == 3, proxies


@each_way
def test_a_failed_sign_in_is_logged_with_the_address_of_the_client(
    sign_in: SignIn, settings: Settings, buyer: User
) -> None:
    settings.TRUSTED_PROXIES = 1
    with capture_logs() as logs:
        sign_in(REMOTE_ADDR=PROXY, HTTP_X_FORWARDED_FOR="192.0.2.1, 198.51.100.7")
    (failed,) = [line for line in logs if line["event"] == "sign_in_failed"]
    assert failed["address"] == "198.51.100.7"
    assert failed["user"] == buyer.pk
    assert "wrong" not in str(failed)
    assert buyer.username not in str(failed)


def without_cache_server() -> dict[str, Any]:
    """The setting CACHES of a shop whose cache server is away."""
    nobody = urlsplit(shop_settings.REDIS_URL)._replace(netloc=f"127.0.0.1:{free_port()}").geturl()
    return {**shop_settings.CACHES, "default": redis_cache(nobody, timeout_seconds=1.0)}


def test_without_the_cache_server_each_process_counts_alone_and_says_so_once(
    settings: Settings, checked: mock.MagicMock
) -> None:
    settings.CACHES = without_cache_server()
    with capture_logs() as logs:
        answers = [by_api() for _ in range(7)]
    assert [answer.status_code for answer in answers] == [401] * 5 + [429] * 2
    assert checked.call_count == 5
    assert [line["event"] for line in logs if line["event"].startswith("limits")] == ["limits_not_counted"]
    # Each name by itself.
    assert by_api(username="rival").status_code == 401


def test_a_process_that_counts_alone_keeps_a_bounded_number_of_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "OWN_KEYS_MAX", 20)
    with server_away("cache"):
        for number in range(100):
            rate_limits.take(action="a_test", rate="1/minute", key=f"network {number}")
            rate_limits.distinct(f"buyer {number}", rate_limits.Limit("a_test", "9/minute", "network"))
        storage: Any = rate_limits._of_this_process().moving.storage
        assert len(storage.events) + len(storage.storage) <= 23


def test_a_cache_server_that_is_back_counts_again_and_says_so(settings: Settings) -> None:
    def take() -> None:
        rate_limits.take(action="a_test", rate="2/minute", key="buyer")

    with mock.patch.dict(settings.CACHES), capture_logs() as logs:
        here = settings.CACHES
        settings.CACHES = without_cache_server()
        take()
        settings.CACHES = here
        take()
        rate_limits._cache_server._silent_until_s = 0.0
        take()
    assert [line["event"] for line in logs] == ["limits_not_counted", "limits_counted_again"]
    take()
    with pytest.raises(rate_limits.LimitReached):
        take()


def test_allauth_s_own_limits_answer_in_the_shop_s_words(as_buyer: Client) -> None:
    form = {"oldpassword": "wrong", "password1": "a-good-long-password", "password2": "a-good-long-password"}
    answers = [as_buyer.post("/accounts/password/change/", form) for _ in range(7)]
    limited = answers[-1]
    assert (limited.status_code, limited["Retry-After"]) == (429, "60")
    assert 'class="brand"' in limited.content.decode()
