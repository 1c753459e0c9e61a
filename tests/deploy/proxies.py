"""nginx and HAProxy with the files of `deploy/`, at ports of the test and with a certificate of its own."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any

from bench.faults.wire.front_proxy import HOST, FrontPorts, front_proxy
from shop.local.ports import free_port
from shop.local.process import start_processes, stop_processes
from tests.deploy.programs import program

# Debian's packages, by program.
PACKAGES = {"nginx": "nginx-light", "haproxy": "haproxy"}


@dataclass(frozen=True, kw_only=True)
class Proxy:
    """A proxy that runs, for `shop.example`."""

    http_port: int
    https_port: int

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
        plain: bool = False,
        client: str = "127.0.0.1",
    ) -> tuple[HTTPResponse, bytes]:
        """One call over TLS, or without it where `plain`, on a connection of its own from the address `client`."""
        source: dict[str, Any] = {"timeout": 30, "source_address": (client, 0)}
        # The certificate is the test's own.
        context = ssl._create_unverified_context()
        connection = (
            HTTPConnection("127.0.0.1", self.http_port, **source)
            if plain
            else HTTPSConnection("127.0.0.1", self.https_port, context=context, **source)
        )
        try:
            connection.request(method, path, body=body, headers={"Host": HOST, **(headers or {})})
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()


@contextmanager
def running_proxy(name: str, directory: Path, *, hot_port: int, pages_port: int) -> Iterator[Proxy]:
    """`nginx` or `haproxy`."""
    program(name, package=f"Debian: apt install {PACKAGES[name]}")
    proxy = Proxy(http_port=free_port(), https_port=free_port())
    ports = FrontPorts(http=proxy.http_port, https=proxy.https_port, hot=hot_port, pages=pages_port)
    process = front_proxy(name, directory=directory, ports=ports, ready=lambda _: _listens(proxy))
    try:
        start_processes(processes=[process])
        yield proxy
    finally:
        stop_processes(processes=[process])
        print(process.last_lines(lines_max=60))


def _listens(proxy: Proxy) -> bool:
    """Whether it serves, and reaches a web process."""
    try:
        response, _body = proxy.ask("/healthz", plain=True, headers={"Host": "localhost"})
    except (OSError, HTTPException):
        return False
    return response.status == 200
