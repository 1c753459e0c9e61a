"""Puts the demo goods into the catalogue. Goods that are there stay as they are: a manager may have edited them."""

from collections.abc import Sequence
from typing import Any

import tablib
from django.db import transaction

from shop.demo.assortment import CATEGORIES, PRODUCTS, VARIANTS
from shop.models import Category, Product, StockChange, Variant
from shop.staff.product_tables import ProductTable, VariantTable
from shop.stock.movements import move

REASON = "demo data"


def load_goods() -> None:
    """Categories, products, variants and their stock."""
    with transaction.atomic():
        categories: dict[str, Category] = {}
        for position, category in enumerate(CATEGORIES):
            categories[category.slug], _created = Category.objects.get_or_create(
                slug=category.slug,
                defaults={
                    "name": category.name,
                    "name_zh_hans": category.name_zh,
                    "parent": categories[category.parent] if category.parent else None,
                    "position": position,
                },
            )
        # A product that staff gave another slug still has its SKUs.
        known = set(Product.objects.values_list("slug", flat=True))
        skus = set(Variant.objects.values_list("sku", flat=True))
        known.update(row["product"] for row in VARIANTS if row["sku"] in skus)
        products = [row for row in PRODUCTS if row["slug"] not in known]
        slugs = {row["slug"] for row in products}
        variants = [row for row in VARIANTS if row["product"] in slugs]
        import_rows(ProductTable(), products)
        import_rows(VariantTable(), variants)
        pks = dict(Variant.objects.filter(product__slug__in=slugs).values_list("sku", "pk"))
        units_of = {pks[row["sku"]]: int(row["stock"]) for row in variants if int(row["stock"])}
        move(kind=StockChange.Kind.CHANGED, units_of=units_of, reason=REASON)


def import_rows(table: Any, rows: Sequence[dict[str, str]]) -> None:
    """Import `rows` by an import-export resource, as a table that staff upload.

    Columns that it does not know are left out.
    """
    if rows:
        dataset = tablib.Dataset(headers=list(rows[0]))
        dataset.extend(list(row.values()) for row in rows)
        table.import_data(dataset, raise_errors=True)


def deliver(*, variant: Variant, units: int) -> None:
    """Bring the stock of a variant to at least so many units."""
    lacking = units - Variant.objects.get(pk=variant.pk).available
    if lacking > 0:
        move(kind=StockChange.Kind.CHANGED, units_of={variant.pk: lacking}, reason=REASON)
