"""One HTTP request on a connection of its own. With http.client, which uses no proxy and follows no redirect."""

import http.client
import json
import ssl
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

# The shop gives up on a store within 2 s; a call that takes this long was lost on the way.
CALL_SECONDS_MAX = 10.0


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; status 0 if none came, with the reason in `problem`. Names of headers are in lower case."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    text: bytes = b""
    problem: str = ""

    @property
    def json_object(self) -> dict[str, Any]:
        """The JSON object in the answer; empty if it has none."""
        try:
            found = json.loads(self.text)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


def request(
    port: int,
    method: str,
    path: str,
    *,
    host: str = "127.0.0.1",
    headers: Mapping[str, str] | None = None,
    data: bytes | None = None,
    tls: bool = False,
) -> Reply:
    """`data` is JSON unless the headers say otherwise. With `tls` any certificate will do: it is the harness's own."""
    kind = {"Content-Type": "application/json"} if data else {}
    connection = http.client.HTTPConnection(host, port, timeout=CALL_SECONDS_MAX)
    if tls:
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection(host, port, timeout=CALL_SECONDS_MAX, context=context)
    try:
        with closing(connection):
            connection.request(method, path, body=data, headers={**kind, **(headers or {})})
            response = connection.getresponse()
            text = response.read()
            return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, text)
    except (OSError, http.client.HTTPException) as error:
        return Reply(problem=f"{type(error).__name__}: {error}")
