"""The Lua scripts as Python functions: publish, reserve, readmit, confirm, release, adjust, restore, forget, archive.

Also reads the figures of items.

Every function makes one round trip to the reservation store. Expected answers are words; if the store cannot be
reached, does not answer in time, or refuses to write, StoreUnreachable is raised.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from redis import Redis

from seckill.ledger_words import (
    Adjusted,
    Archived,
    Confirmed,
    Forgotten,
    Published,
    Readmitted,
    Released,
    ReleaseReason,
    Restoration,
    RestoreAs,
    Restored,
    note_from,
    number_from,
)
from seckill.outcomes import BY_WORD, WITH_HOLD, Outcome, is_yes
from seckill.phase import Phase, phase_of
from seckill.store import scripts
from seckill.store.barrier import PinnedConnection, wait_for_replicas, wait_for_what_was_read
from seckill.store.client import answers_of, ask, ask_each
from seckill.store.keys import keys_of
from seckill.store.pipeline.asking import Pipelines
from shop.configuration.quick_setting import setting

# How the scripts answer `left` of an unlimited item.
UNLIMITED = ("", b"")


@dataclass(frozen=True, slots=True)
class Terms:
    """An item's terms, as the store keeps them. Times are milliseconds since 1970; `quantity` None means unlimited."""

    quantity: int | None
    opens_ms: int
    closes_ms: int
    hold_ms: int
    per_buyer_max: int
    price_minor: int
    currency: str


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A change of an item's terms. `units` are added, or withdrawn if negative; None leaves a field unchanged.

    `state` is `open` or `paused`; `closes_ms` is milliseconds since 1970, or `now` for the store's own clock.
    """

    units: int = 0
    state: str | None = None
    closes_ms: int | str | None = None
    per_buyer_max: int | None = None


@dataclass(frozen=True, slots=True)
class AdjustAnswer:
    """The result of an adjustment, and the item's figures then. None if unlimited, or if not in the store."""

    word: Adjusted
    quantity: int | None
    left: int | None
    held: int | None
    sold: int | None
    closes_ms: int | None


# Not frozen: setting ten fields would take three times as long, for each call of a stampede.
@dataclass(slots=True)
class Reservation:
    """The answer to an attempt to reserve.

    `units`, `deadline_ms`, `price_minor` and `currency` are set if the outcome is `reserved` or `already_reserved`.
    `left` is None for unlimited and unknown items; `retry_ms` is the time until the opening, for `not_open`.
    `remaining` is how many of the `per_buyer_max` units the buyer can still reserve, for `limit_reached`.
    """

    outcome: Outcome
    now_ms: int
    units: int = 0
    deadline_ms: int = 0
    price_minor: int = 0
    currency: str = ""
    left: int | None = None
    retry_ms: int = 0
    remaining: int = 0
    per_buyer_max: int = 0


@dataclass(frozen=True, slots=True)
class Counters(Terms):
    """An item in the store, at `now_ms` of the store's clock. `left` is None if it is unlimited.

    `backlog` is how many of its reservations are not orders yet. `pause_note` is by the codes of its languages.
    """

    now_ms: int
    state: str
    left: int | None
    held: int
    sold: int
    reservations: int
    backlog: int = 0
    pause_note: Mapping[str, str] | None = None

    @property
    def backlog_full(self) -> bool:
        """Whether so many reservations wait to become orders that reserve.lua refuses new ones."""
        most: int = setting("SECKILL_BACKLOG_MAX")
        return self.backlog >= most

    @property
    def phase(self) -> Phase:
        return phase_of(opens=self.opens_ms, closes=self.closes_ms, now=self.now_ms, paused=self.state == "paused")


def reserve(*, item_id: int, reservation_id: UUID | str, buyer_id: int, units: int) -> Reservation:
    """Hold `units` for the buyer until a deadline, or say why not. Idempotent by `reservation_id`."""
    keys, args = reserve_slots(item_id=item_id, reservation_id=reservation_id, buyer_id=buyer_id, units=units)
    new, repeated = Outcome.RESERVED, Outcome.ALREADY_RESERVED
    answer = ask_for_yes(scripts.RESERVE, item_id=item_id, keys=keys, args=args, new=new, repeated=repeated)
    return reservation_from(answer)


