"""The front door: receives every request in the event loop of a web process, before Django.

Public pages come from memory (web/shells.py). The calls of a stampede are answered by the hot lane
(web/reservations/hot_lane.py): from memory, or by one question to the reservation store, all in the event loop. Every
other call gets a thread of its lane (web/lanes.py) for Django's WSGI application.

A thread gets a request when its whole body is there. As WSGI, granian gives a request to a thread as soon as its
headers are there: sixteen sockets that announced a body and sent none held all threads without a limit, and WSGI has
no way to stop waiting.
"""

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from time import perf_counter
from typing import Any

import structlog
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import override
from granian.rsgi import HTTPProtocol, ProtocolClosed, Scope  # type: ignore[attr-defined]

from shop.background.faults import Faults
from shop.configuration.log_lines import SECRET
from shop.http.base_view import LengthRequired
from shop.http.endpoints import ENDPOINT, OTHER, endpoint_seconds
from shop.http.parsers import BodyTooLarge
from shop.http.problems import OUTAGE, problem
from shop.languages.page_language import is_page, language_of_path
from web.addresses import PUBLIC_ANSWER_BEGINNINGS, endpoint_at
from web.board.answers import BEGINNING as BOARDS
from web.board.answers import BoardAnswers
from web.bodies import Bodies, BodyRefused
from web.lanes import Lane, LaneFull
from web.list_answers import ListAnswers, key_of_list
from web.reservations.calls import ENDPOINTS, QUESTIONS, OrdinaryCall, chosen_language
from web.reservations.headers import CONTEXT_LENGTH_MAX
from web.reservations.hot_lane import HotLane
from web.shells import Shells, asked_of, language_of
from web.warm_start import WarmStart
from web.wsgi_request import RawAnswer, call_wsgi, environ_of, headers_of, is_readable

log = structlog.get_logger(__name__)

# Of the paths of live figures and of waiting rooms.
CALL_ENDINGS = ("/live/", "/queue/")


