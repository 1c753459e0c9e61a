"""What Stripe is asked to charge, for currencies with other decimals than two."""

import pytest

from orders.payments.stripe_checkout import from_stripe, to_stripe


@pytest.mark.parametrize(
    ("currency", "minor", "amount"),
    [
        ("CNY", 1999, 1999),
        ("JPY", 1999, 1999),
        ("XOF", 1999, 1999),
        ("PYG", 1999, 1999),
        ("KWD", 1990, 1990),
        # No decimals in the shop, two at Stripe.
        ("ISK", 1999, 199900),
        ("RSD", 1999, 199900),
    ],
)
def test_the_same_amount_in_both_units(currency: str, minor: int, amount: int) -> None:
    assert to_stripe(minor=minor, currency=currency) == amount
    assert from_stripe(amount=amount, currency=currency) == minor
