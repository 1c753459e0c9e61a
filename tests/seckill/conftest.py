"""A store of one's own for the tests of the scripts: they fill it up and watch each of its keys."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.own_store import OwnStore, as_reservation_store, running
from tests.seckill.checked_item import CheckedItem

# A machine that does much else at the moment is no failure of an example.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStore]:
    """A server with nothing in it. It does not sync: durability has tests of its own."""
    with running(tmp_path_factory.mktemp("own-store"), appendonly="no") as store:
        yield store


@pytest.fixture
def checked_item(own_store: OwnStore) -> Iterator[CheckedItem]:
    with as_reservation_store(own_store):
        yield CheckedItem(own_store)
