"""When each sweep last did its work: workers note it, and /metrics reads it.

A sweep notes its success in memory. A thread of the worker writes the notes to the cache server, so that no sweep waits
for a cache server that is away.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from django.core.cache import cache

from shop.background.lazy_thread import LazyThread
from shop.background.outages import AWAY, go_on, wait

INTERVAL_SECONDS = 5.0
WORK = "sweep_notes"


@dataclass(frozen=True, slots=True)
class Note:
    """When a sweep last succeeded, in seconds since 1970, and how long its message had waited in the queue.

    None if it has not succeeded since the cache server was last emptied: then `at_s` is when that was noticed.
    """

    at_s: float
    waited_seconds: float | None


_succeeded: dict[str, Note] = {}


def note_success(name: str, *, waited_seconds: float) -> None:
    """Returns at once and never raises."""
    _succeeded[name] = Note(time.time(), waited_seconds)
    _writer.wake()


def waited_seconds(*, expires: object, life_seconds: float) -> float:
    """How long a message waited that expires `life_seconds` after it was sent; 0 if it does not say when."""
    if not isinstance(expires, str):
        return 0.0
    moment = datetime.fromisoformat(expires)
    sent_s = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - life_seconds
    return max(time.time() - sent_s, 0.0)


def write() -> None:
    """Write the notes of this process that are new."""
    notes = {key_of(name): (note.at_s, note.waited_seconds) for name, note in list(_succeeded.items())}
    _succeeded.clear()
    try:
        cache.set_many(notes, timeout=None)
    except AWAY as error:
        wait(WORK, error)
    else:
        go_on(WORK)


def last_notes(names: Iterable[str]) -> dict[str, Note]:
    """The last note of each sweep. One without any counts from now on: it may be that no worker takes it."""
    keys = {name: key_of(name) for name in names}
    found = cache.get_many(keys.values())
    for key in keys.values() - found.keys():
        found[key] = (time.time(), None)
        cache.add(key, found[key], timeout=None)
    return {name: Note(*found[key]) for name, key in keys.items()}


def key_of(name: str) -> str:
    return f"{WORK}.{name}"


def _write_and_pause() -> None:
    write()
    time.sleep(INTERVAL_SECONDS)


_writer = LazyThread(_write_and_pause, name="sweep-notes")
