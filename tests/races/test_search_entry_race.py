"""A product and its variants are saved at once: the entry of the search has what all of them have saved."""

from collections.abc import Callable

import pytest
from django.db import transaction

from shop.models import Product, SearchEntry
from tests.processes import wait_until
from tests.steps.at_once import at_once
from tests.steps.operating import waiting_for_locks
from tests.steps.shop import found_among, variant_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_entry_has_what_two_writers_have_saved_at_once(product: Product) -> None:
    saved: list[bool] = []

    def rename_the_product() -> None:
        with transaction.atomic():
            product.name_en = "Biluochun"  # type: ignore[attr-defined]
            product.save()
            saved.append(True)
            wait_until(lambda: waiting_for_locks() == 1, seconds_max=30)

    def change_the_price() -> None:
        wait_until(lambda: bool(saved), seconds_max=30)
        variant = variant_of(product)
        variant.price_minor = 7700
        variant.save()

    both: list[Callable[[], None]] = [rename_the_product, change_the_price]
    at_once(both)
    assert SearchEntry.objects.get().lowest_minor == 7700
    assert found_among(SearchEntry.objects.all(), "biluochun").entries.exists()
