"""A web process is warm before it takes connections, and a store that is away does not keep it out."""

import asyncio
import gc
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.db import connection, transaction

from seckill.store import scripts
from seckill.store.pipeline.asking import Pipelines
from shop.models import Product
from tests.live_shop import live_web, status_of
from tests.own_store import as_reservation_store, running
from tests.steps.shop import make_item
from web.lanes import Lane
from web.shells import Asked
from web.warm_start import OpenSales, WarmStart, own_host

# With a margin for a busy machine.
SOON_SECONDS = 5.0


class Pages:
    """Notes what is rendered."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    async def answer(self, asked: Asked) -> object:
        self.paths.append(asked[1])
        return None


class Gate:
    """Knows the items at the third time that it is asked."""

    def __init__(self) -> None:
        self.watched: list[int] = []
        self.asked = 0

    def watch(self, item_ids: Sequence[int]) -> None:
        self.watched += item_ids

    def knows(self, item_ids: Sequence[int]) -> bool:
        self.asked += 1
        return self.asked >= 3


def nothing(*_: object) -> None:
    """Succeeds."""


def warm_start(**changes: Any) -> WarmStart:
    given: dict[str, Any] = {
        "lanes": [],
        "connect_to_database": nothing,
        "connect_to_store": nothing,
        "pipelines": mock.AsyncMock(spec=Pipelines),
        "read_sales": lambda: OpenSales([7, 8], ["/sales/3/"]),
        "gate": Gate(),
        "pages": Pages(),
    }
    return WarmStart(**{**given, **changes})


def test_items_and_pages_of_open_sales_are_read() -> None:
    gate, pages, asked = Gate(), Pages(), list[Any]()
    asyncio.run(warm_start(gate=gate, pages=pages, connect_to_store=asked.append).run())
    assert (gate.watched, gate.asked, asked) == ([7, 8], 3, [[7, 8]])
    assert pages.paths == ["/", "/zh-hans/", "/sales/3/", "/zh-hans/sales/3/"]


def test_each_thread_of_a_lane_opens_its_connection() -> None:
    threads: set[int] = set()
    lane = Lane("test", path="", threads=6, waiting_seconds_max=5)
    asyncio.run(warm_start(lanes=[lane], connect_to_database=lambda: threads.add(threading.get_ident())).run())
    assert len(threads) == 6


def fails(*_: object) -> Any:
    raise ConnectionError("away")


STEPS = ("connect_to_database", "connect_to_store", "read_sales")


def test_a_step_that_fails_is_logged_and_the_others_are_done(caplog: pytest.LogCaptureFixture) -> None:
    for broken in STEPS:
        caplog.clear()
        pages, lane = Pages(), Lane("test", path="", threads=2, waiting_seconds_max=5)
        asyncio.run(warm_start(lanes=[lane], pages=pages, **{broken: fails}).run())
        assert "/zh-hans/" in pages.paths, broken
        assert "away" in caplog.text, broken


def test_a_server_that_never_answers_keeps_no_process_out() -> None:
    async def run(silent: str, released: threading.Event) -> float:
        lane = Lane("test", path="", threads=2, waiting_seconds_max=5)
        began_s = time.monotonic()
        await warm_start(lanes=[lane], seconds_max=0.2, **{silent: lambda *_: released.wait(60)}).run()
        seconds = time.monotonic() - began_s
        released.set()
        return seconds

    for silent in STEPS:
        assert asyncio.run(run(silent, threading.Event())) < SOON_SECONDS, silent


def test_the_host_is_one_that_django_accepts(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["shop.example", "127.0.0.1"]
    settings.SHOP_URL = "https://shop.example"
    assert own_host() == "shop.example"
    settings.SHOP_URL = "https://elsewhere.example"
    assert own_host() == "shop.example"


@pytest.mark.django_db(transaction=True)
def test_a_process_that_answers_has_its_connections_scripts_snapshots_and_pages(
    server_directory: Path, product: Product
) -> None:
    with running(server_directory) as own_store, as_reservation_store(own_store):
        item = make_item(product)
        own_store.client.script_flush()
        with live_web(SECKILL_REDIS_URL=own_store.url) as url:
            assert all(own_store.client.script_exists(*(script.sha for script in scripts.ALL)))
            # The gate reads the item, for which nobody has asked.
            assert own_store.calls()["lrange"] >= 1
            # The process has its pipeline and two connections for threads, and the test has one.
            assert len(own_store.client.client_list()) >= 3 + 1
            # The page is in memory: Django cannot render it now.
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("LOCK TABLE seckill_sale, seckill_saleitem IN ACCESS EXCLUSIVE MODE")
                assert status_of(f"{url}/sales/{item.sale_id}/") == 200


def test_a_full_collection_passes_over_objects_that_were_loaded_at_the_start() -> None:
    frozen = gc.get_freeze_count()
    asyncio.run(warm_start().run())
    assert gc.get_freeze_count() > frozen
