"""Money: integers of minor units (cents, 分) inside the shop, decimal strings with a currency in forms and the API."""

from collections.abc import Collection
from decimal import Decimal
from functools import lru_cache

from babel.core import get_global
from babel.numbers import get_currency_precision


class UnknownCurrency(ValueError):
    """Not a currency in which prices can be kept. The message says what to do."""


def known_currency(code: str) -> str:
    """`code` if it is the legal tender of some country today. Raises UnknownCurrency."""
    in_use = {
        name
        for currencies in get_global("territory_currencies").values()
        for name, _begin, end, is_tender in currencies
        if is_tender and end is None
    }
    if code not in in_use:
        raise UnknownCurrency(
            f"SHOP_CURRENCY is {code!r}, which is no country's currency. Set the three capital letters of ISO 4217, "
            "for example CNY, EUR or JPY."
        )
    return code


def decimals_of(currency: str) -> int:
    """The number of decimals that prices in `currency` have."""
    return get_currency_precision(currency)


def to_decimal(*, minor: int, currency: str) -> Decimal:
    """`minor` units as a decimal amount: 1999 of CNY is 19.99."""
    return Decimal(minor).scaleb(-decimals_of(currency))


@lru_cache(maxsize=10_000)
def to_text(*, minor: int, currency: str) -> str:
    """`minor` units as the decimal string of the API: 1900 of CNY is "19.00"."""
    return f"{to_decimal(minor=minor, currency=currency):f}"


def to_minor(*, amount: Decimal, currency: str) -> int:
    """A decimal amount as minor units. Raises ValueError if it has more decimals than the currency."""
    minor = amount.scaleb(decimals_of(currency))
    if minor != minor.to_integral_value():
        raise ValueError(f"{currency} has {decimals_of(currency)} decimals")
    return int(minor)


def step_of(currency: str, *, providers: Collection[str]) -> int:
    """Amounts that these providers take are multiples of so many minor units. The last of three decimals must be 0 at
    Stripe: https://docs.stripe.com/currencies#three-decimal
    """
    return 10 if "stripe" in providers and decimals_of(currency) == 3 else 1
