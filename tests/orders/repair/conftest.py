"""A durable store that a test may kill, and one item on it with its reservations and orders."""

from collections.abc import Iterator

import pytest

from orders.repair import audit, reconcile
from shop.models import Product
from tests.own_store import OwnStore, as_reservation_store, running
from tests.steps.item_journey import ItemJourney
from tests.steps.shop import make_item


@pytest.fixture(scope="module")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStore]:
    """A server that syncs before it answers."""
    with running(tmp_path_factory.mktemp("repair")) as store:
        yield store


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Differences that a test makes do not change, so they can be compared again at once."""
    monkeypatch.setattr(audit, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(reconcile, "TOTALS_PAUSE_SECONDS", 0.0)


@pytest.fixture
def journey(own_store: OwnStore, product: Product) -> Iterator[ItemJourney]:
    """Twenty units, at most two per buyer."""
    own_store.client.flushall()
    with as_reservation_store(own_store):
        yield ItemJourney(own_store, make_item(product, quantity=20, per_buyer_max=2))
