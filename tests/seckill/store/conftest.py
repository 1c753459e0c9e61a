"""An event loop that asks the stores of these tests."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import uvloop

from seckill import ledger
from tests.own_store import OwnStore, as_reservation_store, running
from tests.seckill.store import items
from tests.steps.pipelines import ITEM_ID, TERMS, RunningPipelines


@pytest.fixture(scope="session", autouse=True)
def _event_loop() -> Iterator[None]:
    with items.web:
        yield


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStore]:
    with running(tmp_path_factory.mktemp("store")) as server:
        yield server


@pytest.fixture
def store(server: OwnStore) -> Iterator[OwnStore]:
    """A store with one item of 50 units."""
    server.client.flushall()
    with as_reservation_store(server):
        ledger.publish(item_id=ITEM_ID, terms=TERMS)
        yield server


@pytest.fixture
def web() -> Iterator[RunningPipelines]:
    """On the loop of the web server."""
    with RunningPipelines(uvloop.new_event_loop) as running_pipelines:
        yield running_pipelines


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def web_on_any_loop(request: Any) -> Iterator[RunningPipelines]:
    """Also where there is no uvloop."""
    with RunningPipelines(request.param) as running_pipelines:
        yield running_pipelines
