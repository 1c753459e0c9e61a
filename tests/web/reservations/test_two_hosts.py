"""Two web servers on the same stores, as two hosts are: what one is told, the other knows."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache

from seckill.store.keys import keys_of
from shop.models import Product
from tests.live_shop import live_web
from tests.processes import wait_until
from tests.steps.buying import new_buyers
from tests.steps.caller import AT_ONCE_SECONDS, Caller
from tests.steps.cast import PassFor
from tests.steps.shop import make_item, make_product
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
    for _time in range(20):
        # The gates of both know the item, and what the view's answer looks like.
        assert [caller.live()["left"] for caller in (first, second)] == [1, 1]
    assert first.reserve(mine)[0] == 201
    assert seconds_until(lambda: second.live()["left"] == 0) < KNOWN_SECONDS
    for _time in range(20):
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


def test_buyers_are_told_the_same_with_and_without_the_gate(
    hosts: list[str], product: Product, pass_for: PassFor
) -> None:
    told = {}
    buyers = new_buyers(40)
    another = make_product(name="Biluochun", name_zh_hans="碧螺春", slug="biluochun", price_minor=9900)
    with live_web(GATE="0") as plain:
        for name, url, on_sale in (("gated", hosts[0], product), ("plain", plain, another)):
            item = make_item(on_sale, quantity=5)
            caller = Caller(url, item)
            texts = [pass_for(buyer, item) for buyer in buyers]
            # A caller in a loop, as pages are, so that the gate knows the item.
            first = [caller.reserve(text)[0] for text in texts[:5]]
            # They are at most 100 ms old.
            wait_until(lambda: caller.live()["availability"] == "held_by_others", seconds_max=2)  # noqa: B023
            rest = [caller.reserve(text)[1]["code"] for text in texts[5:]]
            again = [caller.reserve(text)[0] for text in texts[:5] * 3]
            told[name] = (first, rest, again)
        assert told["gated"] == told["plain"] == ([201] * 5, ["held_by_others"] * 35, [201] * 15)
        # On the wire too: the same bytes for the same item from both.
        callers = [Caller(url, item) for url in (hosts[0], plain)]
        text = pass_for(buyers[39], item)
        for method, path, headers in (
            ("GET", f"/api/v1/sale-items/{item.pk}/live/", {}),
            ("GET", f"/api/v1/sales/{item.sale_id}/live/", {"Accept-Language": "zh-CN"}),
            ("HEAD", f"/api/v1/sale-items/{item.pk}/live/", {}),
            ("POST", f"/api/v1/sale-items/{item.pk}/reservations/", {"Authorization": f"Pass {text}"}),
            ("POST", f"/api/v1/sale-items/{item.pk}/reservations/", {"Authorization": f"Pass {text}x"}),
        ):
            body = {"units": 1} if method == "POST" else None
            for _time in range(10):
                answers = [without_dates(caller.call(method, path, body, **headers)) for caller in callers]
                assert answers[0] == answers[1]


def without_dates(answer: Reply) -> Any:
    status, headers, body = answer
    names = {"content-length", "retry-after", "date", "x-request-id"}
    # The order of the directives differs from process to process.
    sorted_headers = [
        (name, "; ".join(sorted(value.split("; "))) if name == "content-security-policy" else value)
        for name, value in headers
        if name not in names
    ]
    return without_times((status, sorted_headers, body))
