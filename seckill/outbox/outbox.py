"""The Redis stream that carries each reservation to the database, read by the consumer group `intake`.

An entry is removed only by `acknowledge`, after its commit, or by `move_to_dead_letters`, if it can never be committed.
"""

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from redis import Redis
from redis.exceptions import ResponseError

from seckill.store.client import answers_of, ask, ask_each
from seckill.store.keys import keys_of

GROUP = "intake"
# The name stays the same after a restart, so that consumers do not pile up. Dead consumers are
# found by idle time, not by name.
CONSUMER = socket.gethostname()
# If an entry was read and not acknowledged for this long, its consumer is taken to be dead or hanging. If it is only
# slow, no harm is done: inserting is idempotent by reservation id. Short, since promise P5 allows 60 s in all.
TAKE_OVER_IDLE_MS = 10_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One outbox entry: its stream id, its fields as text, and the `incarnation` of the server that has it."""

    id: str
    fields: dict[str, str]
    incarnation: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """The entries of an outbox that are not orders yet, and the age of the oldest one; 0 if there is none.

    `dead` are entries that were set aside, since they can never become orders.
    """

    entries: int
    oldest_ms: int
    dead: int


def read_batch(*, item_id: int, count_max: int, consumer: str = CONSUMER) -> list[Entry]:
    """Entries of dead consumers and then new ones, `count_max` at most, all from one server. They stay pending until
    acknowledged.
    """
    key = keys_of(item_id).outbox

    def read(client: Redis) -> list[Entry]:
        try:
            return next_entries(client, key, count_max=count_max, consumer=consumer)
        except ResponseError as error:
            if "NOGROUP" not in str(error):
                raise
            if not create_lost_group(client, key):
                return []
            return next_entries(client, key, count_max=count_max, consumer=consumer)

    return ask(read, item_id=item_id)


def read_all(*, item_id: int, count_max: int) -> list[Entry]:
    """The oldest entries, read by another consumer or not: a reconcile must process all of them."""
    key = keys_of(item_id).outbox

    def read(client: Redis) -> list[Entry]:
        incarnation, found = with_incarnation(client, lambda pipeline: pipeline.xrange(key, count=count_max))
        return entries_from(found, incarnation=incarnation)

    return ask(read, item_id=item_id)


def oldest_ms(*, item_id: int) -> int | None:
    """When the oldest entry was written, by the store's clock; None if the outbox is empty."""
    entries: Any = ask(lambda client: client.xrange(keys_of(item_id).outbox, count=1), item_id=item_id)
    return int(entries[0][0].partition(b"-")[0]) if entries else None


def acknowledge(*, item_id: int, entry_ids: Sequence[str]) -> int:
    """Remove entries whose orders are committed. Returns how many there were: another consumer may have been faster, or
    this server has never had them.
    """
    if not entry_ids:
        return 0
    key = keys_of(item_id).outbox

    def remove(client: Redis) -> int:
        pipeline = client.pipeline(transaction=True)
        pipeline.xack(key, GROUP, *entry_ids)
        pipeline.xdel(key, *entry_ids)
        return int(pipeline.execute()[1])

    return ask(remove, item_id=item_id)


def move_to_dead_letters(*, item_id: int, entry: Entry, error: str) -> None:
    """Move an entry that can never be committed to the dead-letter stream, atomically."""
    keys = keys_of(item_id)
    record: dict[Any, Any] = {**entry.fields, "entry": entry.id, "error": error[:500]}

    def move(client: Redis) -> None:
        pipeline = client.pipeline(transaction=True)
        pipeline.xadd(keys.dead, record)
        pipeline.xack(keys.outbox, GROUP, entry.id)
        pipeline.xdel(keys.outbox, entry.id)
        pipeline.execute()

    ask(move, item_id=item_id)


