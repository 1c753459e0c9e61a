"""Puts the demo goods into the catalogue. What is there already is not changed: a manager may have edited it."""

import resvg_py
from django.core.files.base import ContentFile
from django.db import transaction

from shop.demo.assortment import CATEGORIES, PICTURES, PRODUCTS
from shop.demo.goods import DemoPicture, DemoProduct
from shop.models import Category, Picture, Product, StockChange, Variant
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
        for product in PRODUCTS:
            if product.slug not in known:
                load_product(product, categories[product.category])


def load_product(product: DemoProduct, category: Category) -> None:
    saved = Product.objects.create(
        slug=product.slug,
        category=category,
        name=product.name,
        name_zh_hans=product.name_zh,
        description=product.description,
        description_zh_hans=product.description_zh,
        option_names=product.option_names,
        option_names_zh_hans=product.option_names_zh,
    )
    units_of = {}
    for position, variant in enumerate(product.variants):
        kept = Variant.objects.create(
            product=saved,
            sku=variant.sku,
            options=product.values_en(variant),
            options_zh_hans=product.values_zh(variant),
            price_minor=variant.price_minor,
            weight_grams=variant.weight_grams,
            position=position,
        )
        if variant.stock:
            units_of[kept.pk] = variant.stock
    move(kind=StockChange.Kind.CHANGED, units_of=units_of, reason=REASON)


def load_pictures() -> int:
    """Draw all pictures of demo goods that have none, some three in a second. Returns how many were made."""
    made = 0
    while some := draw_some_pictures():
        made += some
    return made


def draw_some_pictures() -> int:
    """Those of the next few products. Returns how many were made: 0 once there is nothing to do."""
    bare = {product.slug: product for product in Product.objects.filter(pictures=None)}
    products = [product for product in PRODUCTS if product.slug in bare][:PRODUCTS_AT_ONCE]
    for product in products:
        with transaction.atomic():
            for position, picture in enumerate(product.pictures):
                load_picture(picture, bare[product.slug], position)
    return sum(len(product.pictures) for product in products)


def load_picture(picture: DemoPicture, product: Product, position: int) -> None:
    """The drawing goes the way of every upload: it is scaled and saved as WebP."""
    drawing = resvg_py.svg_to_bytes(
        svg_string=(PICTURES / picture.file).read_text(), width=PICTURE_PIXELS, height=PICTURE_PIXELS
    )
    Picture.objects.create(
        product=product,
        image=ContentFile(bytes(drawing), name="drawing.png"),
        alt=picture.alt,
        alt_zh_hans=picture.alt_zh,
        position=position,
    )


def deliver(*, variant: Variant, units: int) -> None:
    """Bring the stock of a variant to at least so many units."""
    lacking = units - Variant.objects.get(pk=variant.pk).available
    if lacking > 0:
        move(kind=StockChange.Kind.CHANGED, units_of={variant.pk: lacking}, reason=REASON)
