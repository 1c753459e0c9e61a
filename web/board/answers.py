"""The figures of a live board, before Django is entered: twenty screens ask each second.

The view checks a token once a minute. Between, the event loop answers with the last figures and the headers of the
view's answer; where they are too old, a thread makes new ones once for all.
"""

import time
from collections.abc import Callable

from granian.rsgi import Scope

from web.board.figures import Board
from web.reservations.headers import HeaderTemplate, answer_of, template_of
from web.shells import is_for_memory
from web.wsgi_request import RawAnswer, headers_of

BEGINNING = "/board/"
# A token that the view has accepted is asked about again after this: it ends an hour after it was made.
KNOWN_SECONDS = 60.0
# Screens that look at once. Beyond that, all tokens are asked about again.
TOKENS_MAX = 1_000


class BoardAnswers:
    """For paths with this beginning, in one event loop. `board_of` gives the board of a sale, if somebody looks."""

    def __init__(self, board_of: Callable[[int], Board | None]) -> None:
        self._board_of = board_of
        self._template: HeaderTemplate | None = None
        # (path, token) -> when the view is asked about it again, by the monotonic clock.
        self._known: dict[tuple[str, str], float] = {}

    def board_for(self, scope: Scope) -> Board | None:
        """The board, if the view has accepted this token for this path. Then call `answer`."""
        if self._template is None or scope.method != "GET":
            return None
        path, headers = scope.path, headers_of(scope)
        if time.monotonic() >= self._known.get((path, headers.get("authorization", "")), 0.0):
            return None
        if not is_for_memory(scope.method, headers.get("host", ""), headers):
            return None
        return self._board_of(sale_id_in(path))

    def answer(self, body: bytes) -> RawAnswer:
        assert self._template is not None
        return answer_of(self._template, body, {})

    def learn(self, scope: Scope, answer: RawAnswer) -> None:
        """Remember the token, if the view has accepted it, and the headers of its answer."""
        path, token = scope.path, headers_of(scope).get("authorization", "")
        if scope.method == "GET" and answer[0] == 200 and sale_id_in(path):
            if len(self._known) >= TOKENS_MAX:
                self._known.clear()
            self._known[path, token] = time.monotonic() + KNOWN_SECONDS
            self._template = template_of(answer[0], answer[1])


def sale_id_in(path: str) -> int:
    """0 for the figures of the admin's first page, which are for a signed-in person."""
    number = path.removeprefix(BEGINNING).rstrip("/")
    return int(number) if number.isdecimal() else 0
