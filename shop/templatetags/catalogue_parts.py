"""Parts of the catalogue on other pages."""

from typing import Any

from django import template

from shop.catalogue.category_menu import menu
from shop.catalogue.listing import Wish, find_page
from shop.catalogue.offering import offerings_of
from shop.models import Category

register = template.Library()

# Two rows on a wide screen.
NEWEST = 8


@register.simple_tag
def top_categories() -> list[Category]:
    """For the header of a public page, in one query."""
    return menu.read()


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
    page = find_page(Wish(), page=1, size=NEWEST)
    return {"offerings": offerings_of(page.products)}
