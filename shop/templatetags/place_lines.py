"""An address on a page, line by line."""

from django import template

from shop.addresses.address_layout import place_lines

register = template.Library()
register.filter("place_lines", place_lines)
