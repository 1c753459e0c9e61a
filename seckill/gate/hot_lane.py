"""The hot lane: reserves for ordinary calls without Django's middleware and without DRF, and answers as the view would.

It stands before Django as a WSGI application. A call is ordinary if there is nothing in it on which the view or the
middleware could act in another way: a valid pass, a small JSON body or none, no session. Every other call goes to the
view (`ReservationView` in seckill/api.py), which decides about all that is wrong with it.

The bodies come from the functions of the view. The headers are those of the view's own answers: the first call of each
kind goes to the view, and the headers of its answer are kept for the next ones. So whatever the middleware adds is in
the answers of the hot lane too.
"""

import json
import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from io import BytesIO
from typing import Any

from django.conf import settings
from django.http import parse_cookie
from django.utils.translation import override

from seckill.api import accepted_body, refusal
from seckill.gate.calls import BODY, CONTENT_TYPES, CONTEXT_LENGTH_MAX, read_pass
from seckill.gate.gate import UNREPEATABLE
from seckill.ledger import Reservation
from seckill.models import UNITS_MAX
from seckill.outcomes import HTTP, Outcome
from seckill.passes import Pass
from seckill.reservation import ACCEPTED, reserve
from shop.http.problems import CONTENT_TYPE

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]
Headers = list[tuple[str, str]]

PATH = re.compile(r"/api/v1/sale-items/([1-9][0-9]{0,14})/reservations/")
BODY_BYTES_MAX = 100
# What clients send who want JSON or do not care. Others may want something that the view refuses.
ACCEPT = {None, "*/*", "application/json", "application/json, text/plain, */*"}
# Clients choose the headers that make a context. With more of them, all are learnt again.
CONTEXTS_MAX = 1_000
# Headers whose values belong to one answer. The others are the same for all answers of a kind in a context.
OF_ONE_ANSWER = {"Content-Length", "Location", "Retry-After"}

# The logger of the middleware's lines about requests.
REQUEST_LOG = "django_structlog.middlewares.request"

# All that the middleware looks at. Calls with the same context get the same headers and the same language.
Context = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """An ordinary call to reserve."""

    pass_: Pass
    units: int
    context: Context


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of the view's answers in one context: the language, and the headers by outcome."""

    language: str
    headers: dict[str, Headers]


class HotLane:
    """Called from many threads. What they keep is replaced as a whole, so none sees a half of it."""

    def __init__(self, django: Application) -> None:
        self._django = django
        # The middleware writes a line for each request at this level. Who wants them gets them all.
        self._is_off = logging.getLogger(REQUEST_LOG).isEnabledFor(logging.INFO)
        self._kept: dict[Context, Kept] = {}

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        call = None if self._is_off else read_call(environ)
        if call is None:
            return self._django(environ, start_response)
        kept = self._kept.get(call.context)
        # Only with the headers for a yes: asked again by the view, a pass gets `already_reserved`.
        if kept is not None and Outcome.RESERVED in kept.headers:
            reservation = reserve(pass_=call.pass_, units=call.units)
            if (headers := kept.headers.get(reservation.outcome)) is not None:
                return send(start_response, call.pass_, reservation, headers, language=kept.language)
        # A call may be repeated: the view tells the buyer what the store says then.
        return self._ask_view(call, environ, start_response)

    def _ask_view(self, call: Call, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """The view's answer, of which the headers are kept."""
        started: list[tuple[str, Headers]] = []

        def note(status: str, headers: Headers, exc_info: Any = None) -> Any:
            started.append((status, headers))
            return start_response(status, headers)

        parts = self._django(environ, note)
        try:
            body = b"".join(parts)
        finally:
            if close := getattr(parts, "close", None):
                close()
        status, headers = started[-1]
        self._keep(call.context, int(status.split(" ", 1)[0]), headers, body)
        return [body]

    def _keep(self, context: Context, status: int, headers: Headers, body: bytes) -> None:
        values = dict(headers)
        outcome, language = outcome_of(status, values, body), values.get("Content-Language")
        if outcome is None or language is None or not UNREPEATABLE.isdisjoint(values):
            return
        if len(self._kept) >= CONTEXTS_MAX:
            self._kept = {}
        known = self._kept.get(context, Kept(language, {}))
        self._kept[context] = Kept(language, {**known.headers, outcome: headers})


def read_call(environ: Environ) -> Call | None:
    """The call, or None if it is not an ordinary one."""
    if environ["REQUEST_METHOD"] != "POST" or environ.get("QUERY_STRING") or environ.get("SCRIPT_NAME"):
        return None
    match = PATH.fullmatch(environ["PATH_INFO"])
    cookies: str | None = environ.get("HTTP_COOKIE")
    if match is None or environ.get("HTTP_ACCEPT") not in ACCEPT:
        return None
    # The view compares the pass with the session.
    if cookies is not None and settings.SESSION_COOKIE_NAME in cookies:
        return None
    pass_ = read_pass(environ.get("HTTP_AUTHORIZATION", ""))
    if pass_ is None or pass_.item_id != int(match[1]):
        return None
    context, units = context_of(environ, cookies), read_units(environ)
    if units is None or sum(len(text) for text in context if text) > CONTEXT_LENGTH_MAX:
        return None
    return Call(pass_, units, context)


def read_units(environ: Environ) -> int | None:
    """The units asked for, 1 if there is no body; None where the view must read it. It finds the body unread."""
    length, content_type = environ.get("CONTENT_LENGTH") or "0", environ.get("CONTENT_TYPE")
    if "HTTP_TRANSFER_ENCODING" in environ or not length.isdecimal() or int(length) > BODY_BYTES_MAX:
        return None
    if int(length) == 0:
        return 1 if not content_type or content_type in CONTENT_TYPES else None
    if content_type not in CONTENT_TYPES:
        return None
    body = environ["wsgi.input"].read(int(length))
    environ["wsgi.input"] = BytesIO(body)
    match = BODY.fullmatch(body)
    if match is None or len(body) != int(length):
        return None
    units = int(match[1] or 1)
    return units if units <= UNITS_MAX else None


def context_of(environ: Environ, cookies: str | None) -> Context:
    name = settings.LANGUAGE_COOKIE_NAME
    return (
        environ.get("HTTP_HOST"),
        environ.get("HTTP_ACCEPT"),
        environ.get("HTTP_ACCEPT_LANGUAGE"),
        environ.get("HTTP_X_FORWARDED_PROTO"),
        environ["wsgi.url_scheme"],
        parse_cookie(cookies).get(name) if cookies is not None and name in cookies else None,
    )


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


def send(
    start_response: StartResponse, pass_: Pass, reservation: Reservation, headers: Headers, *, language: str
) -> Iterable[bytes]:
    """Answer as the view does: with its body, and with the headers that it had before."""
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
    status = HTTP[reservation.outcome].status
    own = [(name, values[name] if name in OF_ONE_ANSWER else value) for name, value in headers]
    start_response(f"{status} {HTTPStatus(status).phrase}", own)
    return [body]