def readmit(
    *, item_id: int, reservation_id: UUID, buyer_id: int, units: int, reserved_ms: int, deadline_ms: int
) -> Readmitted:
    """Hold the units of a receipt again, whose reservation the store has lost. Idempotent by `reservation_id`."""
    keys = keys_of(item_id)
    slots = (keys.item, keys.buyers, keys.holds, keys.outbox, keys.latest)
    args = (str(reservation_id), buyer_id, units, reserved_ms, deadline_ms, setting("SECKILL_BACKLOG_MAX"))
    new, repeated = Readmitted.READMITTED, Readmitted.ALREADY_RESERVED
    return Readmitted(
        ask_for_yes(scripts.READMIT, item_id=item_id, keys=slots, args=args, new=new, repeated=repeated)[0]
    )


def ask_for_yes(
    script: scripts.Script,
    *,
    item_id: int,
    keys: tuple[str, ...],
    args: Sequence[scripts.Argument],
    new: str,
    repeated: str,
) -> list[str]:
    """The answer of a script. If it is a yes, one of the two words, enough replicas have it."""

    def run(client: Redis) -> list[str]:
        with PinnedConnection(client) as connection:
            answer = script.run_packed(connection, keys=keys, args=args)
            if answer[0] == new:
                wait_for_replicas(connection)
            elif answer[0] == repeated:
                wait_for_what_was_read(connection, item_id=item_id)
            return answer

    return ask(run, item_id=item_id)


async def reserve_in_pipeline(
    pipelines: Pipelines, *, item_id: int, reservation_id: UUID | str, buyer_id: int, units: int
) -> Reservation:
    """`reserve`, from an event loop. Raises StoreUnreachable and ServerNotKnown."""
    keys, args = reserve_slots(item_id=item_id, reservation_id=reservation_id, buyer_id=buyer_id, units=units)
    answer = await pipelines.run(scripts.RESERVE, item_id=item_id, keys=keys, args=args, is_yes=is_yes)
    return reservation_from(answer)


def reserve_slots(
    *, item_id: int, reservation_id: UUID | str, buyer_id: int, units: int
) -> tuple[tuple[str, ...], tuple[scripts.Argument, ...]]:
    """KEYS and ARGV of reserve.lua."""
    keys = keys_of(item_id)
    return (
        (keys.item, keys.buyers, keys.holds, keys.outbox, keys.latest),
        (str(reservation_id), buyer_id, units, setting("SECKILL_BACKLOG_MAX")),
    )


def reservation_from(answer: Sequence[Any]) -> Reservation:
    """Read the answer of reserve.lua, as text or as it comes. Its header says what follows which word."""
    outcome, now_ms = BY_WORD[answer[0]], int(answer[1])
    if outcome is Outcome.UNAVAILABLE:
        return Reservation(outcome, now_ms)
    left, more = None if answer[2] in UNLIMITED else int(answer[2]), answer[3:]
    if outcome in WITH_HOLD:
        units, deadline_ms, price_minor, currency = more
        currency = currency if isinstance(currency, str) else currency.decode()
        return Reservation(outcome, now_ms, int(units), int(deadline_ms), int(price_minor), currency, left)
    if outcome is Outcome.NOT_OPEN:
        return Reservation(outcome, now_ms, left=left, retry_ms=int(more[0]))
    if outcome is Outcome.LIMIT_REACHED:
        return Reservation(outcome, now_ms, left=left, remaining=int(more[0]), per_buyer_max=int(more[1]))
    return Reservation(outcome, now_ms, left=left)


