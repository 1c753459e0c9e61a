"""Loads the Lua files and runs them by EVALSHA. A store that forgot one (restart, SCRIPT FLUSH) is taught it again."""

from collections.abc import Sequence
from hashlib import sha1
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import NoScriptError

LUA_DIR = Path(__file__).parent / "lua"

Argument = str | int


class Script:
    """One Lua file. Its header is the contract; tests/house/ holds the header against the body."""

    def __init__(self, verb: str, source: str | None = None) -> None:
        self.verb = verb
        self.source = source if source is not None else (LUA_DIR / f"{verb}.lua").read_text()
        self.sha = sha1(self.source.encode(), usedforsecurity=False).hexdigest()

    def run(self, client: Redis, *, keys: Sequence[str], args: Sequence[Argument]) -> list[str]:
        """The script's answer as text. One round trip; two where the store has to be taught the script first."""
        try:
            reply = client.evalsha(self.sha, len(keys), *keys, *args)
        except NoScriptError:
            # Nothing of the script has run, so this is a first run and not a repetition. EVAL also teaches.
            reply = client.eval(self.source, len(keys), *keys, *args)
        return as_text(reply)

    def run_many(self, client: Redis, calls: Sequence[tuple[Sequence[str], Sequence[Argument]]]) -> list[list[str]]:
        """The answers to many calls in one round trip. Not atomic: each call stands alone."""
        try:
            return self._pipeline(client, calls)
        except NoScriptError:
            client.script_load(self.source)
            # Verbs are idempotent, so calls that ran before the store forgot may be repeated.
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
