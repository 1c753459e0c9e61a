"""The shapes of the cart's JSON."""

from typing import Any

from django.conf import settings
from rest_framework import serializers

from orders.cart.cart_contents import Contents, LineChange, ShownLine
from orders.cart.cart_lines import LINES_MAX, UNITS_MAX
from shop.catalogue.options import OptionSerializer, options_of
from shop.http.serializers import AmountText, CurrencyText, StrictSerializer, StringField, WholeNumberField
from shop.prices.money import to_text

SKU_LENGTH_MAX = 64


class WantedLineSerializer(StrictSerializer):
    sku = StringField(max_length=SKU_LENGTH_MAX)
    units = WholeNumberField(min_value=1, max_value=UNITS_MAX)


class WantedCartSerializer(StrictSerializer):
    lines = serializers.ListField(
        child=WantedLineSerializer(),
        max_length=LINES_MAX,
        help_text="All lines of the cart. Lines that are not sent are removed.",
    )


class CartLineSerializer(serializers.Serializer[Any]):
    sku = serializers.CharField()
    product = serializers.CharField(help_text="The product's slug.")
    name = serializers.CharField()
    options = OptionSerializer(many=True)
    units = serializers.IntegerField()
    unit_price = AmountText()
    amount = AmountText()
    changes = serializers.ListField(
        child=serializers.ChoiceField([change.value for change in LineChange]),
        help_text="How the line differs from the last answer.",
    )
    old_unit_price = AmountText(allow_null=True, help_text="With `price_changed`: the price before.")
    left = serializers.IntegerField(allow_null=True, help_text="With `too_few_left`: how many can be bought.")


class CartSerializer(serializers.Serializer[Any]):
    token = serializers.UUIDField(
        allow_null=True, help_text="Of a guest's cart: send it as the header Cart-Token. It is as good as a key."
    )
    lines = CartLineSerializer(many=True)
    units = serializers.IntegerField()
    total = AmountText(help_text="Of the lines that are sold, taxes included, without delivery.")
    currency = CurrencyText()


def shown_cart(contents: Contents, *, token: str | None) -> dict[str, Any]:
    return {
        "token": token,
        "lines": [shown_line(line) for line in contents.lines],
        "units": contents.units,
        "total": to_text(minor=contents.total_minor, currency=settings.CURRENCY),
        "currency": settings.CURRENCY,
    }


def shown_line(line: ShownLine) -> dict[str, Any]:
    old_price = to_text(minor=line.seen_price_minor, currency=settings.CURRENCY) if line.price_changed else None
    return {
        "sku": line.variant.sku,
        "product": line.variant.product.slug,
        "name": str(line.variant.product),
        "options": options_of(line.variant.product.option_names, line.variant.options),
        "units": line.units,
        "unit_price": to_text(minor=line.unit_price_minor, currency=settings.CURRENCY),
        "amount": to_text(minor=line.amount_minor, currency=settings.CURRENCY),
        "changes": [change.value for change in line.changes],
        "old_unit_price": old_price,
        "left": line.left if line.too_few_left else None,
    }
