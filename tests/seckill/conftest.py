"""A separate store for the tests of the scripts, which fill it up and compare all of its keys."""

from collections.abc import Iterator

import pytest

from tests.own_store import OwnStore, as_reservation_store
from tests.seckill.checked_item import CheckedItem


@pytest.fixture
def checked_item(own_store: OwnStore) -> Iterator[CheckedItem]:
    with as_reservation_store(own_store):
        yield CheckedItem(own_store)
