"""The people of one client process, and what they were told."""

import asyncio
import json
import random
import re
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import uvloop
from django.urls import reverse

from bench.stampede.paying_buyers import captured
from orders.payments.simulated.adapter import SIGNATURE_HEADER, signature_header
from shop.accounts import sign_in_hint

# Within which time pages spread their calls at an opening.
RUSH_SECONDS = 3.0
# How long the orders may take until they can be paid.
ORDER_SECONDS_MAX = 60.0
# A page that hears 503 asks again when it is told to, so often at most.
REPEATS_MAX = 10
# Addresses from which people come: limits count by address.
ADDRESSES = 100
# The shortest and the longest pause of somebody who reads, in seconds.
PAUSE_SECONDS = (0.5, 3.0)
STEPS = ("sale page", "me", "pass", "live", "reserve", "status", "order page", "start payment", "webhook")
BROWSER = ("Accept: */*", "Accept-Language: en")
# Answers to a reservation that are an ordinary no.
REFUSALS = ("sold_out", "held_by_others")
CALL_SECONDS_MAX = 30.0
HEAD_END = b"\r\n\r\n"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
RETRY_AFTER = re.compile(rb"\r\nretry-after: *(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a signed-in browser who wants one unit of an item. `number` chooses the address."""

    number: int
    user_id: int
    session_key: str
    sale_id: int
    item_id: int
    amount_minor: int


@dataclass(frozen=True, slots=True)
class Crowd:
    """The people of one process. `opens_at_s` is of the clock that all processes share (time.time)."""

    people: Sequence[Person]
    port: int
    opens_at_s: float


class Reply(NamedTuple):
    status: int
    body: bytes
    retry_after_seconds: float


class Connection(asyncio.Protocol):
    """That of one person's browser: one call at a time. Opened at the first call, and again where it was closed.

    A client library takes as much processor time for a call as the shop does, and both share two cores here.
    """

    def __init__(self, *, port: int, local_host: str) -> None:
        self._port = port
        self._local_host = local_host
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._reply: asyncio.Future[Reply] | None = None

    async def call(self, request: bytes) -> Reply:
        """Send the bytes of a request, and wait for its answer. Raises OSError, TimeoutError and ValueError."""
        try:
            async with asyncio.timeout(CALL_SECONDS_MAX):
                try:
                    return await self._call_once(request)
                except ConnectionError:
                    # The server closes a connection that has been quiet. All calls of a journey can be repeated.
                    return await self._call_once(request)
        except (OSError, TimeoutError, ValueError):
            # The answer may still come, and the next call must not take it for its own.
            self.close()
            raise

    async def _call_once(self, request: bytes) -> Reply:
        loop = asyncio.get_running_loop()
        if self._transport is None:
            await loop.create_connection(lambda: self, "127.0.0.1", self._port, local_addr=(self._local_host, 0))
        assert self._transport is not None
        self._reply = loop.create_future()
        self._transport.write(request)
        return await self._reply

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
            self._transport = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not name the class that they are like.
        self._transport, self._received = cast(asyncio.Transport, transport), b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(HEAD_END)
        if not end or self._reply is None or self._reply.done():
            return
        length = LENGTH.search(head)
        if length is None:
            self._reply.set_exception(ValueError(f"an answer without a length: {head!r}"))
        elif len(body) > int(length[1]):
            self._reply.set_exception(ValueError(f"more than one answer: {self._received!r}"))
        elif len(body) == int(length[1]):
            after = RETRY_AFTER.search(head)
            self._received = b""
            self._reply.set_result(Reply(int(head[9:12]), body, float(after[1]) if after else 1.0))

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(ConnectionResetError("the server closed the connection"))


@dataclass(slots=True)
class Told:
    """What a crowd was told: milliseconds of calls by step, yeses by item, calls with a wrong answer.

    `busy` counts the answers 503, after which a call is repeated; `gave_up` the people who heard nothing else, by step.
    `late_ms` says how late a person's next call went out at most: a client that cannot keep up measures itself.
    """

    times_ms: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    yes: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    failed: list[str] = field(default_factory=list)
    busy: int = 0
    gave_up: Counter[str] = field(default_factory=Counter)
    paid: int = 0
    late_ms: float = 0.0


def walk_all(crowd: Crowd) -> Told:
    """The body of a client process."""
    return uvloop.run(go(crowd))


async def go(crowd: Crowd) -> Told:
    told = Told()
    watch = asyncio.create_task(watch_lateness(told))
    await asyncio.gather(*(Walk(person, crowd, told).go() for person in crowd.people))
    watch.cancel()
    return told


async def watch_lateness(told: Told) -> None:
    while True:
        due_s = time.monotonic() + 0.1
        await asyncio.sleep(0.1)
        told.late_ms = max(told.late_ms, (time.monotonic() - due_s) * 1_000)


class GaveUp(Exception):
    """The shop had no answer for so long that a person leaves. The message is the step."""


class Walk:
    """The journey of one person."""

    def __init__(self, person: Person, crowd: Crowd, told: Told) -> None:
        self._person = person
        self._opens_at_s = crowd.opens_at_s
        self._told = told
        self._connection = Connection(port=crowd.port, local_host=f"127.0.1.{person.number % ADDRESSES + 1}")
        # As the scripts of a page send them. One text is cookie and header of the check against foreign forms.
        token = secrets.token_hex(16)
        hint = f"{sign_in_hint.COOKIE}={sign_in_hint.hint_of(str(person.user_id))}"
        cookies = f"sessionid={person.session_key}; csrftoken={token}; {hint}"
        self._signed_in = {"Cookie": cookies, "X-CSRFToken": token}
        self._host = f"127.0.0.1:{crowd.port}"

    async def go(self) -> None:
        try:
            await self._buy()
        except GaveUp as step:
            self._told.gave_up[str(step)] += 1
        self._connection.close()

    async def _buy(self) -> None:
        person = self._person
        # The last of them come a moment before the opening.
        await asyncio.sleep(random.uniform(0, max(self._until_opening() - 2 * PAUSE_SECONDS[1], 0)))
        await self._ask("sale page", reverse("sale", args=[person.sale_id]))
        await self._ask("me", reverse("api-me"))
        await pause()
        pass_ = await self._ask("pass", reverse("api-passes", args=[person.item_id]), {})
        while (until := self._until_opening()) > 0:
            live = await self._ask("live", reverse("api-sale-live", args=[person.sale_id]))
            await asyncio.sleep(min(live.get("poll_after_ms", 1_000) / 1_000, max(until, 0.01)))
        await asyncio.sleep(random.uniform(0, RUSH_SECONDS))
        headers = {"Authorization": f"Pass {pass_.get('pass', '')}"}
        answer = await self._ask("reserve", reverse("api-reserve", args=[person.item_id]), {"units": 1}, headers)
        if "status_url" in answer:
            self._told.yes[person.item_id] += 1
            await self._pay(answer["id"], answer["status_url"])

    def _until_opening(self) -> float:
        return self._opens_at_s - time.time()

    async def _pay(self, reservation_id: str, status_url: str) -> None:
        status: dict[str, Any] = {}
        give_up_s = time.monotonic() + ORDER_SECONDS_MAX
        while not status.get("order"):
            if time.monotonic() > give_up_s:
                raise GaveUp("status")
            await asyncio.sleep(status.get("poll_after_ms", 500) / 1_000)
            status = await self._ask("status", status_url)
        number = status["order"]
        await self._ask("order page", reverse("order", args=[number]))
        await pause()
        with_key = {**self._signed_in, "Idempotency-Key": secrets.token_hex(16)}
        pay = reverse("api-order-pay", args=[number])
        started = await self._ask("start payment", pay, {"provider": "simulated"}, with_key)
        if "payment" not in started:
            return
        await pause()
        message = captured(
            payment_id=started["payment"],
            url=started["url"],
            reservation_id=reservation_id,
            amount_minor=self._person.amount_minor,
        )
        signature = signature_header(body=message.encode(), signed_s=int(time.time()))
        await self._ask(
            "webhook", reverse("api-payment-webhook", args=["simulated"]), message, {SIGNATURE_HEADER: signature}
        )
        self._told.paid += 1

    async def _ask(
        self, step: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """The JSON object of the answer, asked for again while the shop is busy. Raises GaveUp."""
        request = self._request(path, body, headers or self._signed_in)
        for _time in range(REPEATS_MAX):
            sent_s = time.monotonic()
            try:
                reply = await self._connection.call(request)
            except TimeoutError:
                raise GaveUp(step) from None
            except (OSError, ValueError) as error:
                self._told.failed.append(f"{step}: {error!r}")
                return {}
            self._told.times_ms[step].append((time.monotonic() - sent_s) * 1_000)
            if reply.status != 503:
                return self._object(step, reply)
            self._told.busy += 1
            await asyncio.sleep(reply.retry_after_seconds)
        raise GaveUp(step)

    def _request(self, path: str, body: Any, headers: Mapping[str, str]) -> bytes:
        lines = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.1", f"Host: {self._host}", *BROWSER]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body is None:
            return ("\r\n".join(lines) + "\r\n\r\n").encode()
        content = (body if isinstance(body, str) else json.dumps(body)).encode()
        lines += [f"Origin: http://{self._host}", "Content-Type: application/json", f"Content-Length: {len(content)}"]
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + content

    def _object(self, step: str, reply: Reply) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(reply.body) if reply.body.startswith(b"{") else {}
        is_refusal = step == "reserve" and found.get("code") in REFUSALS
        if reply.status not in (200, 201) and not is_refusal:
            self._told.failed.append(f"{step}: {reply.status} {found.get('code', '')}")
        return found


async def pause() -> None:
    await asyncio.sleep(random.uniform(*PAUSE_SECONDS))
