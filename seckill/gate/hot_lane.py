"""The hot lane: reserves for ordinary calls without Django's middleware and without DRF, and answers as the view would.

A web process asks it in a thread, after the gate could not answer and before Django is entered. Every call that is not
ordinary (seckill/gate/calls.py) goes to the view, `ReservationView` in seckill/api.py, which decides about all that is
wrong with it.

The bodies come from the functions of the view. The headers are those of the view's own answers: the first call of each
kind goes to the view, and the headers of its answer are kept for the next ones. So whatever the middleware adds is in
the answers of the hot lane too.
"""

import json
import logging
from dataclasses import dataclass

from django.utils.translation import override

from seckill.api import accepted_body, refusal
from seckill.gate.calls import Call
from seckill.gate.gate import UNREPEATABLE
from seckill.gate.rendered import Answer
from seckill.ledger import Reservation
from seckill.outcomes import HTTP, Outcome
from seckill.passes import Pass
from seckill.reservation import ACCEPTED, reserve
from shop.http.problems import CONTENT_TYPE

Headers = list[tuple[str, str]]

# Clients choose the headers that make a context. With more of them, all are learnt again.
CONTEXTS_MAX = 1_000
# Headers whose values belong to one answer. The others are the same for all answers of a kind in a context.
OF_ONE_ANSWER = {"Content-Length", "Location", "Retry-After"}

# The logger of the middleware's lines about requests.
REQUEST_LOG = "django_structlog.middlewares.request"


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of the view's answers in one context: the language, and the headers by outcome."""

    language: str
    headers: dict[str, Headers]


class HotLane:
    """Called from many threads. What they keep is replaced as a whole, so none sees a half of it."""

    def __init__(self) -> None:
        # The middleware writes a line for each request at this level. Who wants them gets them all.
        self._is_off = logging.getLogger(REQUEST_LOG).isEnabledFor(logging.INFO)
        self._kept: dict[tuple[str | None, ...], Kept] = {}

    def answer(self, call: Call) -> Answer | None:
        """Reserve, and answer as the view would. None if the view must answer; then tell by `learn` what it said.

        The view may then repeat the reservation, which is safe: it tells the buyer what the store says then.
        """
        kept = None if self._is_off else self._kept.get(call.context)
        # Only with the headers for a yes: asked again by the view, a pass gets `already_reserved`.
        if call.pass_ is None or kept is None or Outcome.RESERVED not in kept.headers:
            return None
        reservation = reserve(pass_=call.pass_, units=call.units)
        headers = kept.headers.get(reservation.outcome)
        return None if headers is None else answer_of(call.pass_, reservation, headers, language=kept.language)

    def learn(self, call: Call, answer: Answer) -> None:
        """Keep the headers of the view's answer to a call that the hot lane could not answer."""
        status, headers, body = answer
        values = dict(headers)
        language = values.get("Content-Language")
        if call.pass_ is None or language is None or not UNREPEATABLE.isdisjoint(values):
            return
        outcome = outcome_of(status, values, body)
        if outcome is None:
            return
        if len(self._kept) >= CONTEXTS_MAX:
            self._kept = {}
        known = self._kept.get(call.context, Kept(language, {}))
        self._kept[call.context] = Kept(language, {**known.headers, outcome: headers})


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


def answer_of(pass_: Pass, reservation: Reservation, headers: Headers, *, language: str) -> Answer:
    """The view's answer: its body, and the headers that it had before."""
    if reservation.outcome in ACCEPTED:
        content = accepted_body(pass_, reservation)
        # As DRF's renderer writes it.
        body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
        values = {"Location": content["status_url"]}
    else:
        with override(language):
            response = refusal(reservation)
        body = response.content
        values = {"Retry-After": response["Retry-After"]} if "Retry-After" in response else {}
    values["Content-Length"] = str(len(body))
    own = [(name, values[name] if name in OF_ONE_ANSWER else value) for name, value in headers]
    return HTTP[reservation.outcome].status, own, body
