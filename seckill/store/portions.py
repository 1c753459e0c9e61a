"""Reads items of one server for the gate of a web process, many in one round trip.

With several hundred items this is most of the gate's work, so the commands are packed once for each item, answers are
as few as possible, and redis-py's pipeline, which needs as long as the rest, is not used.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import starmap
from typing import Any

from redis import Redis
from redis.exceptions import ReadOnlyError, ResponseError

from seckill.store.barrier import PinnedConnection
from seckill.store.keys import keys_of
from seckill.store.scripts import packed

ROLE, REPLICATION_ID = re.compile(rb"^role:(\w+)", re.M), re.compile(rb"^master_replid:(\w+)", re.M)
# The fields of an item that its state depends on.
FIELDS = (
    *("opens_ms", "closes_ms", "hold_ms", "per_buyer_max", "price_minor", "currency", "state"),
    *("quantity", "left", "held", "sold", "reservations", "incarnation", "verification"),
)
NAMES = tuple(name.encode() for name in FIELDS)
# The bits of the answer to `existence`.
OUTBOX, BUYERS, HOLDS = 1, 2, 4


@dataclass(frozen=True, slots=True)
class Clock:
    """The store's clock was `now_ms` at some moment between `sent_s` and `received_s` of this process's clock."""

    sent_s: float
    received_s: float
    now_ms: int

    def earliest_ms(self, now_s: float) -> int:
        """The store's clock at `now_s` cannot show less."""
        return self.now_ms + int((now_s - self.received_s) * 1000)

    def latest_ms(self, now_s: float) -> int:
        """The store's clock at `now_s` cannot show more."""
        return self.now_ms + 1 + math.ceil((now_s - self.sent_s) * 1000)


# The answers for one item: the values of FIELDS, which keys exist, the latest reservations, the backlog. They are equal
# to those of the time before if nothing has changed. Each may be an error of the server.
Answers = tuple[Any, Any, Any, Any]


@dataclass(frozen=True, slots=True)
class Portion:
    """What the server said of some items, in their order; `incarnation` is the server's."""

    clock: Clock
    incarnation: bytes
    answers: list[Answers]


def read_portion(client: Redis, items: Sequence[tuple[int, int]], *, clock_s: Callable[[], float]) -> Portion:
    """Read these items in one round trip; beside each id is how many of its latest reservations are wanted.

    Raises redis-py's errors, and ReadOnlyError if a replica answers.
    """
    with PinnedConnection(client) as connection:
        sent_s = clock_s()
        connection.send_packed_command([HEAD + b"".join(starmap(commands_for, items))])
        replies = [reply_of(connection) for _ in range(2 + 4 * len(items))]
        received_s = clock_s()
    for reply in replies[:2]:
        if isinstance(reply, Exception):
            raise reply
    (seconds, microseconds), replication = replies[:2]
    role, replication_id = ROLE.search(replication), REPLICATION_ID.search(replication)
    if role is None or replication_id is None or role[1] != b"master":
        # The primary was demoted. It lags, and reading alone would not show that.
        raise ReadOnlyError("a replica has answered")
    clock = Clock(sent_s, received_s, now_ms=int(seconds) * 1000 + int(microseconds) // 1000)
    four = [iter(replies[2:])] * 4
    return Portion(clock, replication_id[1], list(zip(*four, strict=True)))


def reply_of(connection: Any) -> Any:
    """The next reply; an error of the server is a reply like another."""
    try:
        return connection.read_response(disable_decoding=True)
    except ResponseError as error:
        return error


def command(*words: str) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(map(packed, words))


HEAD = command("TIME") + command("INFO", "replication")


@lru_cache(maxsize=10_000)
def commands_for(item_id: int, latest_count: int) -> bytes:
    """Four commands, each with one answer."""
    keys = keys_of(item_id)
    # EXISTS counts a key as often as it is named, so the number says which of the keys exist.
    existence = ("EXISTS", keys.outbox, *[keys.buyers] * BUYERS, *[keys.holds] * HOLDS)
    # The list comes after the counters: it has every reservation that they count.
    latest = ("LRANGE", keys.latest, "0", str(latest_count - 1))
    return command("HMGET", keys.item, *FIELDS) + command(*existence) + command(*latest) + command("XLEN", keys.outbox)
