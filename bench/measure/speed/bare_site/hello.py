"""The least that granian can serve: one constant answer, over each of its interfaces."""

from collections.abc import Callable, Iterable
from typing import Any

HELLO = b"Hello, world!"


def wsgi(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(HELLO)))])
    return [HELLO]


async def rsgi(scope: Any, protocol: Any) -> None:
    if scope.method == "POST":
        await protocol()
    protocol.response_bytes(200, [("content-type", "text/plain")], HELLO)
