"""A separate store for the tests of the scripts, which fill it up and compare all of its keys."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.own_store import OwnStore, as_reservation_store, running
from tests.seckill.checked_item import CheckedItem

# On a busy machine, a slow example is not a failure.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStore]:
    """An empty server. It does not sync: durability is tested elsewhere."""
    with running(tmp_path_factory.mktemp("own-store"), appendonly="no") as store:
        yield store


@pytest.fixture
def checked_item(own_store: OwnStore) -> Iterator[CheckedItem]:
    with as_reservation_store(own_store):
        yield CheckedItem(own_store)
