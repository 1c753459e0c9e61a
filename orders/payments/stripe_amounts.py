"""Amounts as Stripe counts them. Its decimals are not always those of the shop, which takes them from Babel.

https://docs.stripe.com/currencies#minor-units
"""

from decimal import Decimal

from shop.prices.money import to_decimal, to_minor

# ISK and UGX have no decimals, but Stripe wants them with two, which must be 00.
WITHOUT_DECIMALS = frozenset(
    ("BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF")
)
WITH_THREE_DECIMALS = frozenset(("BHD", "JOD", "KWD", "OMR", "TND"))


def stripe_decimals(currency: str) -> int:
    if currency in WITHOUT_DECIMALS:
        return 0
    return 3 if currency in WITH_THREE_DECIMALS else 2


def to_stripe(*, minor: int, currency: str) -> int:
    """The shop's minor units as Stripe's. Raises ValueError if Stripe has fewer decimals."""
    amount = to_decimal(minor=minor, currency=currency).scaleb(stripe_decimals(currency))
    if amount != amount.to_integral_value():
        raise ValueError(f"Stripe has {stripe_decimals(currency)} decimals for {currency}")
    return int(amount)


def from_stripe(*, amount: int, currency: str) -> int:
    """Stripe's minor units as the shop's. Raises ValueError if the shop has fewer decimals."""
    return to_minor(amount=Decimal(amount).scaleb(-stripe_decimals(currency)), currency=currency)
