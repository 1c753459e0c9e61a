"""A shop whose pages come in two parts, as over a slow line: a browser draws the first one before it has the rest."""

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

# Longer than a browser waits before it draws what it has.
PAUSE_SECONDS = 0.8


@contextmanager
def slow_pages(shop: str, *, pause_before: bytes) -> Iterator[str]:
    """The address of a proxy in front of the shop: of each page, what comes before these words comes earlier."""
    address = urlsplit(shop)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with closing(http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)) as client:
                client.request("GET", self.path, headers={"Host": self.headers["Host"]})
                answer = client.getresponse()
                body = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("server", "date", "connection", "transfer-encoding"):
                    self.send_header(name, value)
            self.end_headers()
            first, words, rest = body.partition(pause_before)
            self.wfile.write(first)
            if words:
                time.sleep(PAUSE_SECONDS)
                self.wfile.write(words + rest)

        def log_message(self, format: str, *args: object) -> None:
            """No log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
