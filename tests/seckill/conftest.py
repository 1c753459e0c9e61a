"""A store of one's own for the tests of the scripts: they fill it up and watch each of its keys."""

from collections.abc import Iterator

import pytest

from tests.own_store import OwnStore, as_reservation_store, running
from tests.seckill.stage import Stage


@pytest.fixture(scope="session")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStore]:
    """A server with nothing in it. It does not sync: durability has tests of its own."""
    with running(tmp_path_factory.mktemp("own-store"), appendonly="no") as store:
        yield store


@pytest.fixture
def stage(own_store: OwnStore) -> Iterator[Stage]:
    with as_reservation_store(own_store):
        yield Stage(own_store)
