"""Reads items of one server for the gate of a web process, many in one round trip.

With several hundred items this is most of the gate's work, so the commands are packed once for each item, and answers
are as few as possible. They are compared as the bytes that they came as: most of the time nothing has changed, and then
nothing is parsed.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import starmap
from typing import Any

import hiredis
from redis import Redis, exceptions
from redis._parsers import BaseParser
from redis.exceptions import InvalidResponse, ReadOnlyError

from seckill.store.barrier import PinnedConnection
from seckill.store.keys import keys_of
from seckill.store.scripts import packed_command

ROLE, REPLICATION_ID = re.compile(rb"^role:(\w+)", re.M), re.compile(rb"^master_replid:(\w+)", re.M)
# The fields of an item that its state depends on.
FIELDS = (
    *("opens_ms", "closes_ms", "hold_ms", "per_buyer_max", "price_minor", "currency", "state"),
    *("quantity", "left", "held", "sold", "reservations", "incarnation", "verification", "pause_note"),
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
    """What the server said of some items, in their order; `incarnation` is the server's. `raw` is what it sent."""

    clock: Clock
    incarnation: bytes
    answers: list[Answers]
    items: Sequence[tuple[int, int]]
    raw: bytes


def read_portion(
    client: Redis, items: Sequence[tuple[int, int]], *, clock_s: Callable[[], float], before: Portion | None = None
) -> Portion:
    """Read these items in one round trip; beside each id is how many of its latest reservations are wanted.

    `before` is the portion of the time before, whose answers serve again where nothing has changed. Raises redis-py's
    errors, and ReadOnlyError if a replica answers.
    """
    with PinnedConnection(client) as connection:
        sent_s = clock_s()
        connection.send_packed_command([HEAD + b"".join(starmap(commands_for, items)) + TAIL])
        received = receive(connection)
        received_s = clock_s()
    head = HEAD_REPLIES.match(received)
    end = TAIL_REPLY.search(received, max(len(received) - TAIL_BYTES_MAX, 0))
    if head is None or end is None:
        raise next((reply for reply in parsed(received) if isinstance(reply, Exception)), InvalidResponse("no time"))
    seconds, microseconds, info_bytes = map(int, head.groups())
    info_ends = head.end() + info_bytes
    replication, raw = received[head.end() : info_ends], received[info_ends + len(b"\r\n") : end.start()]
    role, replication_id = ROLE.search(replication), REPLICATION_ID.search(replication)
    if role is None or replication_id is None or role[1] != b"master":
        # The primary was demoted. It lags, and reading alone would not show that.
        raise ReadOnlyError("a replica has answered")
    clock = Clock(sent_s, received_s, now_ms=seconds * 1000 + microseconds // 1000)
    if before is not None and before.raw == raw and before.items == items:
        return Portion(clock, replication_id[1], before.answers, items, raw)
    four = [iter(parsed(raw))] * 4
    return Portion(clock, replication_id[1], list(zip(*four, strict=True)), items, raw)


def receive(connection: Any) -> bytes:
    """All replies, up to the one to TAIL. A server that refuses at once says so instead."""
    received = b""
    while not TAIL_REPLY.search(received, max(len(received) - TAIL_BYTES_MAX, 0)):
        try:
            part = connection._sock.recv(READ_BYTES)
        except TimeoutError as error:
            raise exceptions.TimeoutError("the server is silent") from error
        except OSError as error:
            raise exceptions.ConnectionError(str(error)) from error
        if not part:
            raise exceptions.ConnectionError("the server has closed the connection")
        received += part
        if received.startswith(b"-"):
            # Replies to the other commands may still come.
            connection.disconnect()
            break
    return received


def parsed(raw: bytes) -> list[Any]:
    """The replies. An error of the server is a reply like another."""
    reader = hiredis.Reader(protocolError=InvalidResponse, replyError=BaseParser.parse_error, notEnoughData=INCOMPLETE)
    reader.feed(raw)
    return list(iter(reader.gets, INCOMPLETE))


HEAD = packed_command("TIME") + packed_command("INFO", "replication")
# TIME is answered in every state of a server, and nothing that items have looks like its reply.
TAIL = packed_command("TIME")
HEAD_REPLIES = re.compile(rb"\*2\r\n\$\d+\r\n(\d+)\r\n\$\d+\r\n(\d+)\r\n[$=](\d+)\r\n")
TAIL_REPLY = re.compile(rb"\*2\r\n\$10\r\n\d{10}\r\n\$\d\r\n\d{1,6}\r\n\Z")
TAIL_BYTES_MAX = 40
READ_BYTES = 65_536
INCOMPLETE = object()


@lru_cache(maxsize=10_000)
def commands_for(item_id: int, latest_count: int) -> bytes:
    """Four commands, each with one answer."""
    keys = keys_of(item_id)
    # EXISTS counts a key as often as it is named, so the number says which of the keys exist.
    existence = ("EXISTS", keys.outbox, *[keys.buyers] * BUYERS, *[keys.holds] * HOLDS)
    # The list comes after the counters: it has every reservation that they count.
    latest = ("LRANGE", keys.latest, 0, latest_count - 1)
    calls = (("HMGET", keys.item, *FIELDS), existence, latest, ("XLEN", keys.outbox))
    return b"".join(packed_command(*words) for words in calls)
