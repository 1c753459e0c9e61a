"""The price and the stock moved from the product to its variant, and names to a column for each language.

A shop with products, a sale and orders goes through these migrations forth, back and forth again, and loses nothing.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connections
from django.db.migrations.executor import MigrationExecutor
from pytest_django import DjangoDbBlocker

OLD = [
    ("shop", "0003_api_tokens_end_with_the_password"),
    ("seckill", "0005_archived_items"),
    ("orders", "0010_lines_of_item"),
]
NEW = [
    ("shop", "0006_products_without_price"),
    ("seckill", "0008_items_without_product"),
    ("orders", "0013_lines_without_product"),
]
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


@pytest.fixture
def empty_database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A database of its own, so that a migration that fails halfway spoils no other test."""
    with django_db_blocker.unblock():
        shared = connections["default"]
        own = shared.copy(alias="default")
        own.settings_dict["NAME"] = f"migrations_{uuid4().hex}"
        with shared._nodb_cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {own.settings_dict['NAME']}")
        connections["default"] = own
        try:
            yield
        finally:
            own.close()
            connections["default"] = shared
            with shared._nodb_cursor() as cursor:
                cursor.execute(f"DROP DATABASE {own.settings_dict['NAME']}")


def migrate(targets: list[tuple[str, str]]) -> Any:
    """The models as they are at `targets`."""
    executor = MigrationExecutor(connections["default"])
    executor.migrate(targets)
    return MigrationExecutor(connections["default"]).loader.project_state(targets).apps


def fill(apps: Any) -> None:
    """Two products in a category, one of them in a published sale and in an order."""
    category = apps.get_model("shop", "Category").objects.create(name="Tea", name_zh="茶", slug="tea")
    products = apps.get_model("shop", "Product").objects
    tea = products.create(
        name="Longjing tea",
        name_zh="龙井茶",
        description="Green",
        description_zh="绿茶",
        slug="longjing",
        category=category,
        price_minor=9900,
        stock=12,
    )
    products.create(name="Cup", slug="cup", price_minor=4900, stock=0)
    sale = apps.get_model("seckill", "Sale").objects.create(
        name="Spring sale",
        name_zh="春季秒杀",
        opens_at=NOW,
        closes_at=NOW + timedelta(hours=1),
        published_at=NOW,
    )
    item = apps.get_model("seckill", "SaleItem").objects.create(
        sale=sale, product=tea, price_minor=1900, quantity=5, taken=2
    )
    buyer = apps.get_model("auth", "User").objects.create(username="buyer")
    order = apps.get_model("orders", "Order").objects.create(
        buyer=buyer,
        reservation_id=uuid4(),
        amount_minor=3800,
        currency="CNY",
        reserved_at=NOW,
        expires_at=NOW + timedelta(minutes=15),
    )
    apps.get_model("orders", "OrderLine").objects.create(
        order=order, product=tea, sale_item=item, units=2, unit_price_minor=1900
    )


def rows_of(apps: Any, *models: tuple[str, str]) -> dict[str, list[dict[str, Any]]]:
    return {model: list(apps.get_model(app, model).objects.order_by("pk").values()) for app, model in models}


def old_rows(apps: Any) -> dict[str, list[dict[str, Any]]]:
    return rows_of(
        apps,
        ("shop", "Category"),
        ("shop", "Product"),
        ("seckill", "Sale"),
        ("seckill", "SaleItem"),
        ("orders", "Order"),
        ("orders", "OrderLine"),
    )


def new_facts(apps: Any) -> dict[str, Any]:
    """What a shop must still know, without ids and codes that are drawn anew."""

    def values(app: str, model: str, *fields: str) -> list[Any]:
        return list(apps.get_model(app, model).objects.order_by("pk").values_list(*fields))

    return {
        "categories": values("shop", "Category", "name_en", "name_zh_hans"),
        "products": values("shop", "Product", "name_en", "name_zh_hans", "description_en", "description_zh_hans"),
        "variants": values("shop", "Variant", "product__slug", "sku", "price_minor", "available", "held", "sold"),
        "journal": values("shop", "StockChange", "variant__sku", "kind", "units", "available_after"),
        "sales": values("seckill", "Sale", "name_en", "name_zh_hans", "published_at"),
        "items": values("seckill", "SaleItem", "variant__sku", "price_minor", "quantity", "taken"),
        "lines": values("orders", "OrderLine", "variant__sku", "sale_item", "units"),
    }


@pytest.mark.usefixtures("empty_database")
def test_a_shop_goes_forth_back_and_forth_again_and_loses_nothing() -> None:
    old = migrate(OLD)
    fill(old)
    before = old_rows(old)

    facts = new_facts(migrate(NEW))
    assert facts["products"] == [
        ("Longjing tea", "龙井茶", "Green", "绿茶"),
        ("Cup", None, "", None),
    ]
    longjing, cup = (variant[1] for variant in facts["variants"])
    assert facts["variants"] == [("longjing", longjing, 9900, 12, 0, 0), ("cup", cup, 4900, 0, 0, 0)]
    assert facts["journal"] == [(longjing, "counted", 12, 12)]
    assert facts["sales"] == [("Spring sale", "春季秒杀", NOW)]
    assert facts["items"] == [(longjing, 1900, 5, 2)]
    assert [(sku, units) for sku, _item, units in facts["lines"]] == [(longjing, 2)]

    assert old_rows(migrate(OLD)) == before
    assert new_facts(migrate(NEW)) == facts


@pytest.mark.usefixtures("empty_database")
def test_what_was_sold_since_goes_back_with_the_rest() -> None:
    """The old shop has one price and one stock: those of the first variant."""
    fill(migrate(OLD))
    new = migrate(NEW)
    tea = new.get_model("shop", "Product").objects.get(slug="longjing")
    large = new.get_model("shop", "Variant").objects.create(product=tea, sku="L", price_minor=19900, position=1)
    order = new.get_model("orders", "Order").objects.create(
        buyer_id=new.get_model("auth", "User").objects.get().pk,
        amount_minor=19900,
        currency="CNY",
        reserved_at=NOW,
        expires_at=NOW,
    )
    new.get_model("orders", "OrderLine").objects.create(order=order, variant=large, units=1, unit_price_minor=19900)
    new.get_model("shop", "Variant").objects.filter(sku=f"P{tea.pk}").update(available=7, price_minor=8800)

    old = migrate(OLD)
    tea = old.get_model("shop", "Product").objects.get(slug="longjing")
    assert (tea.price_minor, tea.stock) == (8800, 7)
    assert old.get_model("orders", "OrderLine").objects.filter(product=tea).count() == 2
