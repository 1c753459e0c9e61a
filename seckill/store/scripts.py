"""Loads the Lua files and runs them by EVALSHA. After a restart or SCRIPT FLUSH, a script is loaded again."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha1
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import NoScriptError

LUA_DIR = Path(__file__).parents[1] / "lua"

Argument = str | int


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

    def run_many(self, client: Redis, calls: Sequence[tuple[Sequence[str], Sequence[Argument]]]) -> list[list[str]]:
        """The answers to many calls in one round trip. Each call is atomic, all of them together are not."""
        try:
            return self._pipeline(client, calls)
        except NoScriptError:
            client.script_load(self.source)
            # Some calls may have run before the script was lost. They can be repeated: verbs are idempotent.
            return self._pipeline(client, calls)

    def _pipeline(self, client: Redis, calls: Sequence[tuple[Sequence[str], Sequence[Argument]]]) -> list[list[str]]:
        pipeline = client.pipeline(transaction=False)
        for keys, args in calls:
            pipeline.evalsha(self.sha, len(keys), *keys, *args)
        return [as_text(reply) for reply in pipeline.execute()]


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
    return [part.decode() if isinstance(part, bytes) else str(part) for part in reply]


PUBLISH = Script("publish")
RESERVE = Script("reserve")
CONFIRM = Script("confirm")
RELEASE = Script("release")
ADJUST = Script("adjust")
RESTORE = Script("restore")
FORGET = Script("forget")
ARCHIVE = Script("archive")
# Of waiting rooms (seckill/waiting_room/room_ledger.py).
ARRIVE = Script("arrive")
ADMIT = Script("admit")
ENTER = Script("enter")
ALL = (PUBLISH, RESERVE, CONFIRM, RELEASE, ADJUST, RESTORE, FORGET, ARCHIVE, ARRIVE, ADMIT, ENTER)


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
