"""A store that can be killed, and the product and buyers, shared by all examples of a test."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User

from shop.models import Product
from tests.orders.properties.world import Cast, run_sql
from tests.own_store import OwnStore, as_reservation_store, running


@pytest.fixture(scope="package")
def store_to_kill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStore]:
    """A server that syncs before it answers, as in production."""
    with running(tmp_path_factory.mktemp("store-to-kill")) as store:
        yield store


@pytest.fixture
def store_and_cast(
    store_to_kill: OwnStore, transactional_db: None, product: Product
) -> Iterator[tuple[OwnStore, Cast]]:
    buyers = User.objects.bulk_create(User(username=f"buyer-{number}") for number in range(300))
    buyer_ids = [buyer.pk for buyer in buyers]
    with as_reservation_store(store_to_kill):
        yield store_to_kill, Cast(product=product, buyer_ids=buyer_ids)
    run_sql("RESET synchronous_commit")
