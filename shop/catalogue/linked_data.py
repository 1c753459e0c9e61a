"""A product in the words of schema.org, for search engines. A block of data, which the content policy allows."""

from typing import Any

from django.conf import settings

from shop.catalogue.offering import Choice, Offering
from shop.models import Category
from shop.prices.money import to_text


def product_data(offering: Offering, *, path: list[Category], address: str) -> dict[str, Any]:
    product = offering.product
    return {
        "@context": "https://schema.org",
        "@type": "Product",
        "name": str(product),
        "url": address,
        "image": [whole_address(picture.large.url) for picture in product.pictures.all()],
        "offers": [offer_data(choice, address=address) for choice in offering.choices],
        **({"description": product.description} if product.description else {}),
        **({"category": " > ".join(str(category) for category in path)} if path else {}),
    }


def offer_data(choice: Choice, *, address: str) -> dict[str, Any]:
    variant = choice.variant
    return {
        "@type": "Offer",
        "sku": variant.sku,
        "url": address,
        "price": to_text(minor=variant.price_minor, currency=settings.CURRENCY),
        "priceCurrency": settings.CURRENCY,
        "availability": "InStock" if variant.available else "OutOfStock",
    }


def whole_address(url: str) -> str:
    """The address of a picture for programs, which do not know that of the shop.

    A storage gives a path where the shop itself has the files, else a whole address.
    """
    return f"{settings.SHOP_URL}{url}" if url.startswith("/") else url
