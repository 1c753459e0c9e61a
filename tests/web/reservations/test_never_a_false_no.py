"""Random steps on an item in a real store: what the gate refuses, reserve.lua refuses too, with the same word.

Between two looks of the gate anything may happen. Then it looks once, and is asked about every pass.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seckill import ledger
from seckill.items import item_state
from seckill.ledger import Adjustment, Terms
from seckill.ledger_words import ReleaseReason, Restoration, RestoreAs
from seckill.outcomes import Outcome
from seckill.passes import passes
from seckill.store.keys import keys_of
from shop.times.timestamps import now_ms
from tests.own_store import OwnStore, as_reservation_store
from tests.web.reservations.shadow import CERTAIN, SnapshotsByHand
from web.reservations import known_reservations
from web.reservations.gate import certain_refusal
from web.reservations.known_reservations import KnownReservations

ITEM_ID = 42
BUYERS = 7
KEYS = keys_of(ITEM_ID)
# As a store that was restarted would have it.
ANOTHER_LIFE = "0" * 40


class Sale:
    """An item of three units, seven buyers with a pass each, and a gate that looks when it is told."""

    def __init__(self, client: Any) -> None:
        client.flushdb()
        self.client = client
        self.passes = [
            passes.Pass(item_id=ITEM_ID, buyer_id=buyer, reservation_id=passes.new_reservation_id(ITEM_ID))
            for buyer in range(1, BUYERS + 1)
        ]
        self.terms = Terms(3, now_ms() - 1000, now_ms() + 3_600_000, 900_000, 2, 1900, "CNY")
        ledger.publish(item_id=ITEM_ID, terms=self.terms)
        self.snapshots = SnapshotsByHand()
        self.snapshots.watch(ITEM_ID)

    def reserve(self, number: int) -> Outcome:
        pass_ = self.passes[number]
        return ledger.reserve(
            item_id=ITEM_ID, reservation_id=pass_.reservation_id, buyer_id=pass_.buyer_id, units=1
        ).outcome

    def confirm(self, number: int) -> None:
        ledger.confirm(item_id=ITEM_ID, reservation_ids=[self.passes[number].reservation_id])

    def release(self, number: int) -> None:
        ids = [self.passes[number].reservation_id]
        ledger.release(item_id=ITEM_ID, reservation_ids=ids, reason=ReleaseReason.EXPIRED)

    def forget(self, number: int) -> None:
        ledger.forget(item_id=ITEM_ID, reservation_ids=[self.passes[number].reservation_id], keep_ms=-10_000_000)

    def add_units(self, number: int) -> None:
        self._adjust(Adjustment(units=1))

    def withdraw_units(self, number: int) -> None:
        self._adjust(Adjustment(units=-1))

    def pause(self, number: int) -> None:
        self._adjust(Adjustment(state="paused"))

    def resume(self, number: int) -> None:
        self._adjust(Adjustment(state="open"))

    def end(self, number: int) -> None:
        self._adjust(Adjustment(closes_ms="now"))

    def prolong(self, number: int) -> None:
        self._adjust(Adjustment(closes_ms=now_ms() + 3_600_000))

    def _adjust(self, adjustment: Adjustment) -> None:
        ledger.adjust(item_id=ITEM_ID, operation_id=uuid4(), adjustment=adjustment)

    def open_later(self, number: int) -> None:
        self._set(opens_ms=now_ms() + 600_000)

    def open_now(self, number: int) -> None:
        self._set(opens_ms=now_ms() - 1000)

    def restart(self, number: int) -> None:
        self._set(incarnation=ANOTHER_LIFE)

    def _set(self, **fields: Any) -> None:
        # Never create a part of an item.
        if self.client.exists(KEYS.item):
            self.client.hset(KEYS.item, mapping=fields)

    def lose_item(self, number: int) -> None:
        self.client.delete(KEYS.item)

    def lose_hold(self, number: int) -> None:
        self.client.hdel(KEYS.holds, str(self.passes[number].reservation_id))

    def cut_list(self, number: int) -> None:
        """As if many reservations had been made and taken back since the gate has looked."""
        self.client.ltrim(KEYS.latest, 0, 0)

    def restore_late_money(self, number: int) -> None:
        self._restore([self.passes[number].reservation_id], RestoreAs.LATE_PAYMENT)

    def rebuild(self, number: int) -> None:
        """As a reconcile does it; also brings an order back that the store had lost."""
        item_state.mark_unverified(item_id=ITEM_ID)
        held = [name for portion in item_state.all_holds(item_id=ITEM_ID) for name in portion]
        item_state.wipe(item_id=ITEM_ID)
        ledger.publish(item_id=ITEM_ID, terms=self.terms, verified=False)
        self._restore({UUID(name) for name in held} | {self.passes[number].reservation_id}, RestoreAs.HELD)
        self.verify(number)

    def _restore(self, ids: Any, state: RestoreAs) -> None:
        restorations = [
            Restoration(pass_.reservation_id, pass_.buyer_id, 1, now_ms() + 900_000, state)
            for pass_ in self.passes
            if pass_.reservation_id in ids
        ]
        ledger.restore_many(item_id=ITEM_ID, restorations=restorations)

    def verify(self, number: int) -> None:
        if self.client.exists(KEYS.item):
            item_state.mark_verified(item_id=ITEM_ID, incarnation=item_state.incarnation(item_id=ITEM_ID))

    def look(self, number: int) -> None:
        self.snapshots.refresh_all()
        for asked in range(BUYERS):
            refused = self.refused(asked)
            if refused is not None:
                assert refused.value in CERTAIN
                assert self.reserve(asked) is refused

    def refused(self, number: int) -> Outcome | None:
        """The gate's word for the pass; None where it leaves the decision to the script."""
        snapshot = self.snapshots.find(ITEM_ID)
        if snapshot is None:
            return None
        return certain_refusal(snapshot, pass_=self.passes[number], now_s=self.snapshots.clock())


