"""Two web servers on the same stores, as two hosts are: what one is told, the other knows."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from seckill.live import answer_counts
from seckill.models import SaleItem
from seckill.outcomes import Outcome
from seckill.store.keys import keys_of
from shop.http.endpoints import OTHER
from shop.models import Product
from tests.live_shop import live_web, status_of
from tests.processes import wait_until
from tests.steps.buying import new_buyers
from tests.steps.caller import AT_ONCE_SECONDS, Caller, ask
from tests.steps.cast import PassFor
from tests.steps.operating import answers_by_route
from tests.steps.shop import make_item
from tests.web.reservations.shadow import without_times

pytestmark = pytest.mark.django_db(transaction=True)

# Status, headers, body.
Reply = tuple[int, list[tuple[str, str]], bytes]

# What a gate knows is at most 100 ms old, and a busy machine has some more.
KNOWN_SECONDS = 0.1 + AT_ONCE_SECONDS


@pytest.fixture(scope="module")
def hosts(django_db_setup: None) -> Iterator[list[str]]:
    """The same for all tests of the file, whose rows and keys come and go."""
    with live_web() as first, live_web() as second:
        yield [first, second]


def test_two_hosts_count_together_by_word_and_by_route(hosts: list[str], product: Product, pass_for: PassFor) -> None:
    """The first test: what others have asked would be counted meanwhile."""
    item = make_item(product, quantity=7)
    callers = [Caller(url, item) for url in hosts]
    told: Counter[str] = Counter()
    for number, buyer in enumerate(new_buyers(30)):
        status, body = callers[number % 2].reserve(pass_for(buyer, item))
        told[Outcome.RESERVED if status == 201 else body["code"]] += 1
    for path in (
        *(f"/sales/{item.sale_id}/", f"/zh-hans/sales/{item.sale_id}/", "/admin/", "/no-such-page/17/"),
        *(f"/api/v1/sale-items/{item.pk}/live/", f"/api/v1/sales/{item.sale_id}/live/", "/api/v1/orders/"),
    ):
        status_of(hosts[0] + path)
    assert told[Outcome.RESERVED] == 7
    by_route = {"sale": 2, "api-live": 1, "api-sale-live": 1, "api-orders": 1, "admin": 1, OTHER: 1}
    # Some by Django, and the others in the event loop, once it knows the headers.
    by_route["api-reserve"] = 30
    metrics = Client()
    wait_until(lambda: counted(item).total() >= 30, seconds_max=30)
    wait_until(lambda: answers_by_route(metrics).items() >= by_route.items(), seconds_max=30)
    assert counted(item) == told
    text = ask(hosts[1], "/metrics").body.decode()
    for word, count in told.items():
        assert f'stampede_answers_total{{answer="{word}"}} {count}.0' in text


def counted(item: SaleItem) -> Counter[Any]:
    return +Counter(answer_counts.of_items([item.pk])[item.pk])


def seconds_until(happened: Callable[[], bool]) -> float:
    began_s = time.monotonic()
    while not happened():
        assert time.monotonic() - began_s < 10
    return time.monotonic() - began_s


def test_both_hosts_say_no_and_yes_within_100_ms_of_each_other(
    hosts: list[str], product: Product, buyer: User, rival: User, pass_for: PassFor, store: Any
) -> None:
    item = make_item(product, quantity=1)
    first, second = (Caller(url, item) for url in hosts)
    mine, theirs = pass_for(buyer, item), pass_for(rival, item)
    for _time in range(10):
        # The gates of both know the item, and what the view's answer looks like.
        assert [caller.live()["left"] for caller in (first, second)] == [1, 1]
    assert first.reserve(mine)[0] == 201
    assert seconds_until(lambda: second.live()["left"] == 0) < KNOWN_SECONDS
    for _time in range(10):
        assert {caller.reserve(theirs)[1]["code"] for caller in (first, second)} == {"held_by_others"}
        # A yes is heard again from either host, whatever its gate says to others.
        assert {caller.reserve(mine)[0] for caller in (first, second)} == {201}
    store.hincrby(keys_of(item.pk).item, "quantity", 1)
    store.hincrby(keys_of(item.pk).item, "left", 1)
    assert seconds_until(lambda: second.reserve(theirs)[0] == 201) < KNOWN_SECONDS
    # At the other host too, at once.
    assert {first.reserve(theirs)[0] for _ in range(10)} == {201}


def test_of_a_crowd_at_both_hosts_as_many_win_as_there_are_units(
    hosts: list[str], product: Product, pass_for: PassFor
) -> None:
    item = make_item(product, quantity=7)
    buyers = new_buyers(60)
    callers = [Caller(url, item) for url in hosts]
    passes = [pass_for(buyer, item) for buyer in buyers]
    with ThreadPoolExecutor(12) as threads:
        # Each asks both hosts, with the same pass.
        calls = [(caller, text) for text in passes for caller in callers]
        statuses = list(threads.map(lambda call: call[0].reserve(call[1])[0], calls))
    winners = {text for (_caller, text), status in zip(calls, statuses, strict=True) if status == 201}
    assert len(winners) == 7
    for text in winners:
        assert {caller.reserve(text)[0] for caller in callers} == {201}


def test_attempts_are_counted_and_people_known_at_both_hosts(
    hosts: list[str], product: Product, buyer_with_password: User
) -> None:
    item = make_item(product)
    callers = [Caller(url, item) for url in hosts]
    wrong = {"username": "buyer", "password": "wrong-password"}
    statuses = [callers[turn % 2].call("POST", "/api/v1/auth/token/", wrong)[0] for turn in range(8)]
    assert statuses.index(429) == 5
    assert set(statuses[5:]) == {429}
    cache.clear()
    # A token that one host gave is good at the other.
    from_first = callers[0].call("POST", "/api/v1/auth/token/", {**wrong, "password": "a-good-password"})
    token = json.loads(from_first[2])["token"]
    status, _headers, body = callers[1].call("GET", "/api/v1/me/", Authorization=f"Bearer {token}")
    assert (status, json.loads(body)["name"]) == (200, "buyer")


def test_a_host_sends_the_bytes_of_the_view(hosts: list[str], product: Product, buyer: User, pass_for: PassFor) -> None:
    item = make_item(product, quantity=5)
    caller = Caller(hosts[0], item)
    assert [caller.reserve(pass_for(other, item))[0] for other in new_buyers(5)] == [201] * 5
    # They are at most 100 ms old.
    wait_until(lambda: caller.live()["availability"] == "held_by_others", seconds_max=2)
    text = pass_for(buyer, item)
    for method, path, headers in (
        ("GET", f"/api/v1/sale-items/{item.pk}/live/", {}),
        ("GET", f"/api/v1/sales/{item.sale_id}/live/", {"Accept-Language": "zh-CN"}),
        ("HEAD", f"/api/v1/sale-items/{item.pk}/live/", {}),
        ("POST", f"/api/v1/sale-items/{item.pk}/reservations/", {"Authorization": f"Pass {text}"}),
        ("POST", f"/api/v1/sale-items/{item.pk}/reservations/", {"Authorization": f"Pass {text}x"}),
    ):
        body = json.dumps({"units": 1}) if method == "POST" else ""
        named = {"Host": urlsplit(hosts[0]).netloc, **headers}
        view = Client().generic(method, path, body, content_type="application/json", headers=named)
        of_view = without_dates((view.status_code, [*view.items()], view.content))
        for _time in range(5):
            # The gate knows the item, and what the view's answer looks like.
            assert without_dates(caller.call(method, path, body and json.loads(body), **headers)) == of_view


def without_dates(answer: Reply) -> Any:
    status, headers, body = answer
    names = {"server", "content-length", "retry-after", "date", "x-request-id"}
    # The order of the directives differs from process to process.
    rest = {
        name.lower(): sorted(value.split("; ")) if name.lower() == "content-security-policy" else value
        for name, value in headers
        if name.lower() not in names
    }
    return rest, without_times((status, [], body))
