"""Locks: owners, waiting and the watchdog. What a killed or paused holder leads to, the schedules show."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from redis.exceptions import ConnectionError

from bench.strategies.base.strategy import Answer
from bench.strategies.locks.getset_lock import GetsetLock
from bench.strategies.locks.redisson_lock import RedissonLock
from tests.processes import wait_until

# How long a test waits on a busy machine for something that takes no time.
SECONDS_MAX = 20.0

Make = Callable[..., Any]


def test_the_watchdog_keeps_the_lock_of_a_slow_holder_also_after_the_store_was_away_for_a_moment(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, other = make(RedissonLock, stock=1, lease_seconds=1.0), make(RedissonLock, lease_seconds=1.0)
    other.wait_seconds_max = 3.0  # three leases
    renew, fails = slow._renew, [1]

    def away_once(**words: Any) -> Any:
        if fails:
            fails.pop()
            raise ConnectionError("The store is away")
        return renew(**words)

    monkeypatch.setattr(slow, "_renew", away_once)
    with slow.holding() as token:
        assert token == 1
        assert other.attempt(2) is Answer.BUSY
        assert not fails
        assert slow.store.exists(slow.lock)
    assert other.attempt(2) is Answer.SOLD


def test_a_lock_is_free_when_its_owner_has_released_it_as_often_as_taken(make: Make) -> None:
    lock, other = make(RedissonLock, stock=1), make(RedissonLock)
    assert (lock.lease_seconds, lock.renewal_seconds) == (30.0, 10.0)
    with lock.holding() as outer:
        assert 25_000 < lock.store.pttl(lock.lock) <= 30_000
        with lock.holding() as inner:
            assert inner == outer
        other._release_lock()
        assert lock.store.exists(lock.lock)
    assert not lock.store.exists(lock.lock)
    # The watchdog renews neither what was released nor what was lost.
    assert not lock._held
    with lock.holding():
        lock.store.delete(lock.lock)
        lock.renew_held()
        assert not lock._held


def test_of_two_who_find_a_lock_past_its_deadline_one_takes_it_and_a_late_holder_leaves_it_to_the_next(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 100.0
    one, other = make(GetsetLock, stock=2, clock=lambda: now_s), make(GetsetLock, clock=lambda: now_s)
    one.store.set(one.lock, now_s - 1)
    get = one.store.get

    def overtaken(key: str) -> Any:
        seen = get(key)
        assert other._acquire() is not None
        return seen

    with monkeypatch.context() as overtaking:
        overtaking.setattr(one.store, "get", overtaken)
        assert one._acquire() is None

    def sell_late(_units: int) -> Answer:
        nonlocal now_s
        now_s += 1
        return Answer.SOLD

    one.store.delete(one.lock)
    monkeypatch.setattr(one, "check_then_decr", sell_late)
    assert one.attempt(1) is Answer.SOLD
    assert one.store.exists(one.lock)


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
