"""Currencies: how many decimals they have, how they are written, and which the shop accepts."""

import os
from decimal import Decimal

import pytest
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.utils.translation import override
from pytest_django import Settings

from shop.prices.money import UnknownCurrency, known_currency, to_minor, to_text
from shop.prices.price_field import PriceField
from shop.templatetags.amounts import money
from tests.steps.operating import settings_of


def test_minor_units() -> None:
    amounts = {"CNY": "19.99", "XOF": "1999", "XAF": "1999", "PYG": "1999", "JPY": "1999", "KWD": "1.999"}
    for currency, amount in amounts.items():
        assert to_minor(amount=Decimal(amount), currency=currency) == 1999
        assert to_text(minor=1999, currency=currency) == amount


def test_an_amount_with_too_many_decimals_is_refused() -> None:
    with pytest.raises(ValueError, match="XOF has 0 decimals"):
        to_minor(amount=Decimal("19.5"), currency="XOF")


def test_the_last_of_three_decimals_of_a_price_is_zero_where_stripe_is_paid(settings: Settings) -> None:
    settings.CURRENCY, settings.PAYMENT_PROVIDERS = "KWD", ["simulated", "stripe"]
    assert PriceField().clean("1.99") == 1990
    with pytest.raises(ValidationError, match="Stripe takes amounts in KWD only with 0 as their last decimal."):
        PriceField().clean("1.999")
    settings.PAYMENT_PROVIDERS = []
    assert PriceField().clean("1.999") == 1999
    settings.CURRENCY, settings.PAYMENT_PROVIDERS = "CNY", ["stripe"]
    assert PriceField().clean("1.99") == 199


def test_amounts_are_written_as_people_write_them() -> None:
    with override("en"):
        written = ["".join(money(1999, currency).split()) for currency in ("XOF", "JPY", "KWD", "CNY")]
    assert written == ["FCFA1,999", "¥1,999", "KWD1.999", "CN¥19.99"]


def test_other_codes_are_refused_and_the_shop_does_not_start_with_one() -> None:
    for code in ("", "cny", "CN", "YUAN", "XXX", "XTS", "DEM", "ZZZ", "€"):
        with pytest.raises(UnknownCurrency, match="Set the three capital letters"):
            known_currency(code)
    with pytest.raises(ImproperlyConfigured, match="SHOP_CURRENCY is 'RMB', which is no country's currency."):
        settings_of({**os.environ, "SHOP_CURRENCY": "RMB"})
