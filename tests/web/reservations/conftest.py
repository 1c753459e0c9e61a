"""A hot lane within the transaction of a test."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connections

from tests.web.reservations.lane import Lane


@pytest.fixture
def _connection_stays_open(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Django closes or renews a connection after a request, also in a transaction, except for its own client."""
    monkeypatch.setattr(connections["default"], "close_at", None)
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def make_lane(_connection_stays_open: None) -> Iterator[Callable[..., Lane]]:
    """Makes lanes, and closes them after the test."""
    made: list[Lane] = []

    def make(**parts: Any) -> Lane:
        made.append(Lane(**parts))
        return made[-1]

    yield make
    for lane in made:
        lane.close()


@pytest.fixture
def lane(make_lane: Callable[..., Lane]) -> Lane:
    return make_lane()
