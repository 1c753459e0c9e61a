"""A web server that stands in for the shop behind a proxy: it counts calls and answers as it is told."""

import json
import threading
from collections import Counter
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


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