class FrontDoor:
    """Answers requests. Used from one event loop; its lanes have the threads."""

    def __init__(
        self,
        wsgi: Callable[..., Any],
        *,
        lanes: list[Lane],
        hot_lane: HotLane,
        shells: Shells | None,
        lists: ListAnswers | None,
        board_answers: BoardAnswers,
        warm_start: WarmStart,
    ) -> None:
        """`shells` and `lists` are None where all pages come from Django. `warm_start` runs before all requests."""
        self._wsgi = wsgi
        self._lanes = lanes
        self._hot_lane = hot_lane
        self._shells = shells
        self._lists = lists
        self._board_answers = board_answers
        self._warm_start = warm_start
        self._bodies = Bodies()
        self._faults = Faults()
        # The event loop itself does not keep its tasks alive.
        self._asking: set[asyncio.Task[None]] = set()

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called by granian in each of its processes, before the process takes connections."""
        loop.run_until_complete(self._warm_start.run())
        # Python 3.11 has no tasks that begin at once.
        if sys.version_info >= (3, 12):
            loop.set_task_factory(begun_at_once)

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        try:
            began_s, path, headers = perf_counter(), scope.path, headers_of(scope)
            answer = None
            if path.endswith(CALL_ENDINGS) and (known := self._hot_lane.at_once(scope, path, headers)):
                kind, answer = known
                endpoint_seconds.observe(ENDPOINTS[kind], perf_counter() - began_s)
            elif self._shells is not None and may_be_public(path):
                try:
                    if asked := asked_of(scope, path, headers):
                        answer = self._shells.find(asked)
                        # What is not in memory, or too old, must be rendered first.
                        answer = answer or await self._shells.answer(asked)
                    if answer is None and self._lists is not None and (key := key_of_list(scope, path, headers)):
                        answer = self._lists.find(key, headers) or await self._list_answer(key, scope, headers)
                    if answer is not None:
                        endpoint_seconds.observe(endpoint_at(path), perf_counter() - began_s)
                except Exception:
                    self._faults.report("pages_failed")
            if answer is None:
                length, call = headers.get("content-length", ""), None
                has_body = length.isdecimal() and length != "0"
                if not has_body:
                    call = self._hot_lane.read(scope, path, headers, b"")
                    has_body = not length and (call is None or call.kind not in QUESTIONS) and may_have_body(scope)
                if has_body:
                    answer = await self._answer_with_body(scope, path, headers, protocol)
                else:
                    # Without a coroutine where memory has the answer: most calls of a crowd.
                    answer = self._now(call, scope, began_s) if call else None
                    answer = answer or await self._answer_to(call, scope, b"", began_s)
            protocol.response_bytes(*(without_body(answer) if scope.method == "HEAD" else answer))
        except ProtocolClosed:
            # The client has gone.
            return

    async def _answer_with_body(
        self, scope: Scope, path: str, headers: dict[str, str], protocol: HTTPProtocol
    ) -> RawAnswer:
        """The answer to a request with a body, or with none that is announced. Raises ProtocolClosed."""
        taken, body = 0, b""
        try:
            if length := headers.get("content-length"):
                taken = self._bodies.take(path, length=int(length))
                body = await self._bodies.receive(protocol)
            else:
                await self._bodies.refuse_unannounced(protocol)
            began_s = perf_counter()
            call = self._hot_lane.read(scope, path, headers, body)
            answer = self._now(call, scope, began_s) if call else None
            return answer or await self._answer_to(call, scope, body, began_s)
        except BodyRefused as refused:
            return refusal(environ_of(scope), status=refused.status, is_body_unread=True)
        finally:
            if taken:
                self._bodies.give_back(path, taken)

    def _now(self, call: OrdinaryCall, scope: Scope, began_s: float) -> RawAnswer | None:
        """The answer from memory."""
        answer = self._hot_lane.now(call)
        if answer is not None:
            if self._hot_lane.must_ask_view(call):
                self._ask_view(call, scope)
            endpoint_seconds.observe(ENDPOINTS[call.kind], perf_counter() - began_s)
        return answer

    async def _answer_to(self, call: OrdinaryCall | None, scope: Scope, body: bytes, began_s: float) -> RawAnswer:
        """The answer that is not in memory."""
        if call is None:
            if scope.path.startswith(BOARDS):
                return await self._board_answer(scope, body, began_s=began_s)
            # The thread notes how long it took: Django knows the route.
            return await self._in_thread(scope, body, began_s=began_s)
        answer = await self._hot_lane.ask(call) or await self._in_thread(scope, body, call)
        answer = await self._hot_lane.finished(call, answer)
        endpoint_seconds.observe(ENDPOINTS[call.kind], perf_counter() - began_s)
        return answer

    async def _board_answer(self, scope: Scope, body: bytes, *, began_s: float) -> RawAnswer:
        """Without Django where the view has accepted the caller's token."""
        boards, answer = self._board_answers, None
        with self._faults.reported("board_failed"):
            if board := boards.board_for(scope):
                kept = board.json_in_memory()
                answer = boards.answer(kept) if kept else await self._run(scope, lambda: boards.answer(board.json()))
        if answer is not None:
            endpoint_seconds.observe(endpoint_at(scope.path), perf_counter() - began_s)
            return answer
        answer = await self._in_thread(scope, body, began_s=began_s)
        with self._faults.reported("board_failed"):
            self._board_answers.learn(scope, answer)
        return answer

    async def _list_answer(self, key: str, scope: Scope, headers: dict[str, str]) -> RawAnswer:
        lists = self._lists
        assert lists is not None
        return await lists.answer(key, headers, lambda: self._run(scope, lambda: lists.make(key, scope, headers)))

    async def _in_thread(
        self, scope: Scope, body: bytes, call: OrdinaryCall | None = None, *, began_s: float | None = None
    ) -> RawAnswer:
        return await self._run(scope, lambda: self._hot_lane_or_django(call, scope, body, began_s), call)

    async def _run(self, scope: Scope, work: Callable[[], RawAnswer], call: OrdinaryCall | None = None) -> RawAnswer:
        """The answer from a thread of the request's lane, or a refusal if it has no room or cannot be read."""
        if not is_readable(scope):
            return refusal(environ_of(scope), status=400)
        try:
            answer = await self._lane_of(scope).run(work)
            if answer[0] != 500:
                return answer
        except LaneFull:
            answer = refusal(environ_of(scope), status=503)
        except Exception:
            log.exception("request_failed", path=SECRET.sub("…", scope.path))
            answer = 500, [("Content-Type", "text/plain")], b""
        self._hot_lane.count_error(call)
        return answer

    def _lane_of(self, scope: Scope) -> Lane:
        return next(lane for lane in self._lanes if lane.path.fullmatch(scope.path))

    def _hot_lane_or_django(
        self, call: OrdinaryCall | None, scope: Scope, body: bytes, began_s: float | None
    ) -> RawAnswer:
        """Raises the errors of the WSGI application."""
        if call is not None and (answer := self._hot_lane.in_thread(call)) is not None:
            return answer
        environ = environ_of(scope)
        environ["wsgi.input"] = BytesIO(body)
        answer = call_wsgi(self._wsgi, environ)
        if call is not None:
            self._hot_lane.learn(call, answer)
        if began_s is not None:
            endpoint_seconds.observe(environ.get(ENDPOINT, OTHER), perf_counter() - began_s)
        return answer

    def _ask_view(self, call: OrdinaryCall, scope: Scope) -> None:
        """Let the hot lane's memory learn from the view, while nobody waits for its answer."""
        environ = environ_of(scope)
        # Nothing can be learnt from a 304.
        environ.pop("HTTP_IF_NONE_MATCH", None)

        async def ask() -> None:
            with suppress(Exception):
                self._hot_lane.take_in(call, await self._lane_of(scope).run(lambda: call_wsgi(self._wsgi, environ)))

        task = asyncio.create_task(ask())
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)


