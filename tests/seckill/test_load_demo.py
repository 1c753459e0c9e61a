"""Demo data can be loaded repeatedly, whatever a manager has changed meanwhile."""

from collections.abc import Iterator
from datetime import timedelta
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db.models import Q
from django.utils import timezone

from orders.management.commands.load_demo import UNITS_BESIDE_THE_SALE
from seckill import ledger
from seckill.models import Sale, SaleItem
from shop.demo.assortment import PRODUCTS
from shop.models import Category, Product, Variant

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True, scope="module")
def _passwords() -> Iterator[None]:
    passwords = {"STAMPEDE_ADMIN_PASSWORD": "an-admin-password", "STAMPEDE_BUYER_PASSWORD": "a-buyer-password"}
    with mock.patch.dict("os.environ", passwords):
        yield


@pytest.fixture(autouse=True, scope="module")
def loaded(_passwords: None, rows_of_the_file: None) -> set[int]:
    """The demo data, loaded once for all tests. The items that were in the store then."""
    load()
    pks = SaleItem.objects.values_list("pk", flat=True)
    return {pk for pk, counters in ledger.read_many(item_ids=list(pks)).items() if counters}


def load() -> None:
    """Without pictures, which take half a minute; they have tests of their own."""
    with mock.patch("shop.tasks.draw_demo_pictures.delay"):
        call_command("load_demo", "--pictures-later", verbosity=0)


@pytest.mark.slow
def test_a_sale_opens_within_a_minute_and_another_tomorrow(loaded: set[int]) -> None:
    now = timezone.now()
    first, second = Sale.objects.order_by("opens_at")
    assert timedelta(0) < first.opens_at - now < timedelta(minutes=1)
    assert first.closes_at - first.opens_at == timedelta(hours=2)
    assert second.opens_at - now > timedelta(hours=20)
    amounts = sorted((item.quantity or 0, item.per_buyer_max) for item in first.items.all())
    assert amounts == [(0, 5), (100, 1), (500, 3)]
    items = SaleItem.objects.select_related("variant__product")
    assert all(item.price_minor <= item.variant.price_minor for item in items)
    assert {item.pk for item in items} == loaded
    assert Product.objects.count() == len(PRODUCTS)
    assert Variant.objects.filter(available__lt=UNITS_BESIDE_THE_SALE, sale_items__isnull=False).count() == 0
    assert not Product.objects.filter(Q(name_zh_hans=None) | Q(description_zh_hans=None)).exists()


def test_the_second_time_nothing_changes_but_a_password_that_was_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    passwords = dict(User.objects.values_list("username", "password"))
    Product.objects.filter(slug="gaiwan").update(name="A manager's name for it")
    monkeypatch.setenv("STAMPEDE_ADMIN_PASSWORD", "another-password")
    load()
    assert Sale.objects.count() == 2
    assert Product.objects.get(slug="gaiwan").name == "A manager's name for it"
    now = dict(User.objects.values_list("username", "password"))
    assert {name for name in passwords.keys() | now.keys() if now.get(name) != passwords.get(name)} == {"admin"}
    assert User.objects.get(username="admin").check_password("another-password")
    assert User.objects.get(username="admin").is_superuser
    assert User.objects.get(username="admin").email
    assert User.objects.get(username="alice").check_password("a-buyer-password")
    assert not User.objects.get(username="bob").is_staff


def test_when_the_sale_is_over_there_is_a_new_one_without_what_staff_have_hidden() -> None:
    past = timezone.now() - timedelta(hours=3)
    Sale.objects.filter(name="Opening sale").update(opens_at=past, closes_at=past + timedelta(hours=2))
    Product.objects.filter(slug="headphones").update(is_active=False)
    Variant.objects.filter(product__slug="gaiwan").update(is_active=False)
    load()
    _former, opening = Sale.objects.filter(name="Opening sale").order_by("opens_at")
    assert [item.product.slug for item in opening.items.select_related("variant__product")] == ["longjing-tea"]


def test_products_that_a_manager_sells_at_that_time_are_left_to_the_manager() -> None:
    Sale.objects.all().delete()
    Category.objects.get_or_create(name="Mine", slug="mine")
    opens_at = timezone.now() + timedelta(minutes=30)
    mine = Sale.objects.create(name="Mine", opens_at=opens_at, closes_at=opens_at + timedelta(hours=1))
    headphones = Variant.objects.filter(product__slug="headphones")[0]
    SaleItem.objects.create(sale=mine, variant=headphones, price_minor=100, quantity=1)
    load()
    opening = Sale.objects.get(name="Opening sale")
    slugs = {item.product.slug for item in opening.items.select_related("variant__product")}
    assert slugs == {"longjing-tea", "gaiwan"}
