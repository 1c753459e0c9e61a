"""The name of the shop on pages."""

from django import template
from django.conf import settings

register = template.Library()


@register.simple_tag
def shop_name() -> str:
    return settings.SHOP_NAME
