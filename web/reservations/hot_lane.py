"""The hot lane: answers ordinary calls without Django's middleware and without DRF, as the views would.

At an opening, all buyers ask at once for live figures, for what is personal on their page, for passes, reservations and
their status. An ordinary call (web/reservations/calls.py) is read once and then tried in three ways:
`now` answers from memory (web/reservations/gate.py), `ask` asks the reservation store through the pipeline, `in_thread`
asks PostgreSQL who the caller is. Where none of them is certain, a view answers, and the lane learns from it.
Calls that are not ordinary go to their view at once, which finds out what is wrong with them.

The bodies come from the functions of the views, the headers from the views' own answers (web/reservations/headers.py).
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any

from django.utils.translation import override

from seckill.api.views import accepted_body, refusal
from seckill.ledger import Reservation
from seckill.live.answer_counts import ERROR, answer_counts
from seckill.outcomes import Outcome
from seckill.passes.passes import Pass
from seckill.reservation import ACCEPTED, reserve_in_pipeline
from seckill.store.pipeline.asking import Pipelines, ServerNotKnown
from shop.background.faults import Faults
from web.reservations.calls import Kind, OrdinaryCall, read_call, read_question
from web.reservations.gate import Gate
from web.reservations.headers import GIVEN, HeaderTemplate, ViewAnswers, answer_of
from web.reservations.signed_in import SignedInCalls
from web.wsgi_request import RawAnswer

# The logger of the middleware's lines about requests.
REQUEST_LOG = "django_structlog.middlewares.request"
# The body of a yes (`accepted_body`).
ACCEPTED_JSON = (
    '{"id":"%s","units":%d,"amount":"%s","currency":"%s","expires_at":"%s","status_url":"%s","receipt":"%s"}'
)


class HotLane:
    """For one event loop; only `in_thread` and `learn` are called from other threads. After an error a view answers."""

    def __init__(self, *, views: ViewAnswers, pipelines: Pipelines, gate: Gate | None = None) -> None:
        """`gate` is None where nothing is answered from memory."""
        # At this level, the middleware writes a line for each request, so every request must reach it.
        self._is_off = logging.getLogger(REQUEST_LOG).isEnabledFor(logging.INFO)
        self._views = views
        self._pipelines = pipelines
        self._gate = gate
        self._signed_in_calls = SignedInCalls()
        self._faults = Faults()

    def read(self, scope: Any, path: str, headers: dict[str, str], body: bytes) -> OrdinaryCall | None:
        """The call, or None if it is not an ordinary one. `scope` is that of RSGI, which has path and headers too."""
        try:
            return read_call(scope, path, headers, body)
        except Exception:
            self._faults.report("call_not_read")
            return None

    def at_once(self, scope: Any, path: str, headers: dict[str, str]) -> tuple[Kind, RawAnswer] | None:
        """A place, or the live figures that somebody else who asked the same got a moment ago. Most calls of a crowd.

        So nothing else is made of such a call.
        """
        if self._gate is None:
            return None
        try:
            question = read_question(scope, path, headers)
            answer = self._gate.at_once(question) if question else None
            return (question[0], answer) if question and answer else None
        except Exception:
            self._faults.report("gate_failed")
            return None

    def now(self, call: OrdinaryCall) -> RawAnswer | None:
        """The answer from memory: a certain refusal, or live figures."""
        if self._gate is None:
            return None
        try:
            return self._gate.answer(call)
        except Exception:
            self._faults.report("gate_failed")
            return None

    def must_ask_view(self, call: OrdinaryCall) -> bool:
        """Whether a view must be asked too, though there is an answer from memory."""
        return call.kind is Kind.SALE_LIVE and self._gate is not None and self._gate.must_ask(call)

    async def ask(self, call: OrdinaryCall) -> RawAnswer | None:
        """The reservation store's answer to a call with a pass. A view asked afterwards may repeat what was done."""
        known = self._views.find(call.context) if call.pass_ is not None and not self._is_off else None
        # Reserve only if the headers for a yes are known: the view, asked afterwards, would answer `already_reserved`.
        if known is None or call.pass_ is None or (Kind.RESERVATION, Outcome.RESERVED) not in known.templates:
            return None
        try:
            reservation = await reserve_in_pipeline(self._pipelines, pass_=call.pass_, units=call.units)
            answer = answer_to(call.pass_, reservation, templates=known.templates, language=known.language)
        except ServerNotKnown:
            return None
        except Exception:
            self._faults.report("hot_lane_failed")
            return None
        if answer is not None:
            # Otherwise a view gives the answer, and counts it.
            answer_counts.add(call.object_id, reservation.outcome)
        return answer

    def in_thread(self, call: OrdinaryCall) -> RawAnswer | None:
        """The answer to a call of somebody signed in."""
        if call.pass_ is not None:
            return None
        try:
            known = None if self._is_off else self._views.find(call.context)
            # Without a template, no view has answered such a call yet: this one is for the view.
            template = known.templates.get((call.kind, GIVEN)) if known else None
            if known is None or template is None:
                return None
            content = self._signed_in_calls.content(call, language=known.language)
            return None if content is None else answer_of(template, rendered(content), {})
        except Exception:
            self._faults.report("hot_lane_failed")
            return None

    def learn(self, call: OrdinaryCall, answer: RawAnswer) -> None:
        """Remember the headers of a view's answer."""
        with self._faults.reported("headers_not_learnt"):
            self._views.learn(call, answer)

    def take_in(self, call: OrdinaryCall, answer: RawAnswer) -> float:
        """Let the memory know of an answer. Returns for how many seconds it must be held back (`Gate.learn`)."""
        if self._gate is None:
            return 0.0
        try:
            return self._gate.learn(call, answer)
        except Exception:
            self._faults.report("gate_failed")
            return 0.0

    def count_error(self, call: OrdinaryCall | None) -> None:
        """Note that a call to reserve got no answer from a view."""
        if call is not None and call.kind is Kind.RESERVATION:
            answer_counts.add(call.object_id, ERROR)

    async def finished(self, call: OrdinaryCall, answer: RawAnswer) -> RawAnswer:
        """What the client gets when a view or the store has answered, as soon as it may hear it."""
        if call.kind is Kind.SALE_LIVE and answer[0] >= 500:
            # The gate may know the figures by now, and which items the sale has.
            return self.now(call) or answer
        if seconds := self.take_in(call, answer):
            await asyncio.sleep(seconds)
        return answer


def answer_to(
    pass_: Pass, reservation: Reservation, *, templates: Mapping[tuple[Kind, str], HeaderTemplate], language: str
) -> RawAnswer | None:
    """The view's answer; None if the view has not given one with this outcome yet."""
    template = templates.get((Kind.RESERVATION, reservation.outcome))
    if template is None:
        return None
    if reservation.outcome in ACCEPTED:
        content = accepted_body(pass_, reservation)
        return answer_of(template, accepted_bytes(content), {"Location": content["status_url"]})
    with override(language):
        response = refusal(reservation)
    values = {"Retry-After": response["Retry-After"]} if "Retry-After" in response else {}
    return answer_of(template, response.content, values)


def accepted_bytes(content: dict[str, Any]) -> bytes:
    """As `rendered` writes it, which takes four times as long. No value has a character that JSON escapes."""
    return (ACCEPTED_JSON % tuple(content.values())).encode()


def rendered(content: dict[str, Any]) -> bytes:
    """As DRF's renderer writes it."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
