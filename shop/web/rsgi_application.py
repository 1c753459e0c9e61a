"""Between the web server and the WSGI application of Django.

The event loop receives the whole request, and only then does a thread call the WSGI application. As WSGI, granian
gives a request to a thread as soon as its headers are there: sixteen sockets that announced a body and sent none held
all threads for as long as they liked, and WSGI has no way to stop waiting.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from http import HTTPStatus
from io import BytesIO
from typing import Any, Protocol

import structlog
from django.http import HttpResponse
from django.utils.translation import get_supported_language_variant, override
from django.utils.translation import gettext as _
from granian.rsgi import HTTPProtocol, ProtocolClosed, Scope  # type: ignore[attr-defined]

from shop.http.problems import OUTAGE, problem
from shop.web.lanes import Lane, LaneFull
from shop.web.patience import Patience

log = structlog.get_logger(__name__)

# For the whole body. The shop's forms and calls are small, so even a slow phone sends one in less.
BODY_SECONDS_MAX = 10.0
# No upload of the shop is larger. Django and the API's parser have smaller bounds for what they read.
BODY_BYTES_MAX = 10_000_000
# What all bodies that are on their way to one process may have together.
BODIES_BYTES_MAX = 64_000_000

Answer = tuple[int, list[tuple[str, str]], bytes]


class Gate(Protocol):
    """Answers calls in the event loop, so none of these may wait. `seckill/gate/gate.py` is one."""

    def answer(self, call: Any) -> Answer | None:
        """The answer, or None if somebody else must give it."""

    def learn(self, call: Any, answer: Answer) -> float:
        """Take in an answer that was given. Returns for how many seconds it must be held back, usually 0."""


class HotLane(Protocol):
    """Answers calls in threads of a lane, in place of Django. `seckill/gate/hot_lane.py` is one."""

    def answer(self, call: Any) -> Answer | None:
        """The answer, or None if Django must give it."""


class ViewAnswers(Protocol):
    """Hears of Django's answers, in threads. `seckill/gate/view_answers.py` does, for gate and hot lane."""

    def learn(self, call: Any, answer: Answer) -> None:
        """Take in the answer that Django gave."""


class PublicPages(Protocol):
    """Answers some requests in the event loop. `shop/web/shells.py` does."""

    def find(self, *, method: str, path: str, host: str, headers: Any, query: str) -> Answer | None: ...

    async def answer(self, *, method: str, path: str, host: str, headers: Any, query: str) -> Answer | None: ...


