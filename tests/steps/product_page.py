"""The page of a product in the admin, filled in."""

from typing import Any

from shop.models import Product
from tests.steps.shop import variant_of

PRODUCTS = "/admin/shop/product/"


def filled_page(*rows: dict[str, Any], saved_rows: int = 0, **changes: Any) -> dict[str, Any]:
    """What the browser posts: the product, and a row for each variant; `saved_rows` of them are stored."""
    data: dict[str, Any] = {
        "name_en": "Oolong tea",
        "name_zh_hans": "",
        "slug": "oolong",
        "is_active": "on",
        "variants-TOTAL_FORMS": len(rows),
        "variants-INITIAL_FORMS": saved_rows,
        "pictures-TOTAL_FORMS": 0,
        "pictures-INITIAL_FORMS": 0,
    }
    for number, row in enumerate(rows):
        data |= {f"variants-{number}-{field}": value for field, value in row.items()}
    return data | changes


def new_row(**changes: Any) -> dict[str, Any]:
    """A row for a new variant that breaks no rule."""
    return {"price_minor": "50.00", "weight_grams": 100, "position": 0, "is_active": "on"} | changes


def saved_page(product: Product, **changes: Any) -> dict[str, Any]:
    """The page of a saved product as it is shown, with `changes` in the row of its only variant."""
    variant = variant_of(product)
    row = new_row(id=variant.pk, product=product.pk, sku=variant.sku, price_minor="99.00") | changes
    page = filled_page(row, saved_rows=1, name_en=product.name, slug=product.slug)
    pictures = list(product.pictures.order_by("position"))
    page |= {"pictures-TOTAL_FORMS": len(pictures), "pictures-INITIAL_FORMS": len(pictures)}
    for number, picture in enumerate(pictures):
        fields = {"id": picture.pk, "product": product.pk, "position": picture.position}
        page |= {f"pictures-{number}-{field}": value for field, value in fields.items()}
    return page
