"""The shapes of the checkout's JSON."""

from typing import Any

from rest_framework import serializers

from orders.models import ShippingAddress
from shop.addresses.address_checks import address_errors, tidy
from shop.http.serializers import StrictSerializer, StringField

NOTE_LENGTH_MAX = 500
EMAIL_LENGTH_MAX = 254


def length_max(name: str) -> int:
    return int(getattr(ShippingAddress._meta.get_field(name), "max_length", 0))


class AddressSerializer(StrictSerializer):
    name = StringField(max_length=length_max("name"))
    line1 = StringField(max_length=length_max("line1"), help_text="Street and house number.")
    line2 = StringField(max_length=length_max("line2"), required=False, allow_blank=True, default="")
    city = StringField(max_length=length_max("city"))
    region = StringField(max_length=length_max("region"), required=False, allow_blank=True, default="")
    postcode = StringField(
        max_length=length_max("postcode"), allow_blank=True, help_text="Empty where the country has none."
    )
    country = StringField(max_length=2, help_text="ISO 3166, two letters: CN.")
    phone = StringField(
        max_length=length_max("phone"), required=False, allow_blank=True, default="", help_text="For the courier."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        tidied = {name: tidy(name, text) for name, text in attrs.items()}
        if errors := address_errors(tidied):
            raise serializers.ValidationError(errors)
        return tidied


class CheckoutSerializer(StrictSerializer):
    email = serializers.EmailField(
        required=False,
        max_length=EMAIL_LENGTH_MAX,
        help_text="Of a guest, who must give one. Mails to an account go to the account's address.",
    )
    shipping_address = AddressSerializer()
    shipping_method = StringField(max_length=50, help_text="The code of an offered method.")
    note = StringField(required=False, allow_blank=True, max_length=NOTE_LENGTH_MAX, default="")


class ShippingMethodSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    name = serializers.CharField()
    price = serializers.CharField(help_text="For what is in the cart, taxes included.")
    currency = serializers.CharField()