class RsgiApplication:
    """Receives requests in the event loop of a web process. The gate answers some, threads of the lanes the others."""

    def __init__(
        self,
        wsgi: Callable[..., Any],
        *,
        lanes: list[Lane],
        body_seconds_max: float,
        read_call: Callable[[Any, bytes], Any] = lambda scope, body: None,
        views: ViewAnswers | None = None,
        hot_lane: HotLane | None = None,
        gate: Gate | None = None,
        shells: PublicPages | None = None,
        warm_up: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        """`read_call` makes a call for gate and hot lane of a request; None if it is for Django.

        `warm_up` runs before the first request (shop/web/warm_start.py).
        """
        self._warm_up = warm_up
        self._wsgi = wsgi
        self._read_call = read_call
        self._views = views
        self._hot_lane = hot_lane
        self._shells = shells
        self._lanes = lanes
        self._patience = Patience(seconds_max=body_seconds_max)
        self._gate = gate
        self._body_bytes = 0

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called by granian in each of its processes, before the process takes connections."""
        if self._warm_up is not None:
            loop.run_until_complete(self._warm_up())

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        # ProtocolClosed: the client has gone.
        with suppress(ProtocolClosed):
            answer = None
            if self._shells is not None and not (path := scope.path).startswith("/api/"):
                method, headers = scope.method, scope.headers
                host = scope.authority or headers.get("host") or ""
                asked: Any = {"method": method, "path": path, "host": host, "headers": headers}
                asked["query"] = scope.query_string
                answer = self._shells.find(**asked)
                # A page that is not in memory, or too old, has to be waited for.
                answer = answer or await self._shells.answer(**asked)
            protocol.response_bytes(*(answer or await self._answer(scope, protocol)))

    async def _answer(self, scope: Scope, protocol: HTTPProtocol) -> Answer:
        """Raises ProtocolClosed."""
        text = scope.headers.get("content-length", "")
        length = int(text) if text.isdecimal() else 0
        if length > BODY_BYTES_MAX:
            return refusal(environ_of(scope), status=413)
        body = b""
        if length:
            if self._body_bytes + length > BODIES_BYTES_MAX:
                return refusal(environ_of(scope), status=503)
            try:
                body = await self._receive(protocol, length=length)
            except TimeoutError:
                return refusal(environ_of(scope), status=408)
        call = self._read_call(scope, body)
        if call is not None and self._gate and (answer := self._gate.answer(call)):
            return answer
        lane = next(lane for lane in self._lanes if lane.path.fullmatch(scope.path))
        try:
            answer = await lane.run(lambda: self._answer_in_thread(call, scope, body))
        except LaneFull:
            return refusal(environ_of(scope), status=503)
        except Exception:
            log.exception("request_failed", path=scope.path)
            return 500, [("Content-Type", "text/plain")], b""
        if call is not None and self._gate and (seconds := self._gate.learn(call, answer)):
            await asyncio.sleep(seconds)
        return answer

    def _answer_in_thread(self, call: Any, scope: Scope, body: bytes) -> Answer:
        """Raises whatever the WSGI application raises."""
        if call is not None and self._hot_lane and (answer := self._hot_lane.answer(call)):
            return answer
        environ = environ_of(scope)
        environ["wsgi.input"] = BytesIO(body)
        answer = call_wsgi(self._wsgi, environ)
        if call is not None and self._views:
            self._views.learn(call, answer)
        return answer

    async def _receive(self, protocol: HTTPProtocol, *, length: int) -> bytes:
        """The whole body. Raises TimeoutError and ProtocolClosed."""
        self._body_bytes += length
        with self._patience:
            try:
                return await protocol()
            finally:
                self._body_bytes -= length


def environ_of(scope: Scope) -> dict[str, Any]:
    """The WSGI environment (PEP 3333) without a body."""
    server_name, _colon, server_port = scope.server.rpartition(":")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        # Already unquoted. PEP 3333 wants each byte as one character.
        "PATH_INFO": scope.path.encode(errors="replace").decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "SERVER_NAME": server_name,
        "SERVER_PORT": server_port,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "REMOTE_ADDR": scope.client.rpartition(":")[0].strip("[]"),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.input": BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.version": (1, 0),
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    # HTTP/2 has no Host header.
    if scope.authority:
        environ["HTTP_HOST"] = scope.authority
    for name, value in scope.headers.items():
        # With an underscore a client could send a header that looks like one that only the proxy may set.
        if "_" in name:
            continue
        key = name.upper().replace("-", "_")
        if key not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            key = f"HTTP_{key}"
        joined = "; " if key == "HTTP_COOKIE" else ","
        environ[key] = f"{environ[key]}{joined}{value}" if key in environ and key != "HTTP_HOST" else value
    return environ


def call_wsgi(wsgi: Callable[..., Any], environ: dict[str, Any]) -> Answer:
    """The application's whole answer."""
    started: list[tuple[str, list[tuple[str, str]]]] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
        started.append((status, headers))

    parts = wsgi(environ, start_response)
    try:
        body = b"".join(parts)
    finally:
        if close := getattr(parts, "close", None):
            close()
    status, headers = started[-1]
    return int(status.split(" ", 1)[0]), headers, body


def refusal(environ: dict[str, Any], *, status: int) -> Answer:
    """The answer to a request that was not given to Django."""
    with override(language_of(environ)):
        response = refusal_of(status)
        if not environ["PATH_INFO"].startswith("/api/"):
            detail = _("The shop is temporarily unavailable. Please try again in a moment.")
            text = detail if status == 503 else HTTPStatus(status).phrase
            plain = HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")
            if "Retry-After" in response:
                plain["Retry-After"] = response["Retry-After"]
            response = plain
    # The rest of the body is not read, so the connection cannot be used for another request.
    headers = [*response.items(), ("Connection", "close")]
    if environ["SERVER_PROTOCOL"] == "HTTP/2":
        headers.pop()
    return status, headers, response.content


def refusal_of(status: int) -> HttpResponse:
    if status == 413:
        return problem(
            status=413, code="body_too_large", title=_("Bad request"), detail=_("The request body is too large.")
        )
    if status == 408:
        return problem(
            status=408,
            code="body_too_slow",
            title=_("The request did not arrive in time"),
            detail=_("The body of the request was not complete in time. Please send it again."),
        )
    return problem(**OUTAGE)


def language_of(environ: dict[str, Any]) -> str:
    """The language that the client names first, if the shop has it."""
    first = environ.get("HTTP_ACCEPT_LANGUAGE", "").split(",")[0].split(";")[0].strip().lower()
    try:
        return get_supported_language_variant(first)
    except LookupError:
        return "en"
