"""Searches that PostgreSQL does not answer keep nobody from signing in, and end by themselves."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from shop.configuration.database_connections import WEB_STATEMENT_SECONDS
from shop.models import Product, SearchEntry
from tests.steps.caller import Reply, ask

pytestmark = pytest.mark.django_db(transaction=True)

# For each process many times the threads that it has for all pages together.
BOTS = 40
SIGN_IN = json.dumps({"username": "nobody", "password": "wrong"})


def test_a_crowd_that_searches_keeps_nobody_from_signing_in(live_shop: str, product: Product) -> None:
    def search(number: int) -> Reply:
        return ask(live_shop, f"/search/?q=longjing+{number}", 30)

    def others() -> list[Reply]:
        sign_in = {"method": "POST", "body": SIGN_IN, "content_type": "application/json"}
        return [ask(live_shop, "/api/v1/auth/token/", **sign_in), ask(live_shop, "/api/v1/sales/")]

    assert search(0).status == 200
    with ThreadPoolExecutor(BOTS) as bots, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {SearchEntry._meta.db_table} IN ACCESS EXCLUSIVE MODE")
        # Not the first one again, which memory may answer.
        searches = list(map(bots.submit, [search] * BOTS, range(1, BOTS + 1)))
        time.sleep(1)
        answers = [answer for _time in range(4) for answer in others()]
        refused = [each.result() for each in searches]
    assert [answer.status for answer in answers] == [401, 200] * 4
    # Milliseconds on an idle machine. A call that waits behind a search waits until PostgreSQL gives that one up.
    assert max(answer.seconds for answer in answers) < WEB_STATEMENT_SECONDS / 2
    assert {answer.status for answer in refused} == {503}
    assert max(answer.seconds for answer in refused) < 2 * WEB_STATEMENT_SECONDS
    assert search(0).status == 200
