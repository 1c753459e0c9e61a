"""Requests as WSGI applications take them (PEP 3333), and the answers of such an application."""

import sys
from collections.abc import Callable
from io import BytesIO
from typing import Any

from granian.rsgi import Scope

# No client can send this name.
REPEATED = " repeated"
# Headers that come in several fields from HTTP/2 (RFC 9113, 8.2.3) and from HAProxy behind a CDN; and what joins them.
IN_PARTS = {"cookie": "; ", "x-forwarded-for": ","}
# Without these a call would count as nobody's, or as one from the proxy's address. Of a header in several fields only
# the first can be judged: a proxy that appends to the last one must refuse those that are not ASCII, or join them all.
NEEDED = ("cookie", "authorization", "x-forwarded-for")
# Status, headers and body.
RawAnswer = tuple[int, list[tuple[str, str]], bytes]


def bare_environ(*, method: str, path: str, server_name: str, server_port: str) -> dict[str, Any]:
    """The environment of a request from this host, without query, headers and body. `path` is unquoted."""
    return {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": as_bytes(path),
        "QUERY_STRING": "",
        "SERVER_NAME": server_name,
        "SERVER_PORT": server_port,
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.version": (1, 0),
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }


def as_bytes(text: str) -> str:
    """Each byte of it as one character, as PEP 3333 wants them."""
    return text.encode(errors="replace").decode("latin-1")


def headers_of(scope: Scope) -> dict[str, str]:
    """The headers by name, read once for all that answers before Django. Host and IN_PARTS are those of `environ_of`.

    With REPEATED if another one came twice: Django joins its values, which only a view takes into account.
    """
    items = scope.headers.items()
    headers = dict(items)
    if len(headers) != len(items):
        repeated = len(items) - len(headers)
        for part_name, joint in IN_PARTS.items():
            parts = [value for name, value in items if name == part_name]
            if len(parts) > 1:
                headers[part_name] = joint.join(parts)
                repeated -= len(parts) - 1
        if repeated:
            headers[REPEATED] = ""
    if authority := scope.authority:
        headers["host"] = authority
    return headers


def is_readable(scope: Scope) -> bool:
    """Whether the views get the headers that they need. granian leaves out those with bytes that are not ASCII.

    Calls with a pass that are answered before Django do not need it: the pass says who the buyer is.
    Under HTTP/2 each cookie has a field of its own: the others are there, and Django uses them.
    """
    given = scope.headers
    lost = [name for name in NEEDED if given.get(name) is None and name in given]
    return not lost or (lost == ["cookie"] and "cookie" in dict(given.items()))


def environ_of(scope: Scope) -> dict[str, Any]:
    """The WSGI environment (PEP 3333) without a body."""
    server_name, _colon, server_port = scope.server.rpartition(":")
    environ = bare_environ(method=scope.method, path=scope.path, server_name=server_name, server_port=server_port)
    environ["QUERY_STRING"] = as_bytes(scope.query_string)
    environ["SERVER_PROTOCOL"] = f"HTTP/{scope.http_version}"
    environ["REMOTE_ADDR"] = scope.client.rpartition(":")[0].strip("[]")
    environ["wsgi.url_scheme"] = scope.scheme
    for name, value in scope.headers.items():
        # With an underscore a client could send a header that looks like one that only the proxy may set.
        if "_" in name:
            continue
        key = name.upper().replace("-", "_")
        if key not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            key = f"HTTP_{key}"
        joint = IN_PARTS.get(name, ",")
        environ[key] = f"{environ[key]}{joint}{value}" if key in environ and key != "HTTP_HOST" else value
    # A host in the address counts and the header beside it does not (RFC 9112, 3.2.2). HTTP/2 has no such header.
    if scope.authority:
        environ["HTTP_HOST"] = scope.authority
    return environ


def call_wsgi(wsgi: Callable[..., Any], environ: dict[str, Any]) -> RawAnswer:
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
