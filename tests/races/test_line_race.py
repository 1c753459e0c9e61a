"""Waiting lists in a race: releases, payments, joins, leaves, newcomers, added units, ends, sweeps, and kill -9 of the
store, all at once. After each round no unit is lost, none lies idle while somebody waits for it, and nobody was passed
over.

`LINE_ROUNDS=1000 make test ARGS="tests/races/test_line_race.py -s"` plays a thousand rounds.
"""

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from seckill import ledger
from seckill.ledger import Adjustment
from seckill.ledger_words import HandedOn, Joined, ReleaseReason
from seckill.line import line_ledger
from seckill.outcomes import Outcome
from seckill.store.client import StoreUnreachable
from tests.own_store import as_reservation_store, running
from tests.seckill.checked_item import ITEM_ID, CheckedItem
from tests.steps.at_once import at_once

ROUNDS = int(os.environ.get("LINE_ROUNDS", "40"))
# Every so many rounds the store is killed in the middle.
KILLED_EVERY = 20
PER_BUYER_MAX = 3


@dataclass
class Waiter:
    """Somebody who was in line when the race began."""

    buyer: int
    units: int
    place: UUID
    left: bool = False


@pytest.fixture
def durable_item(tmp_path: Path) -> Iterator[CheckedItem]:
    with running(tmp_path) as own_store, as_reservation_store(own_store):
        yield CheckedItem(own_store, guarded=False)


class Round:
    """One sale, from its first buyers to the end of the race."""

    def __init__(self, item: CheckedItem, chance: random.Random) -> None:
        self.item, self.chance = item, chance
        item.client.flushall()
        self.quantity, self.ended = chance.randint(2, 6), False
        item.publish_with_line(quantity=self.quantity, per_buyer_max=PER_BUYER_MAX)
        self.held: list[UUID] = []
        while left := int(item.counters()[0] or 0):
            units = chance.randint(1, min(PER_BUYER_MAX, left))
            self.held.append(item.held(buyer=100 + len(self.held), units=units))
        self.waiters = []
        for buyer in range(1, chance.randint(2, 8)):
            units = chance.randint(1, PER_BUYER_MAX)
            self.waiters.append(Waiter(buyer, units, item.waiting(buyer=buyer, units=units)))
        self.added = 0

    def calls(self) -> list[Callable[[], None]]:
        """What happens at once: mostly units that come back, each in some ways twice."""
        chance = self.chance
        back = chance.sample(self.held, chance.randint(1, len(self.held)))
        calls = [self.release(hold) for hold in back]
        calls += [self.release(hold) for hold in back[:1]]
        calls += [self.pay(hold) for hold in chance.sample(self.held, 1)]
        calls += [self.newcomer(200 + number, chance.randint(1, PER_BUYER_MAX)) for number in range(3)]
        calls += [self.join(300 + number, chance.randint(1, PER_BUYER_MAX)) for number in range(2)]
        calls += [self.leave(waiter) for waiter in chance.sample(self.waiters, chance.randint(0, 1))]
        calls += [self.sweep]
        if chance.random() < 0.3:
            calls.append(self.add(chance.randint(1, 4)))
        if chance.random() < 0.1:
            calls.append(self.end)
        chance.shuffle(calls)
        return [lambda call=call: self.unless_killed(call) for call in calls]  # type: ignore[misc]

    def unless_killed(self, call: Callable[[], None]) -> None:
        try:
            call()
        except StoreUnreachable:
            assert self.killed

    killed = False

    def release(self, hold: UUID) -> Callable[[], None]:
        reason = self.chance.choice([ReleaseReason.EXPIRED, ReleaseReason.CANCELLED])
        # As an older release does, now and then: the sweep hands on then.
        then = line_ledger.handing_on(ITEM_ID) if self.chance.random() < 0.8 else None
        return lambda: void(ledger.release(item_id=ITEM_ID, reservation_ids=[hold], reason=reason, then=then))

    def pay(self, hold: UUID) -> Callable[[], None]:
        return lambda: void(ledger.confirm(item_id=ITEM_ID, reservation_ids=[hold]))

    def newcomer(self, buyer: int, units: int) -> Callable[[], None]:
        return lambda: void(self.item.reserve(buyer=buyer, units=units))

    def join(self, buyer: int, units: int) -> Callable[[], None]:
        return lambda: void(self.item.join(buyer=buyer, units=units))

    def leave(self, waiter: Waiter) -> Callable[[], None]:
        def leave() -> None:
            waiter.left = True
            self.item.leave(waiter.place, buyer=waiter.buyer)

        return leave

    def add(self, units: int) -> Callable[[], None]:
        def add() -> None:
            call, wanted = line_ledger.handing_on(ITEM_ID), Adjustment(units=units)
            ledger.adjust(item_id=ITEM_ID, operation_id=uuid4(), adjustment=wanted, then=call)

        return add

    def end(self) -> None:
        self.ended = True
        ledger.adjust(item_id=ITEM_ID, operation_id=uuid4(), adjustment=Adjustment(closes_ms="now"))

    def sweep(self) -> None:
        while line_ledger.hand_on(item_id=ITEM_ID, people_max=2) is HandedOn.HANDED_ON:
            pass

    def check(self) -> Counter[str]:
        """What must be so whatever came first. Returns what was seen."""
        item = self.item
        item.check_invariants()
        item.check_line()
        left, smallest = int(item.counters()[0] or 0), item.item().get("smallest_waiting")
        over = item.now_ms() >= int(item.item()["closes_ms"])
        assert over or smallest is None or left < int(smallest), "units lie idle while somebody waits for them"
        served = self.check_order()
        return Counter(
            {"served": served, "ended": over, "left": left, "waiting": len(item.line()), "killed": self.killed}
        )

    def check_order(self) -> int:
        """Units went to the first in line who could take them, never past the line."""
        entries = self.item.entries()[len(self.held) :]
        position = {entry["reservation"]: number for number, entry in enumerate(entries)}
        for number, entry in enumerate(entries):
            buyer, units = int(entry["buyer"]), int(entry["units"])
            before = [waiter for waiter in self.waiters if not waiter.left and waiter.buyer < buyer]
            for waiter in before:
                if waiter.units <= units:
                    assert position.get(str(waiter.place), len(entries)) < number, f"{waiter} was passed over"
        return sum("waited" in entry for entry in entries)


