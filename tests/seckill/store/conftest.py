"""An event loop that asks the stores of these tests."""

from collections.abc import Iterator

import pytest

from tests.seckill.store.items import web


@pytest.fixture(scope="session", autouse=True)
def _event_loop() -> Iterator[None]:
    with web:
        yield
