"""A product's first picture; for a product without one a drawn pattern.

The pattern is SVG without style attributes because the CSP forbids them.
"""

from hashlib import sha256
from typing import TypedDict

from django import template

from shop.models import Picture, Product

register = template.Library()

# How wide pictures are shown, for the browser's choice of a file: in a row of an order, in a grid, on its own page.
SIZES = {
    "thumb": "5rem",
    "card": "(max-width: 48rem) 45vw, 17rem",
    "page": "(max-width: 48rem) 100vw, 40rem",
}

# The pattern is a square of CELLS × CELLS cells, each with a quarter of a disc in one of its corners.
CELLS = 4
CELL_SIZE = 25
# Ground and pattern: muted colours that go with each other, with the demo pictures, and with a light and a dark page.
COLOURS = (
    ("#a94f38", "#c16a50"),
    ("#2f6b5e", "#478777"),
    ("#946a1c", "#b18634"),
    ("#3d5a80", "#567599"),
    ("#784a60", "#936479"),
    ("#5b6936", "#76854d"),
    ("#80553a", "#9c6f51"),
    ("#43666f", "#5e828c"),
)

QUARTERS = (
    "M{x} {y}h{s}a{s} {s} 0 0 1-{s} {s}z",
    "M{x1} {y}v{s}a{s} {s} 0 0 1-{s}-{s}z",
    "M{x1} {y1}h-{s}a{s} {s} 0 0 1 {s}-{s}z",
    "M{x} {y1}v-{s}a{s} {s} 0 0 1 {s} {s}z",
)


class Pattern(TypedDict):
    initial: str
    ground: str
    shade: str
    quarters: str


class ProductPicture(TypedDict):
    product: Product
    picture: Picture | None
    pattern: Pattern | None
    size: str
    sizes: str


@register.inclusion_tag("shop/product_picture.html")
def product_picture(product: Product, size: str = "card") -> ProductPicture:
    """`size` is one of SIZES. Pages that show many products fetch `pictures` in advance."""
    picture = product.first_picture
    return {
        "product": product,
        "picture": picture,
        "pattern": None if picture else pattern_of(product),
        "size": size,
        "sizes": SIZES[size],
    }


def pattern_of(product: Product) -> Pattern:
    """Colours and pattern from the product's slug, and the initial of its name in the reader's language."""
    digest = sha256(product.slug.encode()).digest()
    ground, shade = COLOURS[digest[0] % len(COLOURS)]
    initial = str(product)[:1].upper()
    return {"initial": initial, "ground": ground, "shade": shade, "quarters": quarters_from(digest[2:])}


def quarters_from(digest: bytes) -> str:
    """Sixteen quarter discs as the data of one SVG path."""
    quarters = []
    for cell in range(CELLS * CELLS):
        x, y = cell % CELLS * CELL_SIZE, cell // CELLS * CELL_SIZE
        quarter = QUARTERS[digest[cell] % len(QUARTERS)]
        quarters.append(quarter.format(x=x, y=y, x1=x + CELL_SIZE, y1=y + CELL_SIZE, s=CELL_SIZE))
    return "".join(quarters)
