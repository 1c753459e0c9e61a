"""Whole journeys of a crowd, with the pauses in which people read and think, on connections that stay open.

All people come before the opening, look at the page of the sale and fetch a pass. In the first seconds of the sale they
reserve, as pages do. Buyers who hear yes wait for the order, open it and pay; the others leave.
"""

import asyncio
import json
import random
import secrets
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from django.urls import reverse

from bench import load_buyers
from bench.load_sale import open_load_items
from bench.measure.speed import measured_sales
from bench.measure.speed.part import Part, Sample, Server, WrongAnswer
from bench.measure.speed.parts.reserving_parts import check_sold, orders_of
from bench.measure.speed.server_groups import SHOP
from bench.stampede.paying_buyers import captured
from bench.stampede.verdict import percentile
from orders.models import Order, OrderStatus
from orders.payments.simulated.adapter import SIGNATURE_HEADER, signature_header
from seckill.models import SaleItem

# In a run of the usual length; a shorter run has fewer.
PEOPLE_PER_SECOND_OF_RUN, PEOPLE_MAX = 2_000, 10_000
UNITS = (334, 333, 333)
# Everybody comes within this time, and the sale opens at its end.
COMING_SECONDS = 40.0
# Within which time pages spread their calls at an opening.
RUSH_SECONDS = 3.0
# How long the orders may take until they are paid.
PAYING_SECONDS_MAX = 60.0
CALL_SECONDS_MAX = 10.0
# A page that hears 503 or nothing asks again, so often at most.
REPEATS_MAX = 20
# Addresses from which people come: limits count by address.
ADDRESSES = 100
# The shortest and the longest pause of somebody who reads, in seconds.
PAUSE_SECONDS = (0.5, 3.0)
STEPS = ("sale page", "me", "pass", "live", "reserve", "status", "order page", "start payment", "webhook")


