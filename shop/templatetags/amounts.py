"""Prices in the reader's language."""

from babel.numbers import format_currency
from django import template
from django.conf import settings
from django.utils.translation import get_language, to_locale

from shop.prices.money import to_decimal

register = template.Library()


@register.filter
def money(minor: int, currency: str = "") -> str:
    """`minor` units of `currency` (by default the shop's) in the reader's language: ¥19.00, CN¥19.00."""
    currency = currency or settings.CURRENCY
    locale = to_locale(get_language() or settings.LANGUAGE_CODE)
    return format_currency(to_decimal(minor=minor, currency=currency), currency, locale=locale)


@register.filter
def percent_off(price_minor: int, ordinary_minor: int) -> int:
    """The discount in whole per cent, rounded down so that it is never exaggerated."""
    return (ordinary_minor - price_minor) * 100 // ordinary_minor
