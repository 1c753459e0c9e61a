"""An address in the API: as a checkout and an order take it, and as an order shows it."""

from collections.abc import Sequence
from typing import Any

from django.core.validators import RegexValidator
from rest_framework import serializers

from orders.models import ShippingAddress
from shop.addresses.address_checks import ADDRESS_FIELDS, address_errors, tidy_address
from shop.http.serializers import CountryText, StrictSerializer, StringField

# Two letters of ISO 3166, in capitals or not. JSON Schema takes `$` for the end of the text, Python needs `\Z`.
COUNTRY = r"^[A-Za-z]{2}\Z"


def length_max(name: str) -> int:
    return int(getattr(ShippingAddress._meta.get_field(name), "max_length", 0))


def optional_field(name: str, *, help_text: str | None = None) -> StringField:
    """A field that the country of the address may need, or not (shop/addresses/country_rules.py)."""
    return StringField(max_length=length_max(name), required=False, allow_blank=True, default="", help_text=help_text)


def checked(values: dict[str, Any]) -> dict[str, str]:
    """All fields of the address, tidied. Raises ValidationError."""
    tidied = tidy_address(values)
    if errors := address_errors(tidied):
        raise serializers.ValidationError(errors)
    return tidied


class ShippingAddressSerializer(serializers.ModelSerializer[ShippingAddress]):
    country = CountryText()

    class Meta:
        model = ShippingAddress
        fields: Sequence[str] = ADDRESS_FIELDS
        read_only_fields = ADDRESS_FIELDS


class CountryField(StringField):
    """The two letters of a country, in capitals or not."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(validators=[RegexValidator(COUNTRY)], trim_whitespace=False, **kwargs)


class AddressSerializer(StrictSerializer):
    name = StringField(max_length=length_max("name"))
    line1 = StringField(max_length=length_max("line1"), help_text="Street and house number.")
    line2 = optional_field("line2")
    district = optional_field("district", help_text="In China: 区县.")
    city = optional_field("city", help_text="Needed in almost all countries.")
    region = optional_field(
        "region",
        help_text="Province or state, as a name or a code that the country uses: 浙江省, Zhejiang, CA. Needed where "
        "addresses have one, unless the city says it.",
    )
    postcode = optional_field(
        "postcode", help_text="In the form of the country. Empty where it has none; not needed in China."
    )
    country = CountryField(help_text="ISO 3166, two letters: CN.")
    phone = optional_field("phone", help_text="For the courier. In China a mobile number, which is needed there.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return checked(attrs)
