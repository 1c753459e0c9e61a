"""Money: integers of minor units (cents, 分) inside the shop, decimal strings with a currency in forms and the API."""

from decimal import Decimal

# ISO 4217: the number of decimals of currencies that do not have two.
DECIMALS_OTHER_THAN_TWO = {
    "JPY": 0,
    "KRW": 0,
    "VND": 0,
    "CLP": 0,
    "KWD": 3,
    "BHD": 3,
    "OMR": 3,
    "JOD": 3,
    "TND": 3,
}


def decimals_of(currency: str) -> int:
    """The number of decimals of `currency`."""
    return DECIMALS_OTHER_THAN_TWO.get(currency, 2)


def to_decimal(*, minor: int, currency: str) -> Decimal:
    """`minor` units as a decimal amount: 1999 of CNY is 19.99."""
    return Decimal(minor).scaleb(-decimals_of(currency))


def to_text(*, minor: int, currency: str) -> str:
    """`minor` units as the decimal string of the API: 1900 of CNY is "19.00"."""
    return f"{to_decimal(minor=minor, currency=currency):f}"


def to_minor(*, amount: Decimal, currency: str) -> int:
    """A decimal amount as minor units. Raises ValueError if it has more decimals than the currency."""
    minor = amount.scaleb(decimals_of(currency))
    if minor != minor.to_integral_value():
        raise ValueError(f"{currency} has {decimals_of(currency)} decimals")
    return int(minor)
