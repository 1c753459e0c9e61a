"""The least that granian can serve: constant answers, over each of its interfaces."""

from collections.abc import Callable, Iterable
from typing import Any

HELLO = b"Hello, world!"
# The headers that each of the shop's answers has, and those of live figures and of a page besides.
COMMON = [
    ("Cache-Control", "public, max-age=1"),
    ("ETag", '"417cc03f943e85839c706ca6"'),
    ("Vary", "Accept-Language"),
    ("Content-Language", "en"),
    ("X-Content-Type-Options", "nosniff"),
]
OF_FIGURES = [
    ("Content-Type", "application/json"),
    ("Allow", "GET, HEAD, OPTIONS"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
]
OF_PAGE = [
    ("Content-Type", "text/html; charset=utf-8"),
    (
        "Content-Security-Policy",
        "frame-ancestors 'none'; img-src 'self' data:; default-src 'self'; base-uri 'none'; object-src 'none'; "
        "form-action 'self'",
    ),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()"),
]
# By path: as little as can be, and constant bytes that are as heavy as the shop's.
ANSWERS = {
    "/": (200, [("content-type", "text/plain")], HELLO),
    "/figures/": (200, [*COMMON, *OF_FIGURES], b"." * 248),
    "/page/": (200, [*COMMON, *OF_PAGE], b"." * 17_000),
}


def wsgi(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(HELLO)))])
    return [HELLO]


async def rsgi(scope: Any, protocol: Any) -> None:
    if scope.method == "POST":
        await protocol()
    protocol.response_bytes(*ANSWERS[scope.path])
