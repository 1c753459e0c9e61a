"""Parts of the catalogue on pages, and its data for search engines."""

import json
from typing import Any

from django import template
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from shop.catalogue.category_tree import menu
from shop.catalogue.listing import ProductFilter, find_page
from shop.catalogue.offering import offerings_of
from shop.models import Category

register = template.Library()

# Two rows on a wide screen.
NEWEST = 8
# As in Django's json_script: no text can end the block.
ESCAPES = {ord(">"): "\\u003E", ord("<"): "\\u003C", ord("&"): "\\u0026"}


@register.filter
def item_of(numbers: dict[str, int], key: str) -> int | None:
    return numbers.get(key)


@register.simple_tag(takes_context=True)
def top_categories(context: Context) -> list[Category]:
    """For the header of a public page."""
    return menu.read(context.get("tree"))


@register.simple_tag
def recent_categories() -> list[Category]:
    """For the header of all other pages."""
    return menu.recent()


@register.simple_tag
def known_categories() -> list[Category]:
    """For the header of a page about a failure."""
    return menu.last_known()


@register.inclusion_tag("shop/catalogue/_newest.html")
def newest_products() -> dict[str, Any]:
    page = find_page(ProductFilter(), page=1, size=NEWEST)
    return {"offerings": offerings_of(page.products)}


@register.filter
def linked_data(data: Any) -> SafeString:
    """The content policy forbids scripts in pages; a block of data is none."""
    text = SafeString(json.dumps(data, ensure_ascii=False).translate(ESCAPES))
    return format_html('<script type="application/ld+json">{}</script>', text)
