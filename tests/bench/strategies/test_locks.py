"""Locks whose holders are real processes, and are killed or stopped while they hold them."""

import os
import threading
from collections.abc import Callable, Iterator
from hashlib import sha1
from typing import Any

import pytest

from bench.strategies.base.strategy import Answer, Strategy
from bench.strategies.locks.redisson_lock import RedissonLock
from bench.strategies.locks.redisson_lock_fenced import FENCED_DECRBY, RedissonLockFenced
from bench.strategies.locks.set_nx_ex_lock import SetNxExLock
from bench.strategies.locks.setnx_lock_expire import SetnxLockExpire
from bench.strategies.locks.setnx_lock_finally import SetnxLockFinally
from bench.strategies.locks.setnx_lock_plain import SetnxLockPlain
from tests.bench.strategies.conftest import RUN
from tests.bench.strategies.paused_buyer import PausedBuyer
from tests.processes import wait_until

# Short enough to be waited for, long enough for the steps of a live buyer.
LEASE_SECONDS = 0.6
# How long a test waits on a busy machine for something that takes no time.
SECONDS_MAX = 20.0

# The command with which a holder sells, by strategy.
WRITE: dict[type[Strategy], str] = {
    RedissonLockFenced: sha1(FENCED_DECRBY.encode(), usedforsecurity=False).hexdigest(),
}

Start = Callable[[type[Strategy]], PausedBuyer]
Make = Callable[..., Any]


@pytest.fixture
def holder() -> Iterator[Start]:
    """A process that has taken the lock, has read the stock, and is stopped before it writes."""
    started: list[PausedBuyer] = []

    def start(strategy: type[Strategy]) -> PausedBuyer:
        url = os.environ["SECKILL_REDIS_URL"]
        word = WRITE.get(strategy, "DECRBY")
        started.append(PausedBuyer(strategy, url=url, name=RUN, stop_before=word, lease_seconds=LEASE_SECONDS))
        started[-1].wait_until_stopped()
        return started[-1]

    yield start
    for process in started:
        process.kill()


@pytest.mark.parametrize("strategy", [SetnxLockPlain, SetnxLockFinally], ids=lambda strategy: strategy.id)
def test_a_killed_holder_of_a_lock_without_expiry_blocks_the_sale_for_ever(
    strategy: type[Strategy], make: Make, holder: Start
) -> None:
    sale = make(strategy, stock=2)
    holder(strategy).kill()
    assert sale.attempt(2) is Answer.BUSY
    assert sale.store.pttl(sale.lock) == -1, "the lock has an expiry"
    assert sale.left() == 2


@pytest.mark.parametrize("strategy", [SetNxExLock, RedissonLock, RedissonLockFenced], ids=lambda strategy: strategy.id)
def test_the_lease_of_a_killed_holder_ends(strategy: type[Strategy], make: Make, holder: Start) -> None:
    sale = make(strategy, stock=2, lease_seconds=LEASE_SECONDS)
    holder(strategy).kill()
    wait_until(lambda: not sale.store.exists(sale.lock), seconds_max=SECONDS_MAX)
    assert sale.attempt(2) is Answer.SOLD
    assert sale.left() == 1


@pytest.mark.parametrize("strategy", [SetNxExLock, RedissonLock], ids=lambda strategy: strategy.id)
def test_a_holder_paused_past_its_lease_sells_a_unit_that_another_has_bought(
    strategy: type[Strategy], make: Make, holder: Start
) -> None:
    sale = make(strategy, stock=1, lease_seconds=LEASE_SECONDS)
    paused = holder(strategy)
    wait_until(lambda: not sale.store.exists(sale.lock), seconds_max=SECONDS_MAX)
    assert sale.attempt(2) is Answer.SOLD
    assert paused.go_on() is Answer.SOLD
    assert sale.left() == -1


def test_a_stock_that_checks_the_fencing_token_refuses_the_paused_holder(make: Make, holder: Start) -> None:
    sale = make(RedissonLockFenced, stock=1, lease_seconds=LEASE_SECONDS)
    paused = holder(RedissonLockFenced)
    wait_until(lambda: not sale.store.exists(sale.lock), seconds_max=SECONDS_MAX)
    assert sale.attempt(2) is Answer.SOLD
    assert paused.go_on() is Answer.BUSY
    assert sale.left() == 0


def test_the_watchdog_keeps_the_lock_of_a_holder_who_is_slow_but_alive(make: Make) -> None:
    slow, other = make(RedissonLock, stock=1, lease_seconds=0.5), make(RedissonLock, lease_seconds=0.5)
    other.wait_seconds_max = 1.5  # three leases
    with slow.holding() as token:
        assert token == 1
        assert other.attempt(2) is Answer.BUSY
        assert slow.store.exists(slow.lock)
    assert other.attempt(2) is Answer.SOLD


def test_the_lock_is_free_when_it_was_released_as_often_as_taken(make: Make) -> None:
    lock = make(RedissonLock, stock=1)
    with lock.holding() as outer:
        with lock.holding() as inner:
            assert inner == outer
        assert lock.store.exists(lock.lock)
    assert not lock.store.exists(lock.lock)


def test_no_client_releases_the_lock_of_another(make: Make) -> None:
    mine, other = make(RedissonLock, stock=1), make(RedissonLock)
    with mine.holding():
        other._release_lock()
        assert mine.store.exists(mine.lock)


def test_a_waiter_is_woken_by_a_message(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without a message it would try again only after the test has given up.
    monkeypatch.setattr("bench.strategies.locks.redisson_lock.TRY_AGAIN_SECONDS", 3 * SECONDS_MAX)
    holder, waiter = make(RedissonLock, stock=1, lease_seconds=600.0), make(RedissonLock, lease_seconds=600.0)
    waiter.wait_seconds_max = 3 * SECONDS_MAX
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(waiter.attempt(2)), daemon=True)
    with holder.holding():
        thread.start()
        wait_until(lambda: dict(holder.store.pubsub_numsub(holder.freed)) == {holder.freed.encode(): 1}, seconds_max=10)
    thread.join(SECONDS_MAX)
    assert answers == [Answer.SOLD]


def test_the_store_has_a_lease_of_thirty_seconds_renewed_every_ten(make: Make) -> None:
    lock = make(RedissonLock, stock=1)
    assert (lock.lease_seconds, lock.renewal_seconds) == (30.0, 10.0)
    with lock.holding():
        assert 25_000 < lock.store.pttl(lock.lock) <= 30_000


def test_without_retries_a_buyer_who_does_not_get_the_lock_is_told_at_once(make: Make) -> None:
    sale = make(SetnxLockExpire, stock=2)
    sale.store.set(sale.lock, "another")
    assert sale.attempt(1) is Answer.BUSY
    assert sale.left() == 2
