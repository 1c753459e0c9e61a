"""Loads the Lua files and runs them by EVALSHA. After a restart or SCRIPT FLUSH, a script is loaded again."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha1
from pathlib import Path
from typing import Any

import structlog
from redis import Redis
from redis.exceptions import NoScriptError

log = structlog.get_logger(__name__)

LUA_DIR = Path(__file__).parents[1] / "lua"

Argument = str | int
# KEYS and ARGV.
Call = tuple[Sequence[str], Sequence[Argument]]


class Script:
    """One Lua file. Its header is the contract; a test in tests/house/ compares the header with the body."""

    def __init__(self, verb: str, source: str | None = None) -> None:
        self.verb = verb
        self.source = source if source is not None else (LUA_DIR / f"{verb}.lua").read_text()
        self.sha = sha1(self.source.encode(), usedforsecurity=False).hexdigest()

    def run(self, client: Redis, *, keys: Sequence[str], args: Sequence[Argument]) -> list[str]:
        """The script's answer as text. One round trip; two if the store does not have the script."""
        try:
            reply = client.evalsha(self.sha, len(keys), *keys, *args)
        except NoScriptError:
            # The script has not run, so nothing is repeated. EVAL also loads it.
            reply = client.eval(self.source, len(keys), *keys, *args)
        return as_text(reply)

    def run_packed(self, connection: Any, *, keys: tuple[str, ...], args: Sequence[Argument]) -> list[str]:
        """As `run`, but faster, for the calls of a stampede.

        `connection` is one of the client's pool (seckill/store/barrier.py), so time limits, sign-in, TLS and Sentinel
        are those of the client.
        """
        connection.send_packed_command([self.packed_call(keys=keys, args=args)])
        try:
            return as_text(connection.read_response(disable_decoding=True))
        except NoScriptError:
            # As in `run`.
            connection.send_command("EVAL", self.source, len(keys), *keys, *args)
            return as_text(connection.read_response(disable_decoding=True))

    def packed_call(self, *, keys: tuple[str, ...], args: Sequence[Argument]) -> bytes:
        """The bytes of EVALSHA. Most of them are put together only once for each item."""
        return command_head(self.sha, keys, len(args)) + b"".join([packed(str(arg)) for arg in args])

    def run_many(self, client: Redis, calls: Sequence[Call], *, then: "Then | None" = None) -> list[list[str]]:
        """The answers to many calls in one round trip. Each call is atomic, all of them together are not.

        `then` runs after each call, in one atom with it. Its answers are dropped.
        """
        try:
            return self._pipeline(client, calls, then=then)
        except NoScriptError:
            client.script_load(self.source)
            if then:
                client.script_load(then.script.source)
            # Some calls may have run before the script was lost. They can be repeated: verbs are idempotent.
            return self._pipeline(client, calls, then=then)

    def _pipeline(self, client: Redis, calls: Sequence[Call], *, then: "Then | None" = None) -> list[list[str]]:
        pipeline: Any = client.pipeline(transaction=False)
        for keys, args in calls:
            if then:
                pipeline.execute_command("MULTI")
            pipeline.evalsha(self.sha, len(keys), *keys, *args)
            if then:
                pipeline.evalsha(then.script.sha, len(then.keys), *then.keys, *then.args)
                pipeline.execute_command("EXEC")
        replies = pipeline.execute()
        # Of MULTI, of each call that it queues, and of EXEC.
        return [as_text(reply) for reply in (map(first_of_two, replies[3::4]) if then else replies)]


@dataclass(frozen=True, slots=True)
class Then:
    """A call that follows another one in the same atom."""

    script: Script
    keys: Sequence[str]
    args: Sequence[Argument]


def first_of_two(replies: Sequence[Any]) -> Any:
    """The reply to the first script of an atom. Raises its error, and NoScriptError of both.

    Another error of the second script, such as that of a full store, is logged alone: the first has done its part.
    """
    first, second = replies
    for error in (first, second):
        if isinstance(error, NoScriptError):
            raise error
    if isinstance(first, Exception):
        raise first
    if isinstance(second, Exception):
        log.warning("second_script_failed", error=str(second))
    return first


def packed(word: str) -> bytes:
    """One word of a command in the protocol of Redis."""
    text = word.encode()
    return b"$%d\r\n%b\r\n" % (len(text), text)


@lru_cache(maxsize=1000)
def command_head(sha: str, keys: tuple[str, ...], args: int) -> bytes:
    """The bytes of EVALSHA up to its arguments."""
    words = ["EVALSHA", sha, str(len(keys)), *keys]
    return b"*%d\r\n" % (len(words) + args) + b"".join(map(packed, words))


def packed_command(*words: str | int) -> bytes:
    """The bytes of any command."""
    return b"*%d\r\n" % len(words) + b"".join([packed(str(word)) for word in words])


def as_text(reply: Any) -> list[str]:
    """A script's array of bulk strings and integers, as text."""
    return [part.decode() if type(part) is bytes else str(part) for part in reply]


PUBLISH = Script("publish")
RESERVE = Script("reserve")
READMIT = Script("readmit")
CONFIRM = Script("confirm")
RELEASE = Script("release")
ADJUST = Script("adjust")
RESTORE = Script("restore")
FORGET = Script("forget")
ARCHIVE = Script("archive")
OPEN_LINE = Script("open_line")
JOIN_LINE = Script("join_line")
LEAVE_LINE = Script("leave_line")
HAND_ON = Script("hand_on")
OF_LINES = (OPEN_LINE, JOIN_LINE, LEAVE_LINE, HAND_ON)
# Of waiting rooms (seckill/waiting_room/room_ledger.py).
ARRIVE = Script("arrive")
ADMIT = Script("admit")
ENTER = Script("enter")
OF_ROOMS = (ARRIVE, ADMIT, ENTER)
ALL = (PUBLISH, RESERVE, READMIT, CONFIRM, RELEASE, ADJUST, RESTORE, FORGET, ARCHIVE, *OF_LINES, *OF_ROOMS)


def load(client: Redis) -> None:
    """Load all scripts into the store before their first calls."""
    for script in ALL:
        client.script_load(script.source)


def connect(client: Redis, *, count: int) -> None:
    """Open `count` connections of the client's pool before the first calls."""
    pool = client.connection_pool
    taken: list[Any] = []
    try:
        while len(taken) < count:
            taken.append(pool.get_connection())
    finally:
        for connection in taken:
            pool.release(connection)
