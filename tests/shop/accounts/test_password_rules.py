"""How passwords are kept, and which are refused."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from django.conf import LazySettings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.test import Client
from pwned_passwords_django import api

from shop.configuration import password_rules
from tests.own_store import silent_server
from tests.steps.accounts import PASSWORD, is_signed_in, sign_in, sign_up

pytestmark = pytest.mark.django_db


def test_a_password_of_an_earlier_release_is_hashed_again_when_its_owner_signs_in(
    client: Client, buyer: User, settings: LazySettings
) -> None:
    settings.PASSWORD_HASHERS = password_rules.HASHERS
    buyer.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=1_000)
    buyer.save()
    assert sign_in(client, login=buyer.username).status_code == 302
    buyer.refresh_from_db()
    assert buyer.password.startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")
    assert sign_in(Client(), login=buyer.username).status_code == 302
    assert sign_in(Client(), login=buyer.username, password="another one").status_code == 200


@contextmanager
def breach_list(*passwords: str) -> Iterator[tuple[str, list[str]]]:
    """A server like that of Have I Been Pwned, which knows these passwords: its address, and what it was asked."""
    asked: list[str] = []

    class Range(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path.removeprefix("/range/"))
            hashes = [hashlib.sha1(one.encode(), usedforsecurity=False).hexdigest().upper() for one in passwords]
            body = "\r\n".join(f"{one[5:]}:7" for one in hashes if one[:5] == asked[-1]).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Range) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/range/", asked
        server.shutdown()


@pytest.fixture
def ask_breached(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """The setting BREACHED_PASSWORDS, with another server."""

    def ask(url: str) -> None:
        settings.AUTH_PASSWORD_VALIDATORS = password_rules.password_rules(ask_breached=True)
        monkeypatch.setattr(api.default_client, "api_endpoint", url)

    return ask


def test_a_password_that_is_known_from_a_breach_is_refused(client: Client, ask_breached: Callable[[str], None]) -> None:
    with breach_list(PASSWORD) as (url, asked):
        ask_breached(url)
        page = sign_up(client)
    assert "This password is too common." in page.content.decode()
    assert not User.objects.filter(username="newcomer").exists()
    # Five characters of the hash are told to others, and nothing else.
    assert set(asked) == {hashlib.sha1(PASSWORD.encode(), usedforsecurity=False).hexdigest().upper()[:5]}


def test_a_password_that_no_breach_has_is_taken(client: Client, ask_breached: Callable[[str], None]) -> None:
    with breach_list("something-else") as (url, asked):
        ask_breached(url)
        sign_up(client)
    assert is_signed_in(client)
    assert asked


@pytest.mark.parametrize(("password", "taken"), [("qwertyuiop", False), (PASSWORD, True)])
def test_without_an_answer_the_list_of_common_passwords_decides(
    password: str, taken: bool, client: Client, ask_breached: Callable[[str], None]
) -> None:
    with silent_server() as port:
        ask_breached(f"http://127.0.0.1:{port}/range/")
        form = {"username": "newcomer", "email": "new@example.com", "password1": password, "password2": password}
        client.post("/accounts/signup/", form)
    assert User.objects.filter(username="newcomer").exists() is taken
