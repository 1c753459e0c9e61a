"""The steps of a purchase, from the front door to the mail, for a shop that traces them (shop/tracing/spans.py).

The id of the trace is that of the purchase: the reservation's, or the number of an ordinary order. Every process that
takes a step knows it, from the pass, the outbox or the order, so nothing else travels through the store. Orders are
worked on because of their rows, not because of a message, and a trace that came with messages would end there.
"""

import time
from datetime import datetime
from typing import Protocol
from uuid import UUID


class Recorder(Protocol):
    """What is done with the steps and the requests. Its functions return at once and never raise."""

    def note_step(self, *, purchase: UUID, name: str, began_s: float, words: dict[str, str | int]) -> None: ...

    def note_request(self, *, route: str, began_s: float, words: dict[str, str | int]) -> None: ...


class Steps:
    """Those of this process. `recorder` is None where nothing is traced."""

    recorder: Recorder | None = None

    def note(self, purchase: UUID, name: str, *, began: float | datetime | None, **words: str | int) -> None:
        """Note a step that has just ended. `began` may be in seconds since 1970; None: it took no time."""
        if self.recorder is not None:
            began_s = began.timestamp() if isinstance(began, datetime) else began or time.time()
            self.recorder.note_step(purchase=purchase, name=name, began_s=began_s, words=words)


steps = Steps()
