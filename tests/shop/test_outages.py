"""A server that is away is said in words, quickly, and never as a mistake of the shop's or the buyer's."""

import runpy
import sys
import time
from unittest import mock
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client, override_settings
from rest_framework.test import APIClient

from shop.configuration.store_clients import redis_cache
from shop.local.ports import free_port
from tests.other_database import shop_on

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


def said_at_its_end(command: str) -> str | int | None:
    """The end of `manage.py`: a line, or a number after the lines of the command itself."""
    with mock.patch.object(sys, "argv", ["manage.py", command, "--skip-checks"]), pytest.raises(SystemExit) as end:
        runpy.run_path("manage.py", run_name="__main__")
    return end.value.code


def test_a_command_without_its_database_says_so_in_a_line() -> None:
    with shop_on(f"postgresql://shop@127.0.0.1:{free_port()}/shop"):
        said = str(said_at_its_end("staff_roles"))
    assert said.startswith("PostgreSQL does not answer: connection failed")
    assert "\n" not in said


def test_a_command_before_the_migrations_says_so_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """And an audit does not end as one that found differences."""
    lacks = "PostgreSQL lacks tables of this release, run `manage.py migrate` first: "
    with shop_on(urlsplit(settings.DATABASE_URL)._replace(path="/postgres").geturl()):
        assert str(said_at_its_end("staff_roles")).startswith(lacks)
        assert said_at_its_end("sale_audit") == 2
    assert lacks in capsys.readouterr().err
