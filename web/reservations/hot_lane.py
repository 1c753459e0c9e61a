"""The hot lane: answers ordinary calls without Django's middleware and without DRF, as the views would.

At an opening, all buyers ask at once for passes, reservations and their status. A web process asks the hot lane after
the gate could not answer and before Django is entered: for a reservation in the event loop, for the others, which ask
PostgreSQL, in a thread. Every call that is not ordinary (web/reservations/calls.py) goes to its view, which finds out
what is wrong with it.

The bodies come from the functions of the views, the headers from the views' own answers (web/reservations/headers.py).
"""

import json
import logging
from collections.abc import Mapping
from typing import Any

from django.utils.translation import override

from seckill.api.views import accepted_body, refusal
from seckill.ledger import Reservation
from seckill.outcomes import Outcome
from seckill.passes.passes import Pass
from seckill.reservation import ACCEPTED, reserve_in_pipeline
from seckill.store.pipeline.asking import Pipelines, ServerNotKnown
from web.reservations.calls import Kind, OrdinaryCall
from web.reservations.headers import GIVEN, HeaderTemplate, ViewAnswers, answer_of
from web.reservations.signed_in import SignedInCalls
from web.wsgi_request import RawAnswer

# The logger of the middleware's lines about requests.
REQUEST_LOG = "django_structlog.middlewares.request"
# The body of a yes (`accepted_body`).
ACCEPTED_JSON = '{"id":"%s","units":%d,"amount":"%s","currency":"%s","expires_at":"%s","status_url":"%s"}'


class HotLane:
    """`reserve` is for the event loop. `answer` is called from many threads."""

    def __init__(self, *, views: ViewAnswers, pipelines: Pipelines) -> None:
        # At this level, the middleware writes a line for each request, so every request must reach it.
        self._is_off = logging.getLogger(REQUEST_LOG).isEnabledFor(logging.INFO)
        self._views = views
        self._pipelines = pipelines
        self._signed_in_calls = SignedInCalls()

    async def reserve(self, call: OrdinaryCall) -> RawAnswer | None:
        """The answer to a call with a pass, or None if the view must give it, which may repeat what was done."""
        known = None if self._is_off else self._views.find(call)
        # Reserve only if the headers for a yes are known: the view, asked afterwards, would answer `already_reserved`.
        if known is None or call.pass_ is None or (Kind.RESERVATION, Outcome.RESERVED) not in known.templates:
            return None
        try:
            reservation = await reserve_in_pipeline(self._pipelines, pass_=call.pass_, units=call.units)
        except ServerNotKnown:
            return None
        return answer_to(call.pass_, reservation, templates=known.templates, language=known.language)

    def answer(self, call: OrdinaryCall) -> RawAnswer | None:
        """The answer to a call of somebody signed in, or None if the view must give it."""
        known = None if self._is_off else self._views.find(call)
        # Without a template, no view has answered such a call yet: this one is for the view.
        template = known.templates.get((call.kind, GIVEN)) if known else None
        if known is None or template is None:
            return None
        content = self._signed_in_calls.content(call, language=known.language)
        return None if content is None else answer_of(template, rendered(content), {})


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
