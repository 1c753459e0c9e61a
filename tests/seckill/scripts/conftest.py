"""The tests of the scripts speak of one item: that of a store of its own, which is checked after each call."""

import pytest

from tests.seckill.checked_item import CheckedItem


@pytest.fixture
def item(checked_item: CheckedItem) -> CheckedItem:
    return checked_item
