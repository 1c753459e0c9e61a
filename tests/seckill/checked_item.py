"""One sale item in a store of its own; after each call of the ledger the store itself is checked.

The tests of the scripts are plain functions of a CheckedItem. pytest runs them over the scripts as they are;
scripts/test_mutants.py runs the same functions over scripts that were damaged on purpose.
"""

import contextlib
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar
from unittest import mock
from uuid import UUID, uuid4

import pytest
from redis.exceptions import ResponseError

from seckill import ledger
from seckill.items import item_state
from seckill.ledger import AdjustAnswer, Adjustment, Reservation
from seckill.ledger_words import (
    Adjusted,
    Archived,
    Confirmed,
    Departed,
    Forgotten,
    HandedOn,
    Joined,
    LineOpened,
    Published,
    Readmitted,
    Released,
    ReleaseReason,
    RestoreAs,
    Restored,
)
from seckill.line import line_ledger
from seckill.line.line_ledger import JoinAnswer
from seckill.outcomes import Outcome
from seckill.passes import passes
from seckill.store import scripts
from seckill.store.client import StoreUnreachable
from seckill.store.scripts import Script
from tests.own_store import OwnStore
from tests.steps.store import StoredItem

ITEM_ID = 42
HOUR_MS = 3_600_000
RESERVED_MS, DEADLINE_MS = 1767225600012, 1767226500012

# The word with which each verb says that it has done its work.
YES = {
    "publish": Published.PUBLISHED,
    "reserve": Outcome.RESERVED,
    "readmit": Readmitted.READMITTED,
    "confirm": Confirmed.CONFIRMED,
    "release": Released.RELEASED,
    "adjust": Adjusted.ADJUSTED,
    "restore": Restored.RESTORED,
    "forget": Forgotten.FORGOTTEN,
    "archive": Archived.ARCHIVED,
    "open_line": LineOpened.OPENED,
    "join_line": Joined.JOINED,
    "leave_line": Departed.LEFT_LINE,
    "hand_on": HandedOn.HANDED_ON,
}

# Numbers with which the store cannot count, although Lua reads most of them.
DAMAGED_NUMBERS = ["1.5", "007", " 5", "+5", "1e3", "-0", "0x10", "many", "", "1000000000000000"]

Answer = TypeVar("Answer")

# Runs before a script in the same call, so that `in_ms` counts from the time at which the script runs.
SAME_CLOCK = """
local clock_before = redis.call('TIME')
local function in_ms(ms)
  return string.format('%.0f', clock_before[1] * 1000 + math.floor(clock_before[2] / 1000) + ms)
end
"""
WINDOW = "redis.call('HSET', KEYS[1], 'opens_ms', in_ms({opens}), 'closes_ms', in_ms({closes}))"

# Every key with its content, in one round trip. It runs before and after each call.
DUMP = """
local dump = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind, content, groups = redis.call('TYPE', key).ok, '', ''
  if kind == 'hash' then
    content = redis.call('HGETALL', key)
  elseif kind == 'stream' then
    content, groups = redis.call('XRANGE', key, '-', '+'), redis.call('XINFO', 'GROUPS', key)
  elseif kind == 'list' then
    content = redis.call('LRANGE', key, 0, -1)
  elseif kind == 'zset' then
    content = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  else
    content = redis.call('GET', key)
  end
  table.insert(dump, {key, kind, content, groups})
end
return dump
"""


