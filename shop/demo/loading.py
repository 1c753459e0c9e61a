"""Puts the demo goods into the catalogue. Goods that are there stay as they are: a manager may have edited them."""

from collections.abc import Sequence
from typing import Any

import resvg_py
import tablib
from django.core.files.base import ContentFile
from django.db import transaction

from shop.demo.assortment import CATEGORIES, PICTURES, PRODUCTS, VARIANTS
from shop.models import Category, Picture, Product, StockChange, Variant
from shop.staff.product_tables import ProductTable, VariantTable
from shop.stock.movements import move

# As wide as the largest rendition of a picture.
PICTURE_PIXELS = 1200
REASON = "demo data"
# A few seconds of work.
PRODUCTS_AT_ONCE = 5


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
        known = set(Product.objects.values_list("slug", flat=True))
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


def load_pictures() -> int:
    """Draw all pictures of demo goods that have none, some three in a second. Returns how many were made."""
    made = 0
    while some := draw_some_pictures():
        made += some
    return made


def draw_some_pictures() -> int:
    """Those of the next few products. Returns how many were made: 0 once there is nothing to do."""
    bare = {product.slug: product for product in Product.objects.filter(pictures=None)}
    rows = [row for row in PRODUCTS if row["slug"] in bare][:PRODUCTS_AT_ONCE]
    for row in rows:
        with transaction.atomic():
            for position, column in enumerate(pictures_of(row)):
                load_picture(row, column, product=bare[row["slug"]], position=position)
    return sum(len(pictures_of(row)) for row in rows)


def pictures_of(row: dict[str, str]) -> list[str]:
    """The columns that name its drawings."""
    return [column for column in ("picture", "picture_2") if row[column]]


def load_picture(row: dict[str, str], column: str, *, product: Product, position: int) -> None:
    """The drawing goes the way of every upload: it is scaled and saved as WebP."""
    drawing = resvg_py.svg_to_bytes(
        svg_string=(PICTURES / row[column]).read_text(), width=PICTURE_PIXELS, height=PICTURE_PIXELS
    )
    Picture.objects.create(
        product=product,
        image=ContentFile(bytes(drawing), name="drawing.png"),
        alt=row[f"{column}_en"],
        alt_zh_hans=row[f"{column}_zh_hans"],
        position=position,
    )


def deliver(*, variant: Variant, units: int) -> None:
    """Bring the stock of a variant to at least so many units."""
    lacking = units - Variant.objects.get(pk=variant.pk).available
    if lacking > 0:
        move(kind=StockChange.Kind.CHANGED, units_of={variant.pk: lacking}, reason=REASON)
