"""Prices in the reader's language."""

from decimal import Decimal
from functools import lru_cache

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
    return formatted_amount(minor, currency, to_locale(get_language() or settings.LANGUAGE_CODE))


# A list shows the same prices again and again, and Babel takes longer for one than all else on a card.
@lru_cache(maxsize=10_000)
def formatted_amount(minor: int, currency: str, locale: str) -> str:
    return format_currency(to_decimal(minor=minor, currency=currency), currency, locale=locale)


@register.filter
def discount(price_minor: int, ordinary_minor: int) -> str:
    """A lower price as the reader's language says it: "−88%", in Chinese "1.2折", the tenths that are paid.

    Empty where rounding leaves nothing: it is never exaggerated.
    """
    if (get_language() or "").startswith("zh"):
        tenths = Decimal(-(-price_minor * 100 // ordinary_minor)) / 10
        return f"{tenths.normalize():f}折" if tenths < 10 else ""
    percent = (ordinary_minor - price_minor) * 100 // ordinary_minor
    return f"−{percent}%" if percent > 0 else ""
