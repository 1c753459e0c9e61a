"""A country's name in the language of the page."""

from django import template

from shop.addresses.countries import country_name

register = template.Library()
register.filter("country", country_name)
