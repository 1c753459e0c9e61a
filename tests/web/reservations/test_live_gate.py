"""The gate in real web processes: with it and without it buyers are told the same, also when the store hangs."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from django.contrib.auth.models import User

from seckill.items import item_state
from seckill.store.keys import keys_of
from shop.models import Product
from tests.live_shop import live_web
from tests.own_store import OwnStore, as_reservation_store, running
from tests.processes import wait_until
from tests.steps.caller import AT_ONCE_SECONDS, Caller
from tests.steps.cast import PassFor
from tests.steps.shop import make_item, make_product
from tests.web.reservations.shadow import without_times
from web.reservations.snapshots import AGE_SECONDS_MAX

pytestmark = pytest.mark.django_db(transaction=True)

# Status, headers, body.
Reply = tuple[int, list[tuple[str, str]], bytes]
# A request to the store may take 0.9 s. From then on, all know that it does not answer.
KNOWN_SECONDS = 2.5


@pytest.fixture
def buyers(db: None) -> list[User]:
    return User.objects.bulk_create([User(username=f"buyer-{number}") for number in range(40)])


def test_buyers_are_told_the_same_with_and_without_the_gate(
    product: Product, buyers: list[User], pass_for: PassFor
) -> None:
    told = {}
    another = make_product(name="Biluochun", name_zh_hans="碧螺春", slug="biluochun", price_minor=9900)
    with live_web(GATE="1") as gated, live_web(GATE="0") as plain:
        for name, url, on_sale in (("gated", gated, product), ("plain", plain, another)):
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
        callers = [Caller(url, item) for url in (gated, plain)]
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


@contextmanager
def shop_with_own_store(directory: Path) -> Iterator[tuple[OwnStore, str]]:
    with (
        running(directory) as own_store,
        as_reservation_store(own_store),
        live_web(SECKILL_REDIS_URL=own_store.url) as url,
    ):
        yield own_store, url


def test_a_store_that_hangs_holds_nobody_up_and_a_yes_outlives_its_restart(
    server_directory: Path, product: Product, buyers: list[User], pass_for: PassFor
) -> None:
    with shop_with_own_store(server_directory) as (own_store, url):
        item = make_item(product, quantity=1)
        caller = Caller(url, item)
        mine, theirs = pass_for(buyers[0], item), pass_for(buyers[1], item)
        assert caller.reserve(mine)[0] == 201
        for _time in range(20):
            assert caller.reserve(theirs)[1]["code"] == "held_by_others"
            assert caller.live()["left"] == 0
        with crowd(caller, theirs) as answers:
            pid = own_store.process.pid or 0
            os.kill(pid, signal.SIGSTOP)
            frozen_s = time.monotonic()
            time.sleep(KNOWN_SECONDS + 2)
            os.kill(pid, signal.SIGCONT)
            thawed_s = time.monotonic()
            wait_until(lambda: caller.reserve(theirs)[1]["code"] == "held_by_others", seconds_max=2)
        known = [answer for answer in answers if frozen_s + KNOWN_SECONDS < answer[0] < thawed_s - 0.1]
        assert len(known) > 20
        assert {word for _began_s, _seconds, word in known} == {"unavailable"}
        assert max(seconds for _began_s, seconds, _word in known) < AT_ONCE_SECONDS
        # No call waited behind another: one timeout, and the time in the lane.
        assert max(seconds for _began_s, seconds, _word in answers) < KNOWN_SECONDS

        own_store.kill()
        # It can be back before the snapshots are too old.
        time.sleep(AGE_SECONDS_MAX)
        wait_until(lambda: caller.live()["availability"] == "unavailable", seconds_max=5)
        assert caller.reserve(mine)[0] == 503
        own_store.start()
        # Restarted, but not compared with the orders yet.
        for _time in range(10):
            assert [caller.reserve(text)[1]["code"] for text in (mine, theirs)] == ["unavailable"] * 2
        item_state.mark_verified(item_id=item.pk, incarnation=item_state.incarnation(item_id=item.pk))
        wait_until(lambda: caller.reserve(theirs)[1]["code"] == "held_by_others", seconds_max=2)
        for _time in range(20):
            assert caller.reserve(mine)[0] in (201, 503)
        assert {caller.reserve(mine)[0] for _ in range(10)} == {201}
        own_store.client.delete(keys_of(item.pk).item)
        wait_until(lambda: caller.live()["availability"] == "unavailable", seconds_max=5)
        assert {caller.reserve(text)[1]["code"] for text in (mine, theirs)} == {"unavailable"}


@contextmanager
def crowd(caller: Caller, pass_text: str) -> Iterator[list[tuple[float, float, str]]]:
    """Twelve clients that ask in a loop, half of them for units and half for figures: when, how long, what."""
    answers: list[tuple[float, float, str]] = []
    stop = Event()

    def ask(number: int) -> None:
        while not stop.is_set():
            began_s = time.monotonic()
            word = caller.reserve(pass_text)[1]["code"] if number % 2 else caller.live()["availability"]
            answers.append((began_s, time.monotonic() - began_s, word))
            time.sleep(0.02)

    threads = [Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        stop.set()
        for thread in threads:
            thread.join()
