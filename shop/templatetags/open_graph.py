"""How a page looks where somebody shares its address (https://ogp.me)."""

from django import template
from django.conf import settings
from django.template.context import RequestContext
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from shop.catalogue.linked_data import whole_address
from shop.models import Product

register = template.Library()

DESCRIPTION_MAX = 200


@register.simple_tag(takes_context=True)
def open_graph(
    context: RequestContext, *, kind: str, title: object, description: str, product: Product | None
) -> SafeString:
    """With the first picture of `product`, if it has one."""
    properties = {
        "og:site_name": settings.SHOP_NAME,
        "og:type": kind,
        "og:title": str(title),
        "og:description": " ".join(description.split())[:DESCRIPTION_MAX],
        "og:url": f"{settings.SHOP_URL}{context['request'].path}",
    }
    pictures = product.pictures.all() if product else ()
    for picture in pictures[:1]:
        properties["og:image"] = whole_address(picture.large.url)
    return format_html_join("\n  ", '<meta property="{}" content="{}">', properties.items())