class CheckedItem(StoredItem):
    """Item 42 in an empty store. Verbs go through the ledger, as in the shop.

    After each call it is checked that a refusal or a fault has changed nothing, and that the invariants hold after a
    yes. `guarded` False leaves that out, for items that a test has damaged on purpose. With `only`, calls of this verb
    alone are checked: no other script has been damaged.
    """

    def __init__(self, store: OwnStore, *, guarded: bool = True, only: str | None = None) -> None:
        super().__init__(store.client, ITEM_ID)
        self.store = store
        self.guarded = guarded
        self.only = only
        self.client.flushall()

    def new_id(self) -> UUID:
        return passes.new_reservation_id(ITEM_ID)

    def now_ms(self) -> int:
        seconds, microseconds = self.client.time()
        return int(seconds) * 1000 + int(microseconds) // 1000

    # --- the verbs ---

    def publish(
        self,
        *,
        quantity: int | None = 5,
        per_buyer_max: int = 2,
        opens_in_ms: int = -HOUR_MS,
        closes_in_ms: int = HOUR_MS,
        hold_ms: int = 900_000,
        paused: bool = False,
        verified: bool = True,
    ) -> Published:
        now_ms = self.now_ms()
        opens_ms, closes_ms = now_ms + opens_in_ms, now_ms + closes_in_ms
        terms = ledger.Terms(quantity, opens_ms, closes_ms, hold_ms, per_buyer_max, price_minor=1900, currency="CNY")
        call = partial(ledger.publish, item_id=ITEM_ID, terms=terms, paused=paused, verified=verified)
        return self._watched("publish", call)

    def asked(self, reservation_id: UUID | None, buyer: int, units: int) -> dict[str, Any]:
        """What the ledger is told of a buyer's wish."""
        reservation_id = reservation_id or self.new_id()
        return {"item_id": ITEM_ID, "reservation_id": reservation_id, "buyer_id": buyer, "units": units}

    def reserve(self, reservation_id: UUID | None = None, *, buyer: int = 7, units: int = 1) -> Reservation:
        asked = self.asked(reservation_id, buyer, units)
        return self._watched("reserve", lambda: ledger.reserve(**asked))

    def held(self, *, buyer: int = 7, units: int = 1) -> UUID:
        """A reservation that was told yes."""
        reservation_id = self.new_id()
        assert self.reserve(reservation_id, buyer=buyer, units=units).outcome == Outcome.RESERVED
        return reservation_id

    def sold(self, *, buyer: int = 7, units: int = 1) -> UUID:
        reservation_id = self.held(buyer=buyer, units=units)
        assert self.confirm(reservation_id) == Confirmed.CONFIRMED
        return reservation_id

    def ended(self, *, buyer: int = 7, units: int = 1) -> UUID:
        reservation_id = self.held(buyer=buyer, units=units)
        assert self.release(reservation_id) == Released.RELEASED
        return reservation_id

    def readmit(self, reservation_id: UUID | None = None, *, buyer: int = 7, units: int = 1) -> Readmitted:
        asked = {**self.asked(reservation_id, buyer, units), "reserved_ms": RESERVED_MS, "deadline_ms": DEADLINE_MS}
        return self._watched("readmit", lambda: ledger.readmit(**asked))

    def holds_of(self, buyer: int) -> list[UUID]:
        return [UUID(name) for name, hold in self.holds().items() if hold.split(":")[1] == str(buyer)]

    def held_by_script(self, *, buyer: int, units: int) -> UUID:
        """A reservation by a process of an older release, whose reserve.lua knows no line."""
        with self.damaged(smallest_waiting=None), self.unguarded():
            return self.held(buyer=buyer, units=units)

    def confirm(self, reservation_id: UUID, *, even_unverified: bool = False) -> Confirmed:
        call = partial(ledger.confirm, item_id=ITEM_ID, reservation_ids=[reservation_id])
        return self._watched("confirm", lambda: call(even_unverified=even_unverified)[0])

    def release(
        self,
        reservation_id: UUID,
        reason: ReleaseReason = ReleaseReason.EXPIRED,
        *,
        even_unverified: bool = False,
        handing_on: bool = False,
    ) -> Released:
        then = line_ledger.handing_on(ITEM_ID) if handing_on else None
        call = partial(ledger.release, item_id=ITEM_ID, reservation_ids=[reservation_id], reason=reason)
        return self._watched("release", lambda: call(even_unverified=even_unverified, then=then)[0])

    def adjust(
        self,
        operation_id: UUID | None = None,
        *,
        units: int = 0,
        state: str | None = None,
        closes_ms: int | str | None = None,
        per_buyer_max: int | None = None,
    ) -> AdjustAnswer:
        chosen_id = operation_id or uuid4()
        wanted = Adjustment(units=units, state=state, closes_ms=closes_ms, per_buyer_max=per_buyer_max)
        if per_buyer_max is not None:
            self.limited = False
        call = partial(ledger.adjust, item_id=ITEM_ID, operation_id=chosen_id, adjustment=wanted)
        return self._watched("adjust", call)

    def restore(
        self, reservation_id: UUID | None = None, *, state: RestoreAs, buyer: int = 7, units: int = 1
    ) -> Restored:
        asked = self.asked(reservation_id, buyer, units)
        if state is not RestoreAs.LATE_PAYMENT:
            self.limited = False
        before = self.holds()
        entries = {entry["reservation"] for entry in self.entries()} if self.guarded else set()

        def call() -> Restored:
            answer = ledger.restore(**asked, deadline_ms=DEADLINE_MS, state=state)
            self.restored |= self.holds().keys() - before.keys() - entries
            return answer

        return self._watched("restore", call)

    def forget(self, reservation_id: UUID, *, keep_ms: int = -HOUR_MS) -> Forgotten:
        """By default its deadline counts as long past, although the hold was made a moment ago."""

        def call() -> Forgotten:
            answer = ledger.forget(item_id=ITEM_ID, reservation_ids=[reservation_id], keep_ms=keep_ms)[0]
            if answer is Forgotten.FORGOTTEN:
                self.forgotten.add(str(reservation_id))
            return answer

        return self._watched("forget", call)

    def archive(self, *, over_ms: int = -2 * HOUR_MS) -> Archived:
        """By default the sale counts as long over, although it is open. Everything must be gone, or nothing changed."""
        before = self.dump()
        answer = ledger.archive(item_id=ITEM_ID, over_ms=over_ms)
        assert not self.watches("archive") or self.dump() == ({} if answer is Archived.ARCHIVED else before)
        return answer

    # --- the waiting list ---

    def publish_with_line(self, **terms: Any) -> None:
        self.publish(**terms)
        assert self.open_line() is LineOpened.OPENED

    def open_line(self) -> LineOpened:
        return self._watched("open_line", lambda: line_ledger.open_line(item_id=ITEM_ID))

    def join(self, reservation_id: UUID | None = None, *, buyer: int = 7, units: int = 1) -> JoinAnswer:
        asked = self.asked(reservation_id, buyer, units)
        return self._watched("join_line", lambda: line_ledger.join_line(**asked))

    def waiting(self, *, buyer: int = 7, units: int = 1) -> UUID:
        """A place in the line."""
        reservation_id = self.new_id()
        assert self.join(reservation_id, buyer=buyer, units=units).word is Joined.JOINED
        return reservation_id

    def leave(self, reservation_id: UUID, *, buyer: int = 7) -> Departed:
        asked: dict[str, Any] = {"item_id": ITEM_ID, "reservation_id": reservation_id, "buyer_id": buyer}
        return self._watched("leave_line", lambda: line_ledger.leave_line(**asked))

    def hand_on(self, *, people_max: int = 10) -> HandedOn:
        return self._watched("hand_on", lambda: line_ledger.hand_on(item_id=ITEM_ID, people_max=people_max))

    # --- what happens to an item beside its verbs ---

    def set(self, **fields: str | int | None) -> None:
        """Write these fields of the item past the scripts; None: they are missing."""
        for name, value in fields.items():
            if value is None:
                self.client.hdel(self.keys.item, name)
            else:
                self.client.hset(self.keys.item, name, value)

    @contextlib.contextmanager
    def damaged(self, **fields: str | int | None) -> Iterator[None]:
        """The fields are so for a while."""
        before = self.item()
        self.set(**fields)
        yield
        self.set(**{name: before.get(name) for name in fields})

    def lose(self, key: str) -> None:
        """The store loses this key of the item, as `buyers` or `holds`."""
        assert self.client.delete(getattr(self.keys, key))

    def become_unverified(self, *, incarnation: str | None) -> None:
        """As after a restart: the item has the id of another run of the server, or none."""
        item_state.mark_unverified(item_id=ITEM_ID)
        self.set(incarnation=incarnation)

    def drained(self) -> None:
        """Every entry of the outbox has become an order."""
        for entry_id, _ in self.client.xrange(self.keys.outbox):
            self.client.xdel(self.keys.outbox, entry_id)

    def mark_verified(self) -> None:
        """What the reconcile does once the item agrees with the orders."""
        item_state.mark_verified(item_id=ITEM_ID, incarnation=item_state.incarnation(item_id=ITEM_ID))

    @contextlib.contextmanager
    def just_before(self, verb: str, lua: str) -> Iterator[None]:
        """The script of the verb runs after this line of Lua, in the same call and at the same time."""
        script = Script(verb, f"{SAME_CLOCK}{lua}\n{getattr(scripts, verb.upper()).source}")
        with mock.patch.object(scripts, verb.upper(), script), self.unguarded():
            yield

    def at_window(
        self, verb: str, call: Callable[[], Answer], *, opens_in_ms: int = -HOUR_MS, closes_in_ms: int = HOUR_MS
    ) -> Answer:
        """A call of the verb, with a window relative to the time at which its script runs."""
        with self.just_before(verb, WINDOW.format(opens=opens_in_ms, closes=closes_in_ms)):
            return call()

    def dump(self) -> dict[bytes, Any]:
        """All keys of the store with their content."""
        dump = {}
        for key, kind, content, groups in self.client.eval(DUMP, 0):
            # The fields of a hash come in no particular order.
            dump[key] = dict(pairwise(content)) if kind == b"hash" else (kind, content, groups)
        return dump

    def is_refused(self, verb: str, *, keys: int, args: list[str], message: str) -> None:
        """Check that a call with this number of keys and these arguments is a fault and changes nothing."""
        kinds = ("item", "buyers", "holds", "outbox", "ops", "latest", "line", "places")
        names, script = [getattr(self.keys, kind) for kind in kinds], getattr(scripts, verb.upper())
        with self.nothing_changes(), pytest.raises(ResponseError, match=says(message)):
            script.run(self.client, keys=names[:keys], args=args)

    # --- the guard ---

    @contextlib.contextmanager
    def unguarded(self) -> Iterator[None]:
        before, self.guarded = self.guarded, False
        try:
            yield
        finally:
            self.guarded = before

    @contextlib.contextmanager
    def nothing_changes(self) -> Iterator[None]:
        before = self.dump()
        yield
        assert self.dump() == before

    def watches(self, verb: str) -> bool:
        return self.guarded and self.only in (None, verb)

    def _watched(self, verb: str, call: Callable[[], Answer]) -> Answer:
        if not self.watches(verb):
            return call()
        before = self.dump()
        try:
            answer = call()
        except StoreUnreachable:
            assert self.dump() == before, "a call that failed changed something"
            raise
        word = word_of(answer)
        if word in YES.values():
            self.check_invariants()
        else:
            assert self.dump() == before, f"{word} changed something"
        return answer


def word_of(answer: Any) -> Any:
    """The word of a verb's answer."""
    if isinstance(answer, Reservation):
        return answer.outcome
    return answer.word if isinstance(answer, AdjustAnswer | JoinAnswer) else answer


def pairwise(flat: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    return zip(flat[::2], flat[1::2], strict=True)


def says(message: str) -> str:
    """A pattern for this message of a script, with what the store adds to it."""
    return f"(^|: ){re.escape(message)} script"