def void(_answer: object) -> None:
    """A call whose answer does not matter: the round is judged at its end."""


def play(item: CheckedItem, chance: random.Random, *, killed: bool) -> Counter[str]:
    one = Round(item, chance)
    calls, one.killed = one.calls(), killed
    if killed:
        calls.insert(chance.randrange(len(calls)), item.store.kill)
    at_once(calls)
    if killed:
        item.store.start()
        # After a restart nothing moves before the item was compared: not even the line.
        assert line_ledger.hand_on(item_id=ITEM_ID) is HandedOn.UNAVAILABLE
        item.check_invariants()
        item.mark_verified()
    one.sweep()
    return one.check()


def test_units_that_come_back_reach_those_who_wait_for_them(durable_item: CheckedItem) -> None:
    seed = int(os.environ.get("LINE_SEED", random.SystemRandom().randrange(1_000_000)))
    chance, seen = random.Random(seed), Counter[str]()
    for number in range(1, ROUNDS + 1):
        try:
            seen += play(durable_item, chance, killed=number % KILLED_EVERY == 0)
        except AssertionError as error:
            raise AssertionError(f"round {number} of LINE_SEED={seed}: {error}") from error
    print(f"{ROUNDS} rounds: {dict(seen)}")
    assert seen["served"] > ROUNDS / 2
    assert seen["killed"] == ROUNDS // KILLED_EVERY


def test_of_a_hundred_who_join_at_once_each_has_a_place_of_their_own(durable_item: CheckedItem) -> None:
    item = durable_item
    item.publish_with_line(quantity=1)
    item.held(buyer=1)
    words = at_once([lambda buyer=buyer: item.join(buyer=buyer).word for buyer in range(2, 102)])  # type: ignore[misc]
    assert words == [Joined.JOINED] * 100
    ahead = [line_ledger.find_place(item_id=ITEM_ID, buyer_id=buyer) for buyer in range(2, 102)]
    assert sorted(place.ahead for place in ahead if place) == list(range(100))
    item.check_line()


def test_one_unit_that_comes_back_twice_goes_to_one(durable_item: CheckedItem) -> None:
    item = durable_item
    item.publish_with_line(quantity=1)
    held = item.held(buyer=1)
    for buyer in range(2, 12):
        item.waiting(buyer=buyer)
    at_once([lambda: item.release(held, handing_on=True)] * 20)
    assert item.counters() == ("0", "1", "0")
    assert item.buyers() == {"2": "1"}
    assert item.reserve(buyer=50).outcome == Outcome.HELD_BY_OTHERS
