"""Calls of the API of a running shop, as buyers make them."""

import http.client
import json
import time
from contextlib import closing
from email.message import Message
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from seckill.models import SaleItem


class Reply(NamedTuple):
    status: int
    headers: Message
    body: bytes
    seconds: float


def ask(
    url: str, path: str, seconds_max: float = 20, /, *, method: str = "GET", body: str | None = None, **headers: str
) -> Reply:
    """The answer to a call on a connection of its own. Headers are named with underscores, as `if_none_match`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    began_s = time.monotonic()
    with closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=seconds_max)) as client:
        client.request(method, path, body, headers=named)
        answer = client.getresponse()
        return Reply(answer.status, answer.headers, answer.read(), time.monotonic() - began_s)


# Milliseconds on an idle machine. A call that waits for a silent store waits for 0.9 s.
AT_ONCE_SECONDS = 0.8


class Caller:
    """Calls of the API, each on a connection of its own, so that each process of the web server gets some."""

    def __init__(self, url: str, item: SaleItem) -> None:
        self.url = url
        self.item = item

    def call(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        content = {"Content_Type": "application/json"} if body is not None else {}
        given = body and json.dumps(body)
        answer = ask(self.url, path, 10, method=method, body=given, **content, **headers)
        return answer.status, answer.headers.items(), answer.body

    def reserve(self, pass_text: str, **headers: str) -> tuple[int, dict[str, Any]]:
        path = f"/api/v1/sale-items/{self.item.pk}/reservations/"
        status, _headers, body = self.call("POST", path, {"units": 1}, Authorization=f"Pass {pass_text}", **headers)
        return status, json.loads(body)

    def live(self) -> dict[str, Any]:
        figures: dict[str, Any] = json.loads(self.call("GET", f"/api/v1/sale-items/{self.item.pk}/live/")[2])
        return figures
