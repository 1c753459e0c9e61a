"""Loads the Lua files and runs them by EVALSHA. After a restart or SCRIPT FLUSH, a script is loaded again."""

from collections.abc import Sequence
from hashlib import sha1
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import NoScriptError

LUA_DIR = Path(__file__).parent / "lua"

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