def publish(*, item_id: int, terms: Terms, paused: bool = False, verified: bool = True) -> Published:
    """Put an item on sale with these terms. A second publish changes nothing, even with other terms.

    If not `verified`, buyers get `unavailable` until `item_state.mark_verified`: a rebuild restores the orders first.
    """
    keys = keys_of(item_id)
    args: list[scripts.Argument] = [
        "" if terms.quantity is None else terms.quantity,
        terms.opens_ms,
        terms.closes_ms,
        terms.hold_ms,
        terms.per_buyer_max,
        terms.price_minor,
        terms.currency,
        "paused" if paused else "open",
        "1" if verified else "",
    ]
    answer = ask(lambda client: scripts.PUBLISH.run(client, keys=[keys.item, keys.outbox], args=args), item_id=item_id)
    return Published(answer[0])


def confirm(*, item_id: int, reservation_ids: Sequence[UUID], even_unverified: bool = False) -> list[Confirmed]:
    """Mark held units as sold: their buyers have paid. One answer per reservation; idempotent.

    `unavailable` while the item is not verified, except for a repair, which passes `even_unverified`.
    """
    keys, unverified = keys_of(item_id), "1" if even_unverified else ""
    calls = [([keys.item, keys.holds], [str(reservation_id), unverified]) for reservation_id in reservation_ids]
    answers = ask(lambda client: scripts.CONFIRM.run_many(client, calls), item_id=item_id)
    return [Confirmed(answer[0]) for answer in answers]


def release(
    *,
    item_id: int,
    reservation_ids: Sequence[UUID],
    reason: ReleaseReason,
    even_unverified: bool = False,
    then: scripts.Then | None = None,
) -> list[Released]:
    """Put units back on sale and lower their buyers' counts. One answer per reservation; idempotent.

    `then` is in one atom with each. `unavailable` while the item is not verified, except for a repair, which passes
    `even_unverified`.
    """
    keys, unverified = keys_of(item_id), "1" if even_unverified else ""
    calls = [([keys.item, keys.buyers, keys.holds], [str(pk), reason.value, unverified]) for pk in reservation_ids]
    answers = ask(lambda client: scripts.RELEASE.run_many(client, calls, then=then), item_id=item_id)
    return [Released(answer[0]) for answer in answers]


def adjust(
    *, item_id: int, operation_id: UUID, adjustment: Adjustment, then: scripts.Then | None = None
) -> AdjustAnswer:
    """Change an item's terms while it is on sale, and `then` in one atom. Each `operation_id` is applied once."""
    keys = keys_of(item_id)
    args: list[scripts.Argument] = [
        str(operation_id),
        adjustment.units,
        adjustment.state or "",
        "" if adjustment.closes_ms is None else adjustment.closes_ms,
        "" if adjustment.per_buyer_max is None else adjustment.per_buyer_max,
    ]
    word, *figures = ask(
        lambda client: scripts.ADJUST.run_many(client, [([keys.item, keys.ops], args)], then=then)[0], item_id=item_id
    )
    return AdjustAnswer(Adjusted(word), *(int(figure) if figure else None for figure in figures))


def restore(
    *, item_id: int, reservation_id: UUID, buyer_id: int, units: int, deadline_ms: int, state: RestoreAs
) -> Restored:
    """Write one order's hold again, if the store has lost it or released it. Idempotent."""
    restoration = Restoration(reservation_id, buyer_id, units, deadline_ms, state)
    return restore_many(item_id=item_id, restorations=[restoration])[0]


def restore_many(*, item_id: int, restorations: Sequence[Restoration]) -> list[Restored]:
    """`restore` for many orders in one round trip. One answer per order."""
    keys = keys_of(item_id)
    calls: list[scripts.Call] = [
        (
            [keys.item, keys.buyers, keys.holds],
            [str(hold.reservation_id), hold.buyer_id, hold.units, hold.deadline_ms, hold.state.value],
        )
        for hold in restorations
    ]
    answers = ask(lambda client: scripts.RESTORE.run_many(client, calls), item_id=item_id)
    return [Restored(answer[0]) for answer in answers]


