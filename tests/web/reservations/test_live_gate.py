"""A real web process whose store hangs, is killed, and comes back: nobody waits, and no yes is lost."""

import json
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Thread

import pytest

from seckill.items import item_state
from seckill.store.keys import keys_of
from shop.models import Product
from tests.live_shop import live_web
from tests.own_store import OwnStore, as_reservation_store, running
from tests.processes import wait_until
from tests.steps.buying import new_buyers
from tests.steps.caller import AT_ONCE_SECONDS, Caller, ask
from tests.steps.cast import PassFor
from tests.steps.pipelines import frozen
from tests.steps.shop import make_item
from web.reservations.snapshots import AGE_SECONDS_MAX

pytestmark = pytest.mark.django_db(transaction=True)

# A request to the store may take 0.9 s. From then on, all know that it does not answer.
KNOWN_SECONDS = 2.5
# How long buyers ask a silent store.
ASKING_SECONDS = 3


@pytest.fixture(scope="module")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStore]:
    """A store that syncs before it answers, as the shop's does."""
    with running(tmp_path_factory.mktemp("store")) as server:
        yield server


@pytest.fixture(scope="module")
def web(own_store: OwnStore, django_db_setup: None) -> Iterator[str]:
    with live_web(SECKILL_REDIS_URL=own_store.url) as url:
        yield url


@pytest.fixture(autouse=True)
def _own_store_for_the_test(own_store: OwnStore) -> Iterator[None]:
    own_store.client.flushall()
    with as_reservation_store(own_store):
        yield


def test_refusals_are_fast_while_the_store_is_silent(
    web: str, own_store: OwnStore, product: Product, pass_for: PassFor
) -> None:
    """40 buyers ask again and again, more than there are threads."""
    item = make_item(product, quantity=1000)
    path = f"/api/v1/sale-items/{item.pk}/reservations/"
    passes = [pass_for(buyer, item) for buyer in new_buyers(40)]
    with frozen(own_store):
        # What was under way when it fell silent waits once.
        until_s = time.monotonic() + ASKING_SECONDS
        with ThreadPoolExecutor(41) as threads:
            health = threads.submit(ask_until, until_s, web, "/healthz")
            posted = {"method": "POST", "body": json.dumps({"units": 1}), "content_type": "application/json"}
            asking = [
                threads.submit(ask_until, until_s, web, path, authorization=f"Pass {text}", **posted) for text in passes
            ]
        refusals = [answer for each in asking for answer in each.result()]
    wait_until(lambda: Caller(web, item).reserve(passes[0])[0] == 201, seconds_max=30)
    assert {status for status, _seconds in refusals} == {503}
    assert {status for status, _seconds in health.result()} == {200}
    print(f"{len(refusals)} refusals, p99 {p99(refusals):.3f} s; healthz p99 {p99(health.result()):.3f} s")
    # Without the breaker: some 17 answers a second, and most callers wait for more than two seconds.
    assert len(refusals) > ASKING_SECONDS * 17 * 3
    assert p99(refusals) < 2
    assert p99(health.result()) < 1


def p99(answers: list[tuple[int, float]]) -> float:
    return statistics.quantiles([seconds for _status, seconds in answers], n=100)[-1]


def ask_until(until_s: float, url: str, path: str, **details: str) -> list[tuple[int, float]]:
    """Ask again and again. The status and the seconds of each answer."""
    found = []
    while time.monotonic() < until_s:
        answer = ask(url, path, 15, **details)
        found.append((answer.status, answer.seconds))
        time.sleep(0.2)
    return found


def test_a_store_that_hangs_holds_nobody_up_and_a_yes_outlives_its_restart(
    web: str, own_store: OwnStore, product: Product, pass_for: PassFor
) -> None:
    item = make_item(product, quantity=1)
    caller = Caller(web, item)
    mine, theirs = (pass_for(buyer, item) for buyer in new_buyers(2))
    assert caller.reserve(mine)[0] == 201
    for _time in range(20):
        assert caller.reserve(theirs)[1]["code"] == "held_by_others"
        assert caller.live()["left"] == 0
    with crowd(caller, theirs) as answers:
        with frozen(own_store):
            frozen_s = time.monotonic()
            time.sleep(KNOWN_SECONDS + 2)
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

    def ask_in_turns(number: int) -> None:
        while not stop.is_set():
            began_s = time.monotonic()
            word = caller.reserve(pass_text)[1]["code"] if number % 2 else caller.live()["availability"]
            answers.append((began_s, time.monotonic() - began_s, word))
            time.sleep(0.1)

    threads = [Thread(target=ask_in_turns, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        stop.set()
        for thread in threads:
            thread.join()
