"""Searches that PostgreSQL does not answer keep nobody from signing in, and end by themselves."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connection, transaction

from shop.configuration.database_connections import WEB_STATEMENT_SECONDS
from shop.models import Product, SearchEntry

pytestmark = pytest.mark.django_db(transaction=True)

# For each process many times the threads that it has for all pages together.
BOTS = 40
SIGN_IN = json.dumps({"username": "nobody", "password": "wrong"})


def ask(url: str, method: str, path: str, body: str | None = None) -> tuple[int, float]:
    """Status and seconds."""
    client, started_s = HTTPConnection(urlsplit(url).netloc, timeout=30), time.monotonic()
    client.request(method, path, body=body, headers={"Content-Type": "application/json"})
    status = client.getresponse().status
    client.close()
    return status, time.monotonic() - started_s


def test_a_crowd_that_searches_keeps_nobody_from_signing_in(live_shop: str, product: Product) -> None:
    def search(number: int) -> tuple[int, float]:
        return ask(live_shop, "GET", f"/search/?q=longjing+{number}")

    def other_calls() -> list[Any]:
        answers = []
        for _time in range(4):
            answers.append(ask(live_shop, "POST", "/api/v1/auth/token/", SIGN_IN))
            answers.append(ask(live_shop, "GET", "/api/v1/sales/"))
        return answers

    assert search(0)[0] == 200
    with ThreadPoolExecutor(BOTS) as bots, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {SearchEntry._meta.db_table} IN ACCESS EXCLUSIVE MODE")
        searches = list(map(bots.submit, [search] * BOTS, range(BOTS)))
        time.sleep(1)
        answers = other_calls()
        refused = [each.result() for each in searches]
    assert [status for status, _seconds in answers] == [401, 200] * 4
    # Milliseconds on an idle machine. A call that waits behind a search waits until PostgreSQL gives that one up.
    assert max(seconds for _status, seconds in answers) < WEB_STATEMENT_SECONDS / 2
    assert {status for status, _seconds in refused} == {503}
    assert max(seconds for _status, seconds in refused) < 2 * WEB_STATEMENT_SECONDS
    assert search(0)[0] == 200
