"""The history: a file to which every client appends each intent before it acts and each answer after it.

JSON lines, flushed one by one, so that a run cut short leaves what was known; a torn last line is passed over.
"""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

# The word of an answer that never came: whether the call took effect nobody knows.
UNKNOWN = "unknown"


class Kind(StrEnum):
    """What a client wants."""

    RESERVE = "reserve"
    LOOK = "look"
    OPEN_PAGE = "open_page"
    PAY = "pay"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Event:
    """One line. `word` is empty for an intent; `call` ties an answer to its intent.

    `at_s` is the machine's monotonic clock, `wall_s` seconds since 1970. For a reservation `units` are those asked for
    in the intent and those granted in the answer; `buyer_id` and `reservation_id` are those of the pass, `told_id` is
    the reservation id that the answer names.
    """

    trial: str
    call: int
    client: str
    kind: Kind
    reservation_id: str
    buyer_id: int
    at_s: float
    wall_s: float
    word: str = ""
    status: int = 0
    units: int = 0
    told_id: str = ""

    @property
    def is_answer(self) -> bool:
        return bool(self.word)

    @property
    def is_yes(self) -> bool:
        return self.kind is Kind.RESERVE and self.status == 201


class History:
    """Appends events, from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events: list[Event] = []
        self._file = path.open("a", encoding="utf-8")
        self._lock = threading.Lock()
        self._calls = 0

    def intent(self, **fields: Any) -> int:
        """Note an intent. Returns the number of the call, for its answer."""
        with self._lock:
            self._calls += 1
            self._append(Event(call=self._calls, at_s=time.monotonic(), wall_s=time.time(), **fields))
            return self._calls

    def answer(self, **fields: Any) -> None:
        with self._lock:
            self._append(Event(at_s=time.monotonic(), wall_s=time.time(), **fields))

    def of(self, trial: str) -> list[Event]:
        """What was noted in this trial so far."""
        with self._lock:
            return [event for event in self.events if event.trial == trial]

    def close(self) -> None:
        self._file.close()

    def _append(self, event: Event) -> None:
        self.events.append(event)
        self._file.write(json.dumps(asdict(event)) + "\n")
        self._file.flush()


def read(path: Path) -> Iterator[Event]:
    """The events of a file. A torn last line is passed over. Raises ValueError for damage anywhere else."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    for number, line in enumerate(lines):
        if not line:
            continue
        try:
            fields = json.loads(line)
            yield Event(**{**fields, "kind": Kind(fields["kind"])})
        except (ValueError, KeyError, TypeError) as error:
            if number == len(lines) - 1:
                return
            raise ValueError(f"line {number + 1} of {path} is no event") from error
