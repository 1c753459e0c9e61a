"""How many wait for a product, on its page in the admin. `shop` does not import `orders`, but its templates may."""

from django import template

from orders.reminders.due_reminders import wanted_of_product
from shop.models import Product

register = template.Library()


@register.simple_tag
def waiting_for(product: Product | None) -> list[tuple[str, int]]:
    """The variants that somebody waits for, with how many."""
    wanted = wanted_of_product(product.pk) if product else {}
    if product is None or not wanted:
        return []
    return [(str(variant), wanted[variant.pk]) for variant in product.variants.all() if variant.pk in wanted]
