"""The whole shop as it runs in earnest, on the test's own stores: granian, a Celery worker and beat.

    def test_something(live_shop: LiveShop) -> None:
        answer = requests.get(live_shop.url)

Take the fixture where it is used: `from tests.live_shop import live_shop`. The processes are those of `make run`.
"""

import fcntl
import os
import random
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.cookies import SimpleCookie
from pathlib import Path
from unittest import mock
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client

from shop.part import POLL_SECONDS, Part, PartFailed, stop_parts
from shop.run_parts import shop_processes
from shop.run_settings import RunSettings

# Three interpreters that all import Django, on a machine that may have two cores and other work.
START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class LiveShop:
    """A running shop. `directory` holds the logs."""

    url: str
    directory: Path
    parts: list[Part]

    def session_of(self, buyer: User) -> str:
        """The value of a session cookie with which a browser is signed in as the buyer."""
        client = Client()
        client.force_login(buyer)
        cookies: SimpleCookie = client.cookies
        return cookies[settings.SESSION_COOKIE_NAME].value


def let_sign_in(user: User, *, password: str) -> None:
    """Give the user a password that the shop's own hashers know; those of the tests are cheaper."""
    user.password = PBKDF2PasswordHasher().encode(password, "salt", iterations=1_000)
    user.save(update_fields=["password"])


@pytest.fixture
def live_shop(transactional_db: None, tmp_path: Path) -> Iterator[LiveShop]:
    """Web, worker and beat for one test. Their logs are printed, which pytest shows where the test fails."""
    with running_shop(directory=tmp_path) as shop:
        yield shop


@contextmanager
def running_shop(*, directory: Path) -> Iterator[LiveShop]:
    """Start the shop on the stores of this test run and stop it at the end. Raises PartFailed."""
    with ExitStack() as stack:
        run_settings = RunSettings(
            host="127.0.0.1", port=free_port(), directory=directory, own_servers=None, allowed_hosts=["127.0.0.1"]
        )
        stack.enter_context(mock.patch.dict(os.environ, environment()))
        collect_static()
        parts = shop_processes(settings=run_settings, broker_url=os.environ["CELERY_BROKER_URL"])
        stack.callback(print_logs, parts)
        stack.callback(stop_parts, parts=parts)
        start(parts)
        yield LiveShop(url=run_settings.url, directory=directory, parts=parts)


def environment() -> dict[str, str]:
    """What the processes must know: the stores of this test run, with the database that pytest-django made."""
    database = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}")
    return {
        "DATABASE_URL": database.geturl(),
        "SECKILL_REDIS_URL": os.environ["SECKILL_REDIS_URL"],
        "REDIS_URL": os.environ["REDIS_URL"],
        "CELERY_BROKER_URL": os.environ["REDIS_URL"],
        "ALLOWED_HOSTS": "127.0.0.1",
        "DEBUG": "0",
    }


def start(parts: list[Part]) -> None:
    for part in parts:
        part.start()
    deadline = time.monotonic() + START_SECONDS
    for part in parts:
        while not part.answers():
            if time.monotonic() > deadline:
                raise PartFailed(f"{part.name} gave no answer within {START_SECONDS:.0f} s.\n{part.last_lines()}")
            time.sleep(POLL_SECONDS)


def print_logs(parts: list[Part]) -> None:
    for part in parts:
        if text := part.last_lines(lines_max=60).strip():
            print(f"--- {part.title}\n{text}")


def collect_static() -> None:
    """Into the place from which the web server serves. One at a time: test runs may go on side by side."""
    root = Path(settings.STATIC_ROOT)
    root.mkdir(parents=True, exist_ok=True)
    with (root.parent / "collectstatic.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        call_command("collectstatic", "--noinput", verbosity=0)


def free_port() -> int:
    """A port on which nothing listens, below those that the kernel gives to outgoing connections."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
