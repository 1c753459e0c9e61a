"""The history: a file to which every client appends each request before it is sent and each answer after it came.

JSON lines, flushed one by one, so that nothing is missing after a run that was cut short.
"""

import json
import threading
import time
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

# The outcome of a call that got no answer: whether it took effect is unknown.
UNKNOWN = "unknown"


class Action(StrEnum):
    """A request that a client can make."""

    RESERVE = "reserve"
    JOIN = "join"
    GET_RESERVATION = "get_reservation"
    BRING_RECEIPT = "bring_receipt"
    OPEN_PAGE = "open_page"
    PAY = "pay"
    CANCEL = "cancel"
    FILL_CART = "fill_cart"
    CHECK_OUT = "check_out"


@dataclass(frozen=True, slots=True)
class Event:
    """One line. `outcome` is empty for a request; `call` is the same for a request and its answer.

    `at_s` is the machine's monotonic clock, `wall_s` seconds since 1970, to compare with logs. For a reservation,
    `units` are those asked for in a request and those granted in an answer; `buyer_id` and `reservation_id` are those
    of the pass, `id_in_answer` is the reservation id in the answer. For a purchase in the ordinary shop,
    `reservation_id` is the key of its checkout, and `id_in_answer` the number of the order.
    """

    trial: str
    call: int
    client: str
    action: Action
    reservation_id: str
    buyer_id: int
    at_s: float
    wall_s: float
    outcome: str = ""
    status: int = 0
    units: int = 0
    id_in_answer: str = ""

    @property
    def is_answer(self) -> bool:
        return bool(self.outcome)

    @property
    def is_yes(self) -> bool:
        return self.action is Action.RESERVE and self.status == 201

    @property
    def is_order(self) -> bool:
        """Whether a checkout was told yes."""
        return self.action is Action.CHECK_OUT and self.status == 201


class History:
    """Appends events, from any thread."""

    def __init__(self, path: Path) -> None:
        self.events: list[Event] = []
        self._file = path.open("a", encoding="utf-8")
        self._lock = threading.Lock()
        self._calls = 0

    def add_request(self, **fields: Any) -> int:
        """Append a request. Returns the number of the call, for its answer."""
        with self._lock:
            self._calls += 1
            self._append(Event(call=self._calls, at_s=time.monotonic(), wall_s=time.time(), **fields))
            return self._calls

    def add_answer(self, **fields: Any) -> None:
        with self._lock:
            self._append(Event(at_s=time.monotonic(), wall_s=time.time(), **fields))

    def of(self, trial: str) -> list[Event]:
        with self._lock:
            return [event for event in self.events if event.trial == trial]

    def close(self) -> None:
        self._file.close()

    def _append(self, event: Event) -> None:
        self.events.append(event)
        self._file.write(json.dumps(asdict(event)) + "\n")
        self._file.flush()
