"""Searches and parts of lists from memory: what many ask for at once is made once in a second.

They have too many forms to be kept as public pages are (web/shells.py), and each counts against the limit of the
network that asks. So the first caller gets the answer from Django, in a thread of the lane, and those who ask the same
within a second get it too. At an opening, a crowd looks for the same few words.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from threading import Lock
from typing import Any

from shop.http.compression import takes_gzip
from web.addresses import PART_OF_LIST
from web.reservations.calls import is_ordinary
from web.shell_forms import Headers, Shell, may_be_kept
from web.shells import is_for_memory, is_of_api, keep, shell_of, variant_of, without_own_headers
from web.wsgi_request import RawAnswer, call_wsgi, environ_of

# Kept by one process; the oldest goes first. Each has some tens of kilobytes.
LISTS_MAX = 100
# Longer queries are those of programs, and each is another one.
QUERY_LENGTH_MAX = 500
# How long a caller waits for the answer that another one is getting.
WAIT_SECONDS = 2.0


class ListAnswers:
    """Used from one event loop; only `make` is called from other threads."""

    def __init__(self, wsgi: Callable[..., Any]) -> None:
        self._wsgi = wsgi
        self._kept: dict[str, Shell] = {}
        self._lock = Lock()
        # Each gets the answer to its first caller, if that is an error of the shop, and otherwise None.
        self._being_made: dict[str, asyncio.Future[RawAnswer | None]] = {}

    def find(self, key: str, headers: Headers) -> RawAnswer | None:
        """The answer to a call with this `key_of_list`, if it was made within the last second."""
        shell = self._kept.get(key)
        return shell.answer(headers) if shell is not None and time.monotonic() < shell.ask_again_s else None

    async def answer(self, key: str, headers: Headers, ask: Callable[[], Awaitable[RawAnswer]]) -> RawAnswer:
        """The answer that somebody else is getting just now; else that of `ask`, which lets a thread `make` it."""
        if (first := self._being_made.get(key)) is not None:
            await asyncio.wait([first], timeout=WAIT_SECONDS)
            failed = first.result() if first.done() else None
            # A full lane is full for all of them. Other refusals are for the first alone.
            return self.find(key, headers) or failed or await ask()
        first = self._being_made[key] = asyncio.get_running_loop().create_future()
        answer = None
        try:
            answer = await ask()
            return answer
        finally:
            del self._being_made[key]
            first.set_result(answer if answer is not None and answer[0] >= 500 else None)

    def make(self, key: str, scope: Any, headers: Headers) -> RawAnswer:
        """Django's answer, which is kept if it is for everybody. Raises the errors of the WSGI application."""
        environ = environ_of(scope)
        # Others may know nothing of this list yet, and want its body.
        environ.pop("HTTP_IF_NONE_MATCH", None)
        environ["REQUEST_METHOD"] = "GET"
        answer = call_wsgi(self._wsgi, environ)
        if answer[0] != 200 or not may_be_kept(answer):
            return answer
        shell = shell_of(key, without_own_headers(answer), now_s=time.monotonic())
        with self._lock:
            keep(self._kept, key, shell, count_max=LISTS_MAX)
        return shell.answer(headers)


def key_of_list(scope: Any, path: str, headers: dict[str, str]) -> str:
    """One for all calls that get the same answer. Empty for other addresses, and for calls that only views answer."""
    query = scope.query_string
    if not query or len(query) > QUERY_LENGTH_MAX or PART_OF_LIST.fullmatch(path) is None:
        return ""
    host = headers.get("host", "")
    if "content-length" in headers or not is_ordinary(scope, headers, has_query=True):
        return ""
    if not is_for_memory(scope.method, host, headers):
        return ""
    if not is_of_api(path):
        return f"{path}?{query}"
    variant = variant_of(headers, host)
    # Django zips an answer only if it is long enough. The scheme is in the addresses of other pages.
    form = f"{takes_gzip(headers.get('accept-encoding'))} {scope.scheme} {headers.get('x-forwarded-proto')}"
    return variant and f"{path}{variant} {form}?{query}"
