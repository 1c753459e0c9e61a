"""The machine on a store that can be killed, with a product and buyers that all examples of a test share."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User

from shop.models import Product
from tests.orders.properties.payment_machine import PaymentMachine
from tests.orders.properties.world import Cast, run_sql
from tests.own_store import OwnStore, as_reservation_store, running


@pytest.fixture(scope="package")
def store_to_kill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStore]:
    """A server that syncs before it answers, as in production."""
    with running(tmp_path_factory.mktemp("store-to-kill")) as store:
        yield store


@pytest.fixture
def machine_type(store_to_kill: OwnStore, transactional_db: None, product: Product) -> Iterator[type[PaymentMachine]]:
    buyers = User.objects.bulk_create(User(username=f"buyer-{number}") for number in range(300))

    class Machine(PaymentMachine):
        own_store = store_to_kill
        cast = Cast(product=product, buyer_ids=[buyer.pk for buyer in buyers])

    with as_reservation_store(store_to_kill):
        yield Machine
    run_sql("RESET synchronous_commit")
