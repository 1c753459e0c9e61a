"""Draws the pictures of the demo goods. Apart from shop/demo/loading.py, since a worker needs no tables of staff."""

import resvg_py
from django.core.files.base import ContentFile
from django.db import transaction

from shop.demo.assortment import PICTURES, PRODUCTS
from shop.models import Picture, Product

# As wide as the largest rendition of a picture.
PICTURE_PIXELS = 1200
# A few seconds of work.
PRODUCTS_AT_ONCE = 5


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
