"""The shapes of the checkout's JSON."""

from typing import Any

from rest_framework import serializers

from orders.invoices.billing import billing_address_field, vat_number_field
from orders.shipping.address_serializers import AddressSerializer
from shop.http.serializers import AmountField, AmountText, CurrencyText, StrictSerializer, StringField

NOTE_LENGTH_MAX = 500
EMAIL_LENGTH_MAX = 254


class CheckoutSerializer(StrictSerializer):
    email = serializers.EmailField(
        required=False,
        max_length=EMAIL_LENGTH_MAX,
        help_text="Of a guest, who must give one. Mails to an account go to the account's address.",
    )
    shipping_address = AddressSerializer()
    shipping_method = StringField(max_length=50, help_text="The code of an offered method.")
    expected_total = AmountField(
        required=False,
        help_text="What the buyer was shown, goods and delivery together. With any other total nothing is ordered: "
        "`price_changed`. Without it, prices count as seen that any call or page has shown.",
    )
    note = StringField(required=False, allow_blank=True, max_length=NOTE_LENGTH_MAX, default="")
    billing_address = billing_address_field(default="")
    vat_number = vat_number_field(default="")


class ShippingMethodSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    name = serializers.CharField()
    price = AmountText(help_text="For what is in the cart, taxes included.")
    currency = CurrencyText()
