"""The gate beside the views: each call of a test's client is answered by the view, and then by the gate too.

If the gate answers, its answer must be the view's, byte for byte, except for the time and what is spread by the time.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from unittest import mock

from django.test.client import ClientHandler

from seckill.live.answer_counts import AnswerCounts
from seckill.store.client import StoreUnreachable
from web.reservations import calls
from web.reservations.calls import Kind, OrdinaryCall, Question
from web.reservations.gate import Gate
from web.reservations.headers import NOT_KEPT, ViewAnswers, is_long
from web.reservations.rooms import Rooms
from web.reservations.snapshots import Snapshot, Snapshots
from web.wsgi_request import RawAnswer, headers_of

TIMES = re.compile(rb'"(server_time|poll_after_ms|retry_after)": ?("[^"]*"|[0-9]+)')
# What reserve.lua, or the view for a store that is away, is certain to say of an item.
CERTAIN = {"unavailable", "paused", "not_open", "closed", "sold_out", "held_by_others"}


class SteppedClock:
    """The process's clock. It stands still, so that a snapshot is as old as the test wants."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class SnapshotsByHand(Snapshots):
    """Without a thread: the test says when the store is read."""

    def __init__(self) -> None:
        self.clock = SteppedClock()
        super().__init__(clock_s=self.clock)

    def _wake_reader(self, server: object) -> None:
        """None is needed."""

    def refresh_all(self, *, times: int = 1) -> None:
        """Read all items. A second time, the ids of reservations that were read the first time are known."""
        for _time in range(times):
            self.clock.now_s += 1
            with suppress(StoreUnreachable):
                self.refresh(list(self._asked_s))


class CountsByHand(AnswerCounts):
    """Written by the test; its thread writes nothing."""

    def _write_at_end_of_second(self) -> None:
        """None is needed."""


@dataclass(frozen=True)
class Scope:
    """The part of RSGI's scope that gate and hot lane read."""

    method: str
    path: str
    query_string: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    authority: str | None = None
    scheme: str = "http"
    server: str = "localhost:8000"
    client: str = "127.0.0.1:4711"
    http_version: str = "1.1"


def scope_of(environ: dict[str, Any]) -> Scope:
    headers = {name[5:]: str(value) for name, value in environ.items() if name.startswith("HTTP_")}
    headers.update({name: str(environ[name]) for name in ("CONTENT_TYPE", "CONTENT_LENGTH") if environ.get(name)})
    return Scope(
        environ["REQUEST_METHOD"],
        environ["PATH_INFO"],
        environ.get("QUERY_STRING", ""),
        {name.lower().replace("_", "-"): value for name, value in headers.items()},
        scheme=environ.get("wsgi.url_scheme", "http"),
    )


def read_call(scope: Scope, body: bytes = b"") -> OrdinaryCall | None:
    return calls.read_call(scope, scope.path, headers_of(scope), body)  # type: ignore[arg-type]


def read_question(scope: Scope, body: bytes = b"") -> Question | None:
    return None if body else calls.read_question(scope, scope.path, headers_of(scope))  # type: ignore[arg-type]


class RoomsByHand(Rooms):
    """Without a thread."""

    def watch(self, sale_id: int) -> None:
        self.refresh([sale_id])


class Shadow:
    """A gate that follows the calls of a test's clients. `answered` says for each call whether it gave an answer."""

    def __init__(self) -> None:
        self.snapshots = SnapshotsByHand()
        self.counts = CountsByHand()
        self.views = ViewAnswers()
        self.gate = Gate(views=self.views, snapshots=self.snapshots, counts=self.counts, rooms=RoomsByHand())
        self.answered: list[bool] = []
        # For how long the view's answer to the last call would have been held back.
        self.held_back_seconds = 0.0

    def follow(self, scope: Scope, body: bytes, view: RawAnswer) -> None:
        call = read_call(scope, body)
        if call is None or is_long(call.context):
            self.answered.append(False)
            return
        self.views.learn(call, view)
        self.held_back_seconds = self.gate.learn(call, view)
        self.snapshots.refresh_all(times=2)
        question = read_question(scope, body)
        asks_place = question is not None and call.kind is Kind.PLACE
        answer = self.gate.at_once(question) if question and asks_place else self.gate.answer(call)
        self.answered.append(answer is not None)
        if answer is not None:
            # That of the call from which the gate has learnt would be a wrong one.
            assert NOT_KEPT.isdisjoint(dict(answer[1]))
            assert without_times(answer) == without_times(view)
            assert question is None or asks_place or self.gate.at_once(question) is answer
        else:
            assert not any(f'"code": "{word}"'.encode() in view[2] for word in self.certain(call))

    def certain(self, call: OrdinaryCall) -> set[str]:
        """The refusals that the gate must give. A full backlog may be shorter in the next millisecond."""
        snapshot = self.snapshots.find(call.object_id)
        full = isinstance(snapshot, Snapshot) and snapshot.counters is not None and snapshot.counters.backlog_full
        return CERTAIN - {"unavailable"} if full else CERTAIN


def without_times(answer: RawAnswer) -> RawAnswer:
    status, headers, body = answer
    compared = [(name, "" if name == "Retry-After" else value) for name, value in headers if name not in NOT_KEPT]
    return status, compared, TIMES.sub(rb'"\1": 0', body)


@contextmanager
def shadowed_clients() -> Iterator[Shadow]:
    """All test clients are followed by one gate."""
    shadow = Shadow()
    call_view: Callable[[Any, dict[str, Any]], Any] = ClientHandler.__call__

    def call(handler: Any, environ: dict[str, Any]) -> Any:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length) if length else b""
        scope = scope_of(environ)
        response = call_view(handler, {**environ, "wsgi.input": BytesIO(body)})
        if not response.streaming:
            shadow.follow(scope, body, (response.status_code, list(response.items()), response.content))
        return response

    with mock.patch.object(ClientHandler, "__call__", call):
        yield shadow
