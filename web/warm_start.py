"""Warms up a web process before its first request, so that its first callers need not wait.

It opens connections to the stores, reads the sales that are open or open soon, and renders the home page and the pages
of these sales, for which Django loads the whole shop. The process takes connections only afterwards: granian binds its
port when `__rsgi_init__` has returned.

A store that is away must not keep a host out: after a power failure all hosts start at once, perhaps before the stores,
and orders, payments and pages go on without the store of a sale. So the warm-up ends after WARM_SECONDS_MAX, and
requests do the rest when they need it.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from threading import Barrier
from typing import TypeVar
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.db import connection
from django.utils import timezone
from redis import Redis

from seckill.models import SaleItem, published_items
from seckill.store import scripts
from seckill.store.client import ask_each
from seckill.store.pipeline.asking import Pipelines
from shop.configuration.lasting_objects import loading
from shop.languages.page_language import OTHER_LANGUAGES
from web.lanes import Lane
from web.reservations.gate import Gate
from web.shells import Shells, is_own_host

log = structlog.get_logger(__name__)
T = TypeVar("T")

WARM_SECONDS_MAX = 6.0
# How long the gate may take to read the items. It asks every 50 ms.
GATE_SECONDS_MAX = 1.0
# Each may take tens of milliseconds. Other pages are rendered at their first request.
PAGES_MAX = 20
# One page may show many items, and the gate reads all that are asked for every 50 ms.
ITEMS_MAX = 200
# Of threads: the gate's, and that of a view that reserves.
CONNECTIONS = 2


@dataclass(frozen=True, slots=True)
class OpenSales:
    """The targets of the first calls: items of sales that are open or open soon, and the paths of their pages."""

    item_ids: Sequence[int]
    paths: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmStart:
    """The steps of the warm-up. The functions are called in threads and may fail; `gate` is None where it is off.

    Each thread of `lanes` gets a connection to PostgreSQL, and the items' store some for the process.
    """

    lanes: Sequence[Lane]
    connect_to_database: Callable[[], object]
    connect_to_store: Callable[[Sequence[int]], object]
    pipelines: Pipelines
    read_sales: Callable[[], OpenSales]
    gate: Gate | None
    pages: Shells
    seconds_max: float = WARM_SECONDS_MAX

    async def run(self) -> None:
        """Take all steps, in at most `seconds_max`. Raises nothing: a step that fails is logged and left out."""
        with loading():
            try:
                async with asyncio.timeout(self.seconds_max):
                    await asyncio.gather(*map(self._connect, self.lanes), self._read())
            except Exception as error:
                log.warning("not_warm", error=repr(error))

    async def _connect(self, lane: Lane) -> None:
        # Each thread waits until all of them have a call, so that none of them takes two.
        barrier = Barrier(lane.threads)

        def connect() -> None:
            barrier.wait(timeout=self.seconds_max)
            self.connect_to_database()

        results = await asyncio.gather(*(lane.run(connect) for _ in range(lane.threads)), return_exceptions=True)
        for error in results:
            if isinstance(error, Exception):
                log.warning("not_connected", lane=lane.name, error=repr(error))
                return

    async def _read(self) -> None:
        sales = await tried(self.read_sales) or OpenSales([], [])
        await tried(lambda: self.connect_to_store(sales.item_ids))
        await self.pipelines.connect(sales.item_ids)
        if self.gate:
            self.gate.watch(sales.item_ids)
        for path in pages_in_all_languages(sales.paths)[:PAGES_MAX]:
            await self.pages.answer(("GET", path, own_host(), AS_A_PROXY, "", ""))
        ends_s = time.monotonic() + GATE_SECONDS_MAX
        while self.gate and not self.gate.knows(sales.item_ids) and time.monotonic() < ends_s:
            await asyncio.sleep(0.02)


async def tried(step: Callable[[], T]) -> T | None:
    """The result of `step`, in a thread; None if it failed, which is logged."""
    try:
        return await asyncio.to_thread(step)
    except Exception as error:
        log.warning("not_warm", error=repr(error))
        return None


# Without it, a shop behind TLS would answer with a redirect.
AS_A_PROXY = {"x-forwarded-proto": "https"}


def pages_in_all_languages(paths: Sequence[str]) -> list[str]:
    """The home page first, then `paths`, each in every language."""
    prefixes = ["", *(f"/{code}" for code in OTHER_LANGUAGES)]
    return [f"{prefix}{path}" for path in ("/", *paths) for prefix in prefixes]


def own_host() -> str:
    """A Host header that the shop accepts: that of SHOP_URL, else the first of ALLOWED_HOSTS."""
    named = urlsplit(settings.SHOP_URL).netloc
    return named if is_own_host(named) else next(iter(settings.ALLOWED_HOSTS), named)


def read_open_sales() -> OpenSales:
    """The items of sales that are open or open soon, the latest opening first. Raises database errors."""
    try:
        soon = timezone.now() + timedelta(seconds=settings.SECKILL_PASS_LEAD_SECONDS)
        found = published_items().filter(sale__opens_at__lte=soon, sale__closes_at__gt=timezone.now())
        items: list[SaleItem] = list(found.order_by("-sale__opens_at", "pk")[:ITEMS_MAX])
    finally:
        # This thread is not needed again.
        connection.close()
    # A sale has several items.
    paths = dict.fromkeys(f"/sales/{item.sale_id}/" for item in items)
    return OpenSales([item.pk for item in items], list(paths))


def connect_to_store(item_ids: Sequence[int]) -> None:
    """Open connections to each server of the store that has one of the items, and give it the scripts.

    Raises StoreUnreachable if none of them answers.
    """

    def connect(client: Redis, item_ids: Sequence[int]) -> dict[int, None]:
        scripts.load(client)
        scripts.connect(client, count=CONNECTIONS)
        return dict.fromkeys(item_ids)

    # Without a sale, ask for an item that need not exist: the process then knows the Cluster or the single server.
    ask_each(connect, item_ids=item_ids or [0])


def connect_to_database() -> None:
    """Open this thread's connection to PostgreSQL. Raises database errors."""
    connection.ensure_connection()
