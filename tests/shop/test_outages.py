"""A server that is away is said in words, quickly, and never as a mistake of the shop's or the buyer's."""

import os
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client, override_settings
from rest_framework.test import APIClient

from shop.configuration.store_clients import redis_cache
from shop.local.ports import free_port

pytestmark = pytest.mark.django_db


@pytest.mark.usefixtures("_no_database")
def test_the_api_without_its_database_is_unavailable() -> None:
    answer = APIClient(raise_request_exception=False).get("/api/v1/sales/")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "unavailable"


@pytest.mark.usefixtures("_no_database")
def test_a_page_without_its_database_says_so(client: Client) -> None:
    client.raise_request_exception = False
    for path, words in (("/", "Please try again in a moment."), ("/zh-hans/", "请稍后再试")):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        assert words in answer.content.decode()


@pytest.mark.parametrize("path", ["/orders/", "/api/v1/orders/"])
def test_sessions_that_cannot_be_read_are_an_outage_and_no_sign_out(client: Client, path: str) -> None:
    nobody = urlsplit(settings.REDIS_URL)._replace(netloc=f"127.0.0.1:{free_port()}").geturl()
    client.raise_request_exception = False
    client.cookies["sessionid"] = "a" * 32
    with override_settings(CACHES={**settings.CACHES, "default": redis_cache(nobody, timeout_seconds=1.0)}):
        started_s = time.monotonic()
        answer = client.get(path)
    assert answer.status_code == 503
    # Told within two seconds; on a machine that does much else, not many times that.
    assert time.monotonic() - started_s < 10


def test_a_command_without_its_database_says_so_in_a_line() -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "staff_roles", "--skip-checks"],
        env={**os.environ, "DATABASE_URL": f"postgresql://shop@127.0.0.1:{free_port()}/shop"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert done.stderr.startswith("PostgreSQL does not answer: connection failed")


def test_a_command_before_the_migrations_says_so_in_a_line() -> None:
    """And an audit does not end as one that found differences."""
    empty = urlsplit(settings.DATABASE_URL)._replace(path="/postgres").geturl()
    for command, code in (("staff_roles", 1), ("sale_audit", 2)):
        done = subprocess.run(
            [sys.executable, "manage.py", command, "--skip-checks"],
            env={**os.environ, "DATABASE_URL": empty},
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == code, done.stderr
        assert "PostgreSQL lacks tables of this release, run `manage.py migrate` first: " in done.stderr
        assert "Traceback" not in done.stderr
