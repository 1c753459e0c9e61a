"""What the views' answers look like: their headers, and the language that a client gets.

Gate and hot lane make bodies and take the rest from here, so what the middleware adds is written nowhere a second time:
the first answer of each kind to calls with the same context is a view's, and the next ones look like it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from seckill.gate.calls import Call, Kind
from seckill.gate.rendered import Answer, Shape, shape_of
from seckill.gate.words import GIVEN, LIVE, NOT_MODIFIED
from seckill.outcomes import Outcome
from shop.http.problems import CONTENT_TYPE

# Clients choose the headers that make a context. With more of them, all are learnt again.
CONTEXTS_MAX = 1_000
# What is meant for one client, or was encoded for it, is not given to others.
UNREPEATABLE = {"Set-Cookie", "Content-Encoding"}

NONE: Mapping[tuple[Kind, str], Shape] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the answers in one context: the language, and the shapes by kind of call and word."""

    language: str
    shapes: Mapping[tuple[Kind, str], Shape] = field(default=NONE)


class ViewAnswers:
    """Used by the event loop and by many threads. What is known is replaced as a whole, so none sees a half of it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str | None, ...], Known] = {}
        self._shapes: dict[Shape, Shape] = {}

    def find(self, call: Call) -> Known | None:
        return self._known.get(call.context)

    def learn(self, call: Call, answer: Answer) -> None:
        """Remember the shape of a view's answer to the call."""
        status, header_list, body = answer
        headers = dict(header_list)
        language = headers.get("Content-Language")
        if language is None or not UNREPEATABLE.isdisjoint(headers):
            return
        word = word_of(call.kind, status, headers, body)
        if word is None:
            return
        if len(self._known) >= CONTEXTS_MAX:
            self._known, self._shapes = {}, {}
        shape = shape_of(status, header_list)
        # One object for equal ones, so that the gate has few to render.
        shape = self._shapes.setdefault(shape, shape)
        known = self._known.get(call.context, Known(language))
        self._known[call.context] = Known(language, {**known.shapes, (call.kind, word): shape})


def word_of(kind: Kind, status: int, headers: dict[str, str], body: bytes) -> str | None:
    """The word for a view's answer; None for those that are left to the views."""
    if kind is Kind.RESERVATION:
        return outcome_of(status, headers, body)
    if kind in (Kind.PASS, Kind.STATUS):
        return {201: GIVEN, 200: GIVEN}.get(status)
    return {200: LIVE, 304: NOT_MODIFIED}.get(status)


def outcome_of(status: int, headers: dict[str, str], body: bytes) -> Outcome | None:
    """Which outcome the view answered with; None if it did not come to ask the store."""
    if status == 201:
        return Outcome.ALREADY_RESERVED if "Idempotent-Replayed" in headers else Outcome.RESERVED
    if headers.get("Content-Type") != CONTENT_TYPE:
        return None
    content = json.loads(body)
    outcome = next((outcome for outcome in Outcome if outcome == content["code"]), None)
    # Other problems have the code `unavailable` too, but not the store's time.
    return outcome if outcome is not None and "server_time" in content else None