STEPS = [name for name in vars(Sale) if not name.startswith("_") and name not in ("refused",)]


@pytest.fixture(scope="module")
def store_of_the_gate(own_store: OwnStore) -> Iterator[OwnStore]:
    with as_reservation_store(own_store):
        yield own_store


@pytest.fixture(autouse=True)
def _short_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few reservations must be more than the list shows."""
    monkeypatch.setattr(known_reservations, "LATEST_FEW", 1)
    monkeypatch.setattr(known_reservations, "LATEST_ALL", 2)


@settings(max_examples=150, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from([*STEPS, "look", "look", "reserve", "reserve"]), st.integers(0, BUYERS - 1)),
        min_size=8,
        max_size=40,
    )
)
@example(
    # Everything is taken; units come back, and are taken again between two looks; they are paid one after another.
    steps=[
        *(("reserve", number) for number in range(3)),
        ("look", 0),
        ("look", 0),
        ("release", 0),
        ("look", 0),
        ("release", 1),
        ("reserve", 3),
        ("reserve", 4),
        ("look", 0),
        ("confirm", 2),
        ("confirm", 3),
        ("look", 0),
        ("confirm", 4),
        ("look", 0),
    ]
)
@example(
    # A reservation that the store had lost comes back with a rebuild, between two looks.
    steps=[
        *(("reserve", number) for number in range(3)),
        ("lose_hold", 0),
        ("look", 0),
        ("look", 0),
        ("rebuild", 0),
        ("look", 0),
    ]
)
@example(
    # As many reservations as before, but others: one order came back and there was no room for another one.
    steps=[("reserve", 0), ("reserve", 2), ("reserve", 3), ("look", 0), ("look", 0), ("rebuild", 1), ("look", 0)]
)
def test_the_gate_refuses_only_what_the_script_refuses(
    store_of_the_gate: OwnStore, steps: list[tuple[str, int]]
) -> None:
    sale = Sale(store_of_the_gate.client)
    for name, number in steps:
        getattr(sale, name)(number)
    sale.look(0)


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["reserve", "reserve", "reserve", "confirm", "release", "pause", "end", "look", "restart"]),
            st.integers(0, BUYERS - 2),
        )
    )
)
def test_once_nothing_changes_the_gate_knows_every_certain_no(
    store_of_the_gate: OwnStore, steps: list[tuple[str, int]]
) -> None:
    sale = Sale(store_of_the_gate.client)
    for name, number in steps:
        getattr(sale, name)(number)
    sale.snapshots.refresh_all(times=4)
    newcomer = BUYERS - 1
    refused = sale.refused(newcomer)
    outcome = sale.reserve(newcomer)
    assert refused is (outcome if outcome.value in CERTAIN else None)


def test_fewer_reservations_than_before_are_read_anew() -> None:
    known = KnownReservations()
    ids = [uuid4() for _ in range(4)]
    known.take_portion([str(ids[0]).encode()], next_cursor=7, reservations=3)
    assert known.must_be_read
    known.take_portion([str(ids[1]).encode()], next_cursor=0, reservations=4)
    # As many as there were when the reading began, and those of the list.
    assert known.follow(reservations=3, latest=[])
    assert known.follow(reservations=4, latest=[b"4:%s" % str(ids[2]).encode()])
    assert [known.has(each) for each in ids] == [True, True, True, False]
    assert not known.follow(reservations=2, latest=[])
    assert known.must_be_read


def test_an_old_snapshot_is_not_used(store_of_the_gate: OwnStore) -> None:
    sale = Sale(store_of_the_gate.client)
    sale.pause(0)
    sale.snapshots.refresh_all()
    assert sale.refused(0) is Outcome.PAUSED
    sale.snapshots.clock.now_s += 0.1
    assert sale.refused(0) is None


def test_around_the_opening_and_the_end_the_script_decides(store_of_the_gate: OwnStore) -> None:
    sale = Sale(store_of_the_gate.client)
    for number in range(3):
        sale.reserve(number)
    held = Outcome.HELD_BY_OTHERS
    for field, before, after in (("opens_ms", Outcome.NOT_OPEN, held), ("closes_ms", held, Outcome.CLOSED)):
        moment_ms = ledger.clock_ms(item_id=ITEM_ID) + 60_000
        sale.open_now(0)
        sale._set(**{field: moment_ms})
        sale.snapshots.refresh_all(times=2)
        snapshot: Any = sale.snapshots.find(ITEM_ID)
        to_moment_s = (moment_ms - snapshot.clock.now_ms) / 1000
        said = []
        for seconds in (to_moment_s - 0.01, to_moment_s - 0.0005, to_moment_s + 0.002):
            now_s = snapshot.clock.received_s + seconds
            said.append(certain_refusal(snapshot, pass_=sale.passes[6], now_s=now_s))
        assert said == [before, None, after]


def test_a_key_of_the_wrong_type_and_damaged_numbers_are_for_the_view(store_of_the_gate: OwnStore) -> None:
    sale = Sale(store_of_the_gate.client)
    sale.pause(0)
    sale.reserve(0)
    sale.client.hset(KEYS.item, "held", "1.5")
    sale.snapshots.refresh_all(times=2)
    assert sale.refused(0) is None
    sale.client.hset(KEYS.item, "held", "0")
    sale.snapshots.refresh_all(times=2)
    assert sale.refused(0) is Outcome.PAUSED
    sale.client.delete(KEYS.latest)
    sale.client.set(KEYS.latest, "no list")
    with suppress(Exception):
        sale.snapshots.refresh_all()
    assert sale.refused(0) is None


def test_a_replica_is_not_believed(store_of_the_gate: OwnStore) -> None:
    sale = Sale(store_of_the_gate.client)
    sale.pause(0)
    sale.snapshots.refresh_all()
    assert sale.refused(0) is Outcome.PAUSED
    sale.client.execute_command("REPLICAOF", "127.0.0.1", "1")
    try:
        sale.snapshots.refresh_all()
        assert sale.refused(0) is Outcome.UNAVAILABLE
    finally:
        sale.client.execute_command("REPLICAOF", "NO", "ONE")
    sale.verify(0)
    sale.snapshots.refresh_all()
    assert sale.refused(0) is Outcome.PAUSED


def test_a_yes_is_held_back_while_other_processes_may_not_know_of_the_unit(store_of_the_gate: OwnStore) -> None:
    sale = Sale(store_of_the_gate.client)
    snapshots = sale.snapshots
    snapshots.refresh_all()
    snapshots.clock.now_s += 1
    assert snapshots.hold_back_seconds(ITEM_ID) == 0
    for number in range(3):
        sale.reserve(number)
    snapshots.refresh_all()
    assert snapshots.hold_back_seconds(ITEM_ID) > 0.1
    sale.release(0)
    snapshots.refresh_all()
    assert 0.05 < snapshots.hold_back_seconds(ITEM_ID) < 0.1
    snapshots.refresh_all()
    assert snapshots.hold_back_seconds(ITEM_ID) == 0
