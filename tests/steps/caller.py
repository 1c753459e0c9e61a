"""Calls of the API of a running shop, as buyers make them."""

import http.client
import json
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from seckill.models import SaleItem

# Milliseconds on an idle machine. A call that waits for a silent store waits for 0.9 s.
AT_ONCE_SECONDS = 0.8


class Caller:
    """Calls of the API, each on a connection of its own, so that each process of the web server gets some."""

    def __init__(self, url: str, item: SaleItem) -> None:
        self.port = urlsplit(url).port or 0
        self.item = item

    def call(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)) as client:
            content = {"Content-Type": "application/json"} if body is not None else {}
            client.request(method, path, body and json.dumps(body), headers={**content, **headers})
            answer = client.getresponse()
            return answer.status, answer.getheaders(), answer.read()

    def reserve(self, pass_text: str, **headers: str) -> tuple[int, dict[str, Any]]:
        path = f"/api/v1/sale-items/{self.item.pk}/reservations/"
        status, _headers, body = self.call("POST", path, {"units": 1}, Authorization=f"Pass {pass_text}", **headers)
        return status, json.loads(body)

    def live(self) -> dict[str, Any]:
        figures: dict[str, Any] = json.loads(self.call("GET", f"/api/v1/sale-items/{self.item.pk}/live/")[2])
        return figures
