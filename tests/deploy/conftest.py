"""A proxy in front of two stubs, once with nginx and once with HAProxy."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from orders import tasks
from orders.repair.audit import remember_result
from orders.repair.nightly_stock_audit import audit_stock_if_due
from seckill.models import SaleItem
from seckill.store.weak_settings import judge_settings
from shop.background import sweep_notes
from tests.deploy.proxies import PACKAGES, Proxy, running_proxy
from tests.embedded_servers import temporary_server_directory
from tests.steps.shop import other_item


class StubWeb:
    """Answers 200 with its name, unless `answers` has another answer for the path: status, headers."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls: list[tuple[str, str, dict[str, str]]] = []
        self.answers: dict[str, tuple[int, dict[str, str]]] = {}
        # How many more calls for a path are read and not answered: the connection is closed.
        self.silent: Counter[str] = Counter()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.stub = self  # type: ignore[attr-defined]
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        """New connections are refused. May be called twice."""
        self._server.shutdown()
        self._server.server_close()

    def count(self, path: str) -> int:
        return sum(asked == path for _method, asked, _headers in self.calls)

    def headers_of(self, path: str) -> dict[str, str]:
        """Of the last call, by names in lower case."""
        return next(headers for _method, asked, headers in reversed(self.calls) if asked == path)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A quiet connection ends its thread.
    timeout = 20

    def do_GET(self) -> None:
        stub: StubWeb = self.server.stub  # type: ignore[attr-defined]
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        if path != "/healthz":
            # A header that came twice counts as one with both values, as in HTTP.
            headers = {name.lower(): ", ".join(self.headers.get_all(name, [])) for name in self.headers}
            stub.calls.append((self.command, path, headers))
        if stub.silent[path] > 0:
            stub.silent[path] -= 1
            self.close_connection = True
            return
        status, more = stub.answers.get(path, (200, {}))
        if status == 200 and self.headers.get("If-None-Match", "") == more.get("ETag"):
            status = 304
        body = b"" if status == 304 else json.dumps({"stub": stub.name, "call": len(stub.calls)}).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **more, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        # The proxy may have gone, after a probe.
        with suppress(ConnectionError):
            self.end_headers()
            self.wfile.write(body)

    do_POST = do_GET

    def handle_one_request(self) -> None:
        self.close_connection = True
        with suppress(ConnectionError):
            super().handle_one_request()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@dataclass(frozen=True)
class Front:
    """A proxy and the web servers behind it."""

    proxy: Proxy
    hot: StubWeb
    pages: StubWeb
    kind: str


@contextmanager
def running_front(kind: str) -> Iterator[Front]:
    with ExitStack() as stack:
        directory: Path = stack.enter_context(temporary_server_directory())
        hot, pages = (stack.enter_context(closing(StubWeb(name))) for name in ("hot", "pages"))
        running = running_proxy(kind, directory, hot_port=hot.port, pages_port=pages.port)
        yield Front(stack.enter_context(running), hot, pages, kind)


@pytest.fixture(scope="module", params=PACKAGES)
def front_of_the_file(request: pytest.FixtureRequest) -> Iterator[Front]:
    with running_front(request.param) as front:
        yield front


@pytest.fixture
def front(front_of_the_file: Front) -> Front:
    """The web servers have no calls and no answers of the test before. The proxy may keep a page for a second."""
    for stub in (front_of_the_file.hot, front_of_the_file.pages):
        stub.calls.clear()
        stub.answers.clear()
    return front_of_the_file


@pytest.fixture(params=PACKAGES)
def failing_front(request: pytest.FixtureRequest) -> Iterator[Front]:
    """For a test in which web servers fail: the proxy does not ask them for a while."""
    with running_front(request.param) as front:
        yield front


@pytest.fixture
def scrape(client: Client, item: SaleItem) -> str:
    """What /metrics says of a shop with a sale, a waiting room and an audit."""
    other_item(opens_in_seconds=300, has_room=True)
    tasks.move_waiting_rooms()
    remember_result(problems_of_item={item.pk: 0})
    judge_settings()
    audit_stock_if_due()
    sweep_notes.note_success("settle_orders", waited_seconds=1.0)
    sweep_notes.write()
    return client.get("/metrics").content.decode()