def may_be_public(path: str) -> bool:
    """Whether it may be the address of a page, or of an answer of the API, that is the same for everybody.

    Django answers the API about a product with the slug `live` or `queue`.
    """
    return not path.startswith("/api/") or (
        path.startswith(PUBLIC_ANSWER_BEGINNINGS) and not path.endswith(CALL_ENDINGS)
    )


def may_have_body(scope: Scope) -> bool:
    """Whether a body may come that no header announces, as under HTTP/2."""
    return scope.method != "GET" and scope.http_version == "2"


def without_body(answer: RawAnswer) -> RawAnswer:
    """The answer to a HEAD. Over HTTP/2, granian would send the body."""
    status, headers, body = answer
    length = [("Content-Length", str(len(body)))] if body else []
    return status, [*(header for header in headers if header[0] != "Content-Length" or not body), *length], b""


def begun_at_once(loop: asyncio.AbstractEventLoop, coroutine: Any, **more: Any) -> asyncio.Task[Any]:
    """A task that runs up to its first wait when it is made: a request that memory answers is answered by then.

    granian makes a task for each request. Without this, it would wait for its turn in the event loop first. (The idea
    is that of `asyncio.eager_task_factory`, which does not know the arguments of uvloop.)
    """
    return asyncio.Task(coroutine, loop=loop, **{**more, "eager_start": True})


def refusal(environ: dict[str, Any], *, status: int, is_body_unread: bool = False) -> RawAnswer:
    """The answer to a request that was not given to Django."""
    with override(language_for(environ)):
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
    if status == 400:
        detail = _(
            "One of the headers Cookie, Authorization and X-Forwarded-For contains a character that is not ASCII. In a "
            "browser, delete the cookies of this shop, then try again."
        )
        return problem(status=400, code="bad_request", title=_("Bad request"), detail=detail), detail
    if status == 411:
        detail = str(LengthRequired.default_detail)
        return problem(status=411, code="length_required", title=LengthRequired.title, detail=detail), detail
    if status == 408:
        detail = _("The body of the request was not complete in time. Please send it again.")
        title = _("The request did not arrive in time")
        return problem(status=408, code="body_too_slow", title=title, detail=detail), detail
    return problem(**OUTAGE), str(OUTAGE["detail"])


def language_for(environ: dict[str, Any]) -> str:
    """The language in which Django would answer: the path of a page says it, elsewhere the caller."""
    if is_page(environ["PATH_INFO"]):
        return language_of_path(environ["PATH_INFO"])
    texts = environ.get("HTTP_ACCEPT_LANGUAGE", ""), chosen_language(environ.get("HTTP_COOKIE")) or ""
    # They are remembered, and clients send texts of any length.
    return language_of(*(text[:CONTEXT_LENGTH_MAX] for text in texts))
