"""Simulated buyers: an event loop that sends reservations to the shop over HTTP, as their browsers would.

Written by hand, since it shares the processors with the shop that it looks at: an HTTP client of a package costs ten
times as much for each call. It knows neither Django nor the stores; what it gets is an address, passes and bounds.
"""

import asyncio
import json
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

# The shop gives up on a store within 2 s; a call that takes this long was lost on the way.
CALL_SECONDS_MAX = 10.0
# A page repeats a call with the same pass while it may or may not have taken effect.
TRIES_MAX = 4
RETRY_SECONDS = 0.5
# Many answers are smaller by far.
ANSWER_BYTES_MAX = 65_536

NO_ANSWER, NOT_SENT = "no_answer", "not_sent"
YES, AGAIN = "reserved", "already_reserved"
# With these words the shop asks to come again at once.
REPEATED = (NO_ANSWER, "unavailable", "not_open")


@dataclass(frozen=True, slots=True)
class Address:
    """Where the shop is. `path` has a place for the id of the item."""

    host: str
    port: int
    is_https: bool
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Ask:
    """One buyer with a pass for one item."""

    item_id: int
    pass_text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The last answer to a buyer. `seconds` is how long the last call took, `at_s` the monotonic clock at its end.

    `reservation_id` is that of a yes. `tries` counts the calls.
    """

    item_id: int
    word: str
    seconds: float
    at_s: float
    tries: int
    reservation_id: str = ""


def address_of(url: str, *, path: str) -> Address:
    parts = urlsplit(url)
    is_https = parts.scheme == "https"
    return Address(
        host=parts.hostname or "",
        port=parts.port or (443 if is_https else 80),
        is_https=is_https,
        name=parts.netloc,
        path=parts.path.rstrip("/") + path,
    )


def ask_all(
    address: Address, asks: Sequence[Ask], *, connections: int, starts_s: float, ends_s: float, answers: list[Answer]
) -> None:
    """Let all buyers ask from `starts_s` on, and add each answer to `answers` as it comes.

    Each connection takes the next buyer as soon as it is free. Connections are made before the start. After `ends_s`
    nothing more is sent. Both are of the monotonic clock.
    """
    asyncio.run(send_all(address, iter(asks), connections, starts_s, ends_s, answers))


def first_word(address: Address, ask: Ask) -> str:
    """The word of one call, alone. Raises OSError where nobody answers at the address."""

    async def call() -> str:
        line = Line(address)
        await asyncio.wait_for(line.connect(), CALL_SECONDS_MAX)
        word, _reservation_id = await line.reserve(ask)
        line.close()
        return word

    return asyncio.run(call())


async def send_all(
    address: Address, asks: Iterator[Ask], connections: int, starts_s: float, ends_s: float, answers: list[Answer]
) -> None:
    async def buyers_of_one_line() -> None:
        line = Line(address)
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(line.connect(), CALL_SECONDS_MAX)
        await asyncio.sleep(starts_s - time.monotonic())
        for ask in asks:
            answers.append(await told(line, ask, ends_s=ends_s))
        line.close()

    await asyncio.gather(*(buyers_of_one_line() for _ in range(connections)))


async def told(line: "Line", ask: Ask, *, ends_s: float) -> Answer:
    """The last answer to a buyer who asks again where the shop says so."""
    answer = Answer(ask.item_id, NOT_SENT, 0.0, time.monotonic(), 0)
    for number in range(1, TRIES_MAX + 1):
        sent_s = time.monotonic()
        if sent_s >= ends_s:
            break
        word, reservation_id = await line.reserve(ask)
        now_s = time.monotonic()
        answer = Answer(ask.item_id, word, now_s - sent_s, now_s, number, reservation_id)
        if word not in REPEATED:
            break
        await asyncio.sleep(RETRY_SECONDS)
    return answer


class Line:
    """One connection, which is made again after a fault."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._tls = ssl.create_default_context() if address.is_https else None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def connect(self) -> None:
        address = self._address
        self._reader, self._writer = await asyncio.open_connection(
            address.host, address.port, ssl=self._tls, limit=ANSWER_BYTES_MAX
        )

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    async def reserve(self, ask: Ask) -> tuple[str, str]:
        """The word of the answer, and the id of a reservation."""
        try:
            status, headers, body = await asyncio.wait_for(self._call(ask), CALL_SECONDS_MAX)
        except (OSError, EOFError, TimeoutError, ValueError, LookupError, asyncio.LimitOverrunError):
            self.close()
            return NO_ANSWER, ""
        if headers.get("connection", "").lower() == "close":
            self.close()
        content = json_of(body)
        if status == 201:
            return (AGAIN if "idempotent-replayed" in headers else YES), str(content.get("id", ""))
        return str(content.get("code", f"http_{status}")), ""

    async def _call(self, ask: Ask) -> tuple[int, dict[str, str], bytes]:
        if self._writer is None:
            await self.connect()
        assert self._reader is not None
        assert self._writer is not None
        self._writer.write(
            f"POST {self._address.path % ask.item_id} HTTP/1.1\r\nHost: {self._address.name}\r\n"
            f"Authorization: Pass {ask.pass_text}\r\nContent-Type: application/json\r\n"
            'Accept: application/json\r\nContent-Length: 11\r\n\r\n{"units":1}'.encode()
        )
        first, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        headers = {name.lower(): value.strip() for name, _colon, value in pairs}
        return int(first.split(" ")[1]), headers, await self._body(self._reader, headers)

    async def _body(self, reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
        if "content-length" in headers:
            return await reader.readexactly(min(int(headers["content-length"]), ANSWER_BYTES_MAX))
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return b""
        body = b""
        while size := int((await reader.readline()).partition(b";")[0], 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
        return body


def json_of(body: bytes) -> dict[str, Any]:
    """Empty where a proxy has answered with something else."""
    try:
        content = json.loads(body)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
