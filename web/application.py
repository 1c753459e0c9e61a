"""The front door: receives every request in the event loop of a web process, before Django.

Public pages and certain refusals are answered from memory (web/shells.py, web/reservations/gate.py). All other calls go
to threads, which answer ordinary calls by the hot lane and give the rest to Django's WSGI application.

A thread gets a request when its whole body is there. As WSGI, granian gives a request to a thread as soon as its
headers are there: sixteen sockets that announced a body and sent none held all threads without a limit, and WSGI has
no way to stop waiting.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from typing import Any

import structlog
from django.http import HttpResponse
from django.utils.translation import get_supported_language_variant, override
from django.utils.translation import gettext as _
from granian.rsgi import HTTPProtocol, ProtocolClosed, Scope  # type: ignore[attr-defined]

from shop.http.parsers import BodyTooLarge
from shop.http.problems import OUTAGE, problem
from web.addresses import PUBLIC_ANSWER_BEGINNINGS
from web.bodies import Bodies, BodyRefused
from web.lanes import Lane, LaneFull
from web.reservations.calls import Kind, OrdinaryCall, read_call
from web.reservations.gate import Gate
from web.reservations.headers import ViewAnswers
from web.reservations.hot_lane import HotLane
from web.shells import Shells, asked_of
from web.warm_start import WarmStart
from web.wsgi_request import RawAnswer, call_wsgi, environ_of

log = structlog.get_logger(__name__)


class FrontDoor:
    """Answers requests. Used from one event loop; its lanes have the threads."""

    def __init__(
        self,
        wsgi: Callable[..., Any],
        *,
        lanes: list[Lane],
        views: ViewAnswers,
        hot_lane: HotLane,
        gate: Gate | None,
        shells: Shells | None,
        warm_start: WarmStart,
    ) -> None:
        """`gate` and `shells` are None where all answers come from Django. `warm_start` runs before all requests."""
        self._wsgi = wsgi
        self._lanes = lanes
        self._views = views
        self._hot_lane = hot_lane
        self._gate = gate
        self._shells = shells
        self._warm_start = warm_start
        self._bodies = Bodies()
        self._report_again_s = 0.0
        # The event loop itself does not keep its tasks alive.
        self._asking: set[asyncio.Task[None]] = set()

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called by granian in each of its processes, before the process takes connections."""
        loop.run_until_complete(self._warm_start.run())

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        # ProtocolClosed: the client has gone.
        with suppress(ProtocolClosed):
            answer = None
            path = scope.path
            if self._shells is not None and (not path.startswith("/api/") or path.startswith(PUBLIC_ANSWER_BEGINNINGS)):
                try:
                    if asked := asked_of(scope, path):
                        answer = self._shells.find(**asked)
                        # What is not in memory, or too old, must be rendered first.
                        answer = answer or await self._shells.answer(**asked)
                except Exception:
                    self._report("pages_failed")
            protocol.response_bytes(*(answer or await self._answer(scope, protocol)))

    async def _answer(self, scope: Scope, protocol: HTTPProtocol) -> RawAnswer:
        """Raises ProtocolClosed."""
        text = scope.headers.get("content-length", "")
        length = int(text) if text.isdecimal() else 0
        try:
            with self._bodies.place(scope.path, length=length):
                body = await self._bodies.receive(protocol) if length else b""
                return await self._answer_to(scope, body)
        except BodyRefused as refused:
            return refusal(environ_of(scope), status=refused.status, is_body_unread=True)

    async def _answer_to(self, scope: Scope, body: bytes) -> RawAnswer:
        call, answer = self._ask_gate(scope, body)
        if answer is not None:
            return answer
        try:
            answer = await self._reserve(call)
            if answer is None:
                answer = await self._lane_of(scope).run(lambda: self._answer_in_thread(call, scope, body))
        except LaneFull:
            answer = refusal(environ_of(scope), status=503)
        except Exception:
            log.exception("request_failed", path=scope.path)
            return 500, [("Content-Type", "text/plain")], b""
        if call is None or self._gate is None:
            return answer
        if call.kind is Kind.SALE_LIVE and answer[0] >= 500:
            # The gate may know the figures by now, and which items the sale has.
            return self._ask_gate(scope, body)[1] or answer
        try:
            seconds = self._gate.learn(call, answer)
        except Exception:
            self._report("gate_failed")
            seconds = 0.0
        if seconds:
            await asyncio.sleep(seconds)
        return answer

    async def _reserve(self, call: OrdinaryCall | None) -> RawAnswer | None:
        """The hot lane's answer to a call with a pass. After an error Django decides."""
        if call is None or call.pass_ is None:
            return None
        try:
            return await self._hot_lane.reserve(call)
        except Exception:
            self._report("hot_lane_failed")
            return None

    def _ask_gate(self, scope: Scope, body: bytes) -> tuple[OrdinaryCall | None, RawAnswer | None]:
        """The call, if it is an ordinary one, and the gate's answer, if it has one. After an error Django decides."""
        try:
            call = read_call(scope, body)
            answer = self._gate.answer(call) if call is not None and self._gate else None
            if call is not None and answer is not None and self._gate and self._gate.must_ask(call):
                self._ask_view(self._gate, call, scope)
        except Exception:
            self._report("gate_failed")
            return None, None
        return call, answer

    def _report(self, event: str) -> None:
        """Log the error, at most one a second: it may come with each call of a stampede."""
        now_s = time.monotonic()
        if now_s >= self._report_again_s:
            self._report_again_s = now_s + 1
            log.exception(event)

    def _lane_of(self, scope: Scope) -> Lane:
        return next(lane for lane in self._lanes if lane.path.fullmatch(scope.path))

    def _ask_view(self, gate: Gate, call: OrdinaryCall, scope: Scope) -> None:
        """Let the gate learn from the view, while nobody waits for its answer."""
        environ = environ_of(scope)
        # The gate learns nothing from a 304.
        environ.pop("HTTP_IF_NONE_MATCH", None)

        async def ask() -> None:
            with suppress(Exception):
                gate.learn(call, await self._lane_of(scope).run(lambda: call_wsgi(self._wsgi, environ)))

        task = asyncio.create_task(ask())
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    def _answer_in_thread(self, call: OrdinaryCall | None, scope: Scope, body: bytes) -> RawAnswer:
        """Raises the errors of the WSGI application."""
        try:
            if call is not None and call.pass_ is None and (answer := self._hot_lane.answer(call)):
                return answer
        except Exception:
            self._report("hot_lane_failed")
        environ = environ_of(scope)
        environ["wsgi.input"] = BytesIO(body)
        answer = call_wsgi(self._wsgi, environ)
        if call is not None:
            self._views.learn(call, answer)
        return answer


