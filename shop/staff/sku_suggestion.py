"""An SKU for a variant that staff gave none: from the product's slug and the variant's options."""

from collections.abc import Collection

from django.utils.text import slugify

from shop.models import Product, Variant
from shop.models.catalogue import split_options

# The column holds 64 characters; a number may follow.
BASE_LENGTH_MAX = 56


def suggested_sku(product: Product, *, options: str, taken: Collection[str] = ()) -> str:
    """ "mug" with "Large / Blue" → "MUG-LARGE-BLUE". A number follows where another variant or `taken` has it."""
    parts = [product.slug, *(slugify(value) for value in split_options(options))]
    base = "-".join(part for part in parts if part).upper()[:BASE_LENGTH_MAX].strip("-") or "SKU"
    used = {*taken, *Variant.objects.filter(sku__startswith=base).values_list("sku", flat=True)}
    number, sku = 1, base
    while sku in used:
        number += 1
        sku = f"{base}-{number}"
    return sku
