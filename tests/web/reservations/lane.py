"""A hot lane and the view behind it, called as a web server calls them; and what such a server gives them."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from io import BytesIO
from typing import Any

from seckill.models import SaleItem
from seckill.store.pipeline.asking import Pipelines
from shop.http.request_log import HEADER as REQUEST_ID
from shop.wsgi import application as django
from tests.web.reservations.shadow import read_call, scope_of
from web.reservations.calls import OrdinaryCall
from web.reservations.headers import NOT_KEPT, ViewAnswers
from web.reservations.hot_lane import HotLane
from web.wsgi_request import RawAnswer

Environ = dict[str, Any]

OF_ONE_CALL = re.compile(
    rb"\br1\.[\w-]{8}\.[0-9a-f-]{36}\.[\w.-]+|"
    rb"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[0-9:.]{12}Z"
)


@dataclass
class Answer:
    status: str
    headers: list[tuple[str, str]]
    body: bytes
    # Of one call of the view. Answers of the lane have none.
    request_id: str = field(default="", init=False, compare=False)

    def __post_init__(self) -> None:
        self.request_id = dict(self.headers).get(REQUEST_ID, "")
        self.headers = [(name, value) for name, value in self.headers if name not in NOT_KEPT]

    def without_ids_and_times(self) -> tuple[str, list[tuple[str, str]], bytes]:
        """And without waits: up to a second may have passed, and waits are spread by the time."""
        headers = [
            (name, "-" if name == "Retry-After" else OF_ONE_CALL.sub(b"-", value.encode()).decode())
            for name, value in self.headers
        ]
        return self.status, headers, re.sub(rb'"retry_after": \d+', b"-", OF_ONE_CALL.sub(b"-", self.body))


@dataclass
class CountedView:
    """Django, counting the calls that reach it."""

    calls: int = 0

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Any:
        self.calls += 1
        return django(environ, start_response)


@dataclass
class Lane:
    """A hot lane, and the view behind it, as web/application.py asks them."""

    view: Any = field(default_factory=CountedView)
    views: ViewAnswers = field(default_factory=ViewAnswers)
    pipelines: Pipelines = field(default_factory=Pipelines)
    hot: HotLane = field(init=False)
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)

    def __post_init__(self) -> None:
        self.hot = HotLane(views=self.views, pipelines=self.pipelines)

    def close(self) -> None:
        self.pipelines.close()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()

    def reserve(self, item: SaleItem, pass_text: str, **environ: Any) -> Answer:
        return self.ask(asks_units(item, pass_text, **environ))

    def ask(self, request: Environ) -> Answer:
        ordinary = read_call(scope_of(request), request["wsgi.input"].getvalue())
        if ordinary is not None and (found := self._find(ordinary)):
            status, headers, body = found
            assert REQUEST_ID not in dict(headers), "that of the call from which the lane has learnt"
            return Answer(f"{status} {HTTPStatus(status).phrase}", headers, body)
        answer = call(self.view, request)
        if ordinary is not None:
            headers = [*answer.headers, (REQUEST_ID, answer.request_id)]
            self.views.learn(ordinary, (int(answer.status.split(" ")[0]), headers, answer.body))
        return answer

    def ask_at_once(self, requests: list[Environ]) -> list[RawAnswer]:
        """The hot lane's answers to reservations that come in one turn of the event loop."""

        async def ask_all() -> list[RawAnswer | None]:
            calls = [read_call(scope_of(request)) for request in requests]
            return await asyncio.gather(*(self.hot.ask(call) for call in calls if call))

        answers = self.loop.run_until_complete(ask_all())
        return [answer for answer in answers if answer is not None]

    def _find(self, ordinary: OrdinaryCall) -> RawAnswer | None:
        if ordinary.pass_ is not None:
            return self.loop.run_until_complete(self.hot.ask(ordinary))
        return self.hot.in_thread(ordinary)


def environ(method: str, path: str, *, body: bytes = b"", **more: Any) -> Environ:
    found: Environ = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "localhost",
        "HTTP_ACCEPT": "application/json",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(body),
        **more,
    }
    return {name: value for name, value in found.items() if value is not None}


def asks_units(item: SaleItem, pass_text: str, **more: Any) -> Environ:
    path = f"/api/v1/sale-items/{item.pk}/reservations/"
    return environ("POST", path, **{"HTTP_ACCEPT": "*/*", "HTTP_AUTHORIZATION": f"Pass {pass_text}", **more})


def call(application: Callable[..., Any], environ: Environ) -> Answer:
    started: list[tuple[str, list[tuple[str, str]]]] = []
    parts = application(environ, lambda status, headers, exc_info=None: started.append((status, headers)))
    body = b"".join(parts)
    return Answer(*started[-1], body)