@dataclass(slots=True)
class Told:
    """What the crowd was told: times of calls by step, in milliseconds; the yeses by item; calls that failed.

    `busy` are calls that were answered 503 or not at all, and repeated.
    """

    times_ms: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    yes: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    failed: list[str] = field(default_factory=list)
    busy: int = 0
    paid: int = 0


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a signed-in browser who wants one unit of an item."""

    session_key: str
    item: SaleItem

    def headers(self) -> dict[str, str]:
        """As the scripts of a page send them. One text is cookie and header of the check against foreign forms."""
        token = secrets.token_hex(16)
        return {"Cookie": f"sessionid={self.session_key}; csrftoken={token}", "X-CSRFToken": token}


def journeys(server: Server) -> Sample:
    """Raises WrongAnswer if a call failed, a yes has no order, or a unit was sold twice."""
    people_count = min(PEOPLE_PER_SECOND_OF_RUN * server.seconds, PEOPLE_MAX)
    sessions = measured_sales.session_keys(load_buyers.load_buyer_ids(count=people_count))
    items = open_load_items(
        name="Journeys",
        quantities=UNITS,
        per_buyer_max=1,
        open_seconds=3_600,
        hold_seconds=3_600,
        opens_in_seconds=COMING_SECONDS,
    )
    opens_s = time.monotonic() + (items[0].sale.opens_at.timestamp() - time.time())
    people = [Person(key, items[number % len(items)]) for number, key in enumerate(sessions)]
    try:
        told = asyncio.run(go(people, server=server, opens_s=opens_s))
        for item in items:
            check_sold(item, orders_of(item), told_yes=told.yes[item.pk], connections=0)
    finally:
        for item in items:
            measured_sales.retire(item)
    if told.failed:
        raise WrongAnswer(f"{len(told.failed):,} calls of {people_count:,} people failed, first: {told.failed[0]}")
    paid = Order.objects.filter(lines__sale_item__in=items, status=OrderStatus.PAID).count()
    if paid != told.paid:
        raise WrongAnswer(f"{told.paid:,} payments were reported, but {paid:,} orders are paid")
    counts = {"people": people_count, "yes": sum(told.yes.values()), "paid": paid, "busy": told.busy}
    return Sample(figures={**times_of(told.times_ms), **counts})


def times_of(times_ms: Mapping[str, Sequence[float]]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for step in STEPS:
        ordered = sorted(times_ms.get(step, []))
        name = step.replace(" ", "_")
        if ordered:
            figures[f"{name}_p50_ms"], figures[f"{name}_p99_ms"] = percentile(ordered, 0.5), percentile(ordered, 0.99)
    return figures


async def go(people: Sequence[Person], *, server: Server, opens_s: float) -> Told:
    told = Told()
    connectors = [
        aiohttp.TCPConnector(limit=0, keepalive_timeout=30, local_addr=(f"127.0.1.{number + 1}", 0))
        for number in range(ADDRESSES)
    ]
    clients = [
        aiohttp.ClientSession(
            server.url("/"),
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=CALL_SECONDS_MAX),
        )
        for connector in connectors
    ]
    try:
        walks = [Walk(person, clients[number % ADDRESSES], told) for number, person in enumerate(people)]
        await asyncio.gather(*(walk.go(opens_s=opens_s) for walk in walks))
    finally:
        for client in clients:
            await client.close()
    return told


class Walk:
    """The journey of one person."""

    def __init__(self, person: Person, client: aiohttp.ClientSession, told: Told) -> None:
        self._person = person
        self._client = client
        self._told = told
        self._headers = person.headers()

    async def go(self, *, opens_s: float) -> None:
        item = self._person.item
        # The last of them come a moment before the opening.
        await asyncio.sleep(random.uniform(0, max(opens_s - time.monotonic() - 2 * PAUSE_SECONDS[1], 0)))
        await self._ask("sale page", reverse("sale", args=[item.sale_id]))
        await self._ask("me", reverse("api-me"))
        await pause()
        pass_ = await self._ask("pass", reverse("api-passes", args=[item.pk]), {})
        # The last look before the opening. The part `live` measures the others, of which there are many.
        await self._ask("live", reverse("api-sale-live", args=[item.sale_id]))
        await asyncio.sleep(max(opens_s - time.monotonic(), 0) + random.uniform(0, RUSH_SECONDS))
        headers = {"Authorization": f"Pass {pass_.get('pass', '')}"}
        answer = await self._ask("reserve", reverse("api-reserve", args=[item.pk]), {"units": 1}, headers=headers)
        if "status_url" in answer:
            self._told.yes[item.pk] += 1
            await self._pay(answer["id"], answer["status_url"])

    async def _pay(self, reservation_id: str, status_url: str) -> None:
        status: dict[str, Any] = {}
        give_up_s = time.monotonic() + PAYING_SECONDS_MAX
        while not status.get("order"):
            if time.monotonic() > give_up_s:
                self._told.failed.append(f"no order: {status}")
                return
            await asyncio.sleep(status.get("poll_after_ms", 500) / 1_000)
            status = await self._ask("status", status_url)
        number = status["order"]
        await self._ask("order page", reverse("order", args=[number]))
        await pause()
        key = {"Idempotency-Key": secrets.token_hex(16)}
        pay = reverse("api-order-pay", args=[number])
        started = await self._ask("start payment", pay, {"provider": "simulated"}, headers={**self._headers, **key})
        if "payment" not in started:
            return
        await pause()
        message = captured(
            payment_id=started["payment"],
            url=started["url"],
            reservation_id=reservation_id,
            amount_minor=self._person.item.price_minor,
        )
        signature = signature_header(body=message.encode(), signed_s=int(time.time()))
        webhook = reverse("api-payment-webhook", args=["simulated"])
        await self._ask("webhook", webhook, message, headers={SIGNATURE_HEADER: signature})
        self._told.paid += 1

    async def _ask(
        self, step: str, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """The JSON object of the answer, asked for again while the shop is busy."""
        for _time in range(REPEATS_MAX):
            status, reply, retry_after_seconds = await self._call(step, path, body, headers or self._headers)
            if status not in (0, 503):
                break
            self._told.busy += 1
            await asyncio.sleep(retry_after_seconds)
        is_refusal = step == "reserve" and reply.get("code") in ("sold_out", "held_by_others")
        if status not in (200, 201) and not is_refusal:
            self._told.failed.append(f"{step}: {status} {reply.get('code', '')}")
        return reply

    async def _call(
        self, step: str, path: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[int, dict[str, Any], float]:
        """Status, JSON object and Retry-After of one call; status 0 for no answer."""
        sent_s = time.monotonic()
        details: dict[str, Any] = {"headers": {**headers}}
        if body is not None:
            details["data"] = body if isinstance(body, str) else json.dumps(body)
            details["headers"]["Content-Type"] = "application/json"
        try:
            async with self._client.request("GET" if body is None else "POST", path, **details) as response:
                text = await response.text()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return 0, {"code": repr(error)}, 1.0
        self._told.times_ms[step].append((time.monotonic() - sent_s) * 1_000)
        reply = json.loads(text) if "json" in response.content_type else {}
        return response.status, reply, float(response.headers.get("Retry-After", "1"))


async def pause() -> None:
    await asyncio.sleep(random.uniform(*PAUSE_SECONDS))


PARTS = (
    Part(
        name="journeys",
        title=f"journeys of {PEOPLE_MAX:,} people to {sum(UNITS):,} units",
        server=SHOP,
        measure=journeys,
        once=True,
    ),
)