def refusal(environ: dict[str, Any], *, status: int, is_body_unread: bool = False) -> RawAnswer:
    """The answer to a request that was not given to Django."""
    with override(language_of(environ)):
        response, detail = refusal_of(status)
        if not environ["PATH_INFO"].startswith("/api/"):
            plain = HttpResponse(detail, status=status, content_type="text/plain; charset=utf-8")
            if "Retry-After" in response:
                plain["Retry-After"] = response["Retry-After"]
            response = plain
    headers = list(response.items())
    # A connection with an unread body is of no use for another request. Under HTTP/2 the body has a stream of its own.
    if is_body_unread and environ["SERVER_PROTOCOL"] != "HTTP/2":
        headers.append(("Connection", "close"))
    return status, headers, response.content


def refusal_of(status: int) -> tuple[HttpResponse, str]:
    """The problem, and its sentence for people."""
    if status == 413:
        detail = _("The request body is too large.")
        return problem(status=413, code="body_too_large", title=BodyTooLarge.title, detail=detail), detail
    if status == 408:
        detail = _("The body of the request was not complete in time. Please send it again.")
        title = _("The request did not arrive in time")
        return problem(status=408, code="body_too_slow", title=title, detail=detail), detail
    return problem(**OUTAGE), str(OUTAGE["detail"])


def language_of(environ: dict[str, Any]) -> str:
    """The language that the client names first, if the shop has it."""
    first = environ.get("HTTP_ACCEPT_LANGUAGE", "").split(",")[0].split(";")[0].strip().lower()
    try:
        return get_supported_language_variant(first)
    except LookupError:
        return "en"