def forget(*, item_id: int, reservation_ids: Sequence[UUID], keep_ms: int) -> list[Forgotten]:
    """Remove ended holds whose deadline passed `keep_ms` ago. One answer per reservation; idempotent."""
    keys = keys_of(item_id)
    calls: list[scripts.Call] = [
        ([keys.item, keys.holds], [str(reservation_id), keep_ms]) for reservation_id in reservation_ids
    ]
    answers = ask(lambda client: scripts.FORGET.run_many(client, calls), item_id=item_id)
    return [Forgotten(answer[0]) for answer in answers]


def archive(*, item_id: int, over_ms: int) -> Archived:
    """Remove everything of an item that has been over for `over_ms`, except dead letters."""
    keys = keys_of(item_id)
    slots = [keys.item, keys.buyers, keys.holds, keys.outbox, keys.ops, keys.latest]
    answer = ask(lambda client: scripts.ARCHIVE.run(client, keys=slots, args=[over_ms]), item_id=item_id)
    return Archived(answer[0])


def read(*, item_id: int) -> Counters | None:
    """The item's terms and counters; None if a part of it is missing, or it is not verified."""
    return ask(lambda client: read_counters(client, [item_id]), item_id=item_id)[item_id]


def read_many(*, item_ids: Sequence[int]) -> dict[int, Counters | None]:
    """`read` for several items, in one round trip for each server. Items of a server that is silent are missing.

    Raises StoreUnreachable if no server answers.
    """
    return ask_each(read_counters, item_ids=item_ids)


def read_counters(client: Redis, item_ids: Sequence[int]) -> dict[int, Counters | None]:
    pipeline = client.pipeline(transaction=False)
    pipeline.time()
    pipeline.info("replication")
    for item_id in item_ids:
        pipeline.hgetall(keys_of(item_id).item)
        pipeline.xlen(keys_of(item_id).outbox)
    (seconds, microseconds), replication, *answers = answers_of(pipeline)
    items, backlogs = answers[0::2], answers[1::2]
    for answer in (replication, *items):
        if isinstance(answer, Exception):
            raise answer
    now_ms = seconds * 1000 + microseconds // 1000
    incarnation = str(replication["master_replid"]).encode()
    return {
        # A damaged outbox must not hide the counters.
        item_id: counters_from(item, now_ms=now_ms, backlog=backlog if isinstance(backlog, int) else 0)
        if item.get(b"incarnation") == incarnation
        else None
        for item_id, item, backlog in zip(item_ids, items, backlogs, strict=True)
    }


def counters_from(item: dict[bytes, bytes], *, now_ms: int, backlog: int = 0) -> Counters | None:
    """The item hash as Counters; None if a field is missing or cannot be read, as reserve.lua decides.

    `quantity` and `left` must both be there, or neither.
    """
    if (b"quantity" in item) != (b"left" in item):
        return None
    try:
        return Counters(
            now_ms=now_ms,
            opens_ms=number_from(item[b"opens_ms"]),
            closes_ms=number_from(item[b"closes_ms"]),
            hold_ms=number_from(item[b"hold_ms"]),
            per_buyer_max=number_from(item[b"per_buyer_max"]),
            price_minor=number_from(item[b"price_minor"]),
            currency=item[b"currency"].decode(),
            state=item[b"state"].decode(),
            quantity=number_from(item[b"quantity"]) if b"quantity" in item else None,
            left=number_from(item[b"left"]) if b"left" in item else None,
            held=number_from(item[b"held"]),
            sold=number_from(item[b"sold"]),
            reservations=number_from(item[b"reservations"]),
            backlog=backlog,
            pause_note=note_from(item[b"pause_note"]) if b"pause_note" in item else None,
        )
    except (KeyError, ValueError):
        return None


def clock_ms(*, item_id: int) -> int:
    """The clock of the item's server, in milliseconds since 1970. The item opens, closes and counts down by it."""
    seconds, microseconds = ask(lambda client: client.time(), item_id=item_id)
    return int(seconds) * 1000 + int(microseconds) // 1000