def backlogs(*, item_ids: Sequence[int]) -> dict[int, int]:
    """The number of entries in each item's outbox, read or not. Items with none are left out.

    An outbox that cannot be read, a key of the wrong type, counts as 1: draining it says what is wrong.
    """

    def read(client: Redis, item_ids: Sequence[int]) -> dict[int, int]:
        pipeline = client.pipeline(transaction=False)
        for item_id in item_ids:
            pipeline.xlen(keys_of(item_id).outbox)
        found = zip(item_ids, answers_of(pipeline), strict=True)
        return {item_id: length if isinstance(length, int) else 1 for item_id, length in found if length}

    return ask_each(read, item_ids=item_ids)


def waiting(*, item_ids: Sequence[int]) -> dict[int, Waiting]:
    """The waiting entries of each item, also of items without any. One round trip for each server."""
    return ask_each(read_waiting, item_ids=item_ids)


def read_waiting(client: Redis, item_ids: Sequence[int]) -> dict[int, Waiting]:
    pipeline = client.pipeline(transaction=False)
    for item_id in item_ids:
        keys = keys_of(item_id)
        pipeline.xlen(keys.outbox)
        pipeline.xrange(keys.outbox, count=1)
        pipeline.xlen(keys.dead)
    pipeline.time()
    *answers, (seconds, microseconds) = pipeline.execute()
    now_ms = int(seconds) * 1000 + int(microseconds) // 1000
    return {
        item_id: Waiting(
            entries=length,
            oldest_ms=max(now_ms - int(oldest[0][0].partition(b"-")[0]), 0) if oldest else 0,
            dead=dead,
        )
        for item_id, length, oldest, dead in zip(item_ids, answers[0::3], answers[1::3], answers[2::3], strict=True)
    }


def next_entries(client: Redis, key: str, *, count_max: int, consumer: str) -> list[Entry]:
    """The consumer's next entries: first those of dead consumers, then new ones up to `count_max`."""
    incarnation, claimed = with_incarnation(
        client, lambda pipeline: pipeline.xautoclaim(key, GROUP, consumer, TAKE_OVER_IDLE_MS, count=count_max)
    )
    entries = entries_from(claimed[1], incarnation=incarnation)
    if len(entries) == count_max:
        return entries
    incarnation, new = with_incarnation(
        client, lambda pipeline: pipeline.xreadgroup(GROUP, consumer, {key: ">"}, count=count_max - len(entries))
    )
    added = entries_from([entry for _, stream in stream_pairs(new) for entry in stream], incarnation=incarnation)
    # Of another server, where one has taken over in between: they stay pending, and are claimed later.
    return entries + [entry for entry in added if not entries or entry.incarnation == entries[0].incarnation]


def with_incarnation(client: Redis, command: Callable[[Any], object]) -> tuple[str, Any]:
    """The answer to one command, and the incarnation of the server that gave it.

    Both in one transaction, so over one connection: the next one of the pool may lead to another server.
    """
    pipeline = client.pipeline(transaction=True)
    pipeline.info("replication")
    command(pipeline)
    replication, answer = pipeline.execute()
    return str(replication["master_replid"]), answer


def create_lost_group(client: Redis, key: str) -> bool:
    """Create the consumer group of a stream that lost it, from the first entry. False if there is no stream.

    Without a group the entries would never be read. Some may be read twice; inserting is idempotent.
    """
    if not client.exists(key):
        return False
    try:
        client.xgroup_create(key, GROUP, id="0")
    except ResponseError as error:
        # BUSYGROUP: another consumer has just created it.
        if "BUSYGROUP" not in str(error):
            raise
    return True


def stream_pairs(reply: Any) -> list[tuple[Any, Any]]:
    """XREADGROUP's answer as (stream, entries) pairs: a list in RESP2, a mapping in RESP3, nothing when empty."""
    if not reply:
        return []
    return list(reply.items()) if isinstance(reply, dict) else list(reply)


def entries_from(found: Sequence[tuple[bytes, dict[bytes, bytes]]], *, incarnation: str) -> list[Entry]:
    return [
        Entry(
            id=entry_id.decode(),
            fields={name.decode(errors="replace"): value.decode(errors="replace") for name, value in fields.items()},
            incarnation=incarnation,
        )
        for entry_id, fields in found
    ]
