"""The form for an address: in the account, in the checkout, and on the way to payment."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.conf import settings
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from shop.addresses.address_checks import ADDRESS_FIELDS, address_errors, tidy
from shop.addresses.countries import country_choices
from shop.models import Address

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# Browsers fill in fields with these names.
AUTOCOMPLETE = {
    "name": "name",
    "line1": "address-line1",
    "line2": "address-line2",
    "city": "address-level2",
    "region": "address-level1",
    "postcode": "postal-code",
    "country": "country",
    "phone": "tel",
}
REQUIRED = {
    "name": _("Please enter the name of the person who receives the parcel."),
    "line1": _("Please enter street and house number."),
    "city": _("Please enter the city."),
    "country": _("Please choose a country."),
}
# A Chinese address goes from the large to the small.
CHINESE_ORDER = ("name", "phone", "country", "region", "city", "line1", "line2", "postcode")


class AddressForm(forms.ModelForm):  # type: ignore[type-arg]
    """The form for an address in the account. The form for an order's address extends it."""

    country = forms.ChoiceField(label=_("Country or region"), choices=[])

    class Meta:
        model = Address
        fields: Sequence[str] = ADDRESS_FIELDS
        labels: ClassVar["dict[str, StrOrPromise]"] = {
            "name": _("Recipient"),
            "line1": _("Street and house number"),
            "line2": _("Building, floor, company (if any)"),
            "city": _("City"),
            "region": _("Province or state (optional)"),
            "postcode": _("Postcode"),
            "phone": _("Phone (optional)"),
        }
        help_texts = {"phone": _("Only for questions of the carrier.")}

    def __init__(self, *args: Any, countries: "frozenset[str] | None" = None, **kwargs: Any) -> None:
        """`countries` are the codes to offer, if not all."""
        super().__init__(*args, **kwargs)
        country = self.fields["country"]
        assert isinstance(country, forms.ChoiceField)
        offered = [choice for choice in country_choices() if countries is None or choice[0] in countries]
        country.choices = [("", _("Choose")), *offered]
        if not self.initial.get("country") and settings.SHOP_COUNTRY in dict(offered):
            self.initial["country"] = settings.SHOP_COUNTRY
        # Whether it is needed depends on the country.
        self.fields["postcode"].required = False
        for name, field in self.fields.items():
            if name in AUTOCOMPLETE:
                field.widget.attrs["autocomplete"] = f"shipping {AUTOCOMPLETE[name]}"
            if name in REQUIRED:
                field.error_messages["required"] = REQUIRED[name]
        country.error_messages["invalid_choice"] = REQUIRED["country"]
        self.fields["phone"].widget.input_type = "tel"
        if (get_language() or "").startswith("zh"):
            self.order_fields(CHINESE_ORDER)

    def clean(self) -> dict[str, Any]:
        for name in ADDRESS_FIELDS:
            if name in self.cleaned_data:
                self.cleaned_data[name] = tidy(name, self.cleaned_data[name])
        values: dict[str, Any] = self.cleaned_data
        for name, error in address_errors(values).items():
            if name not in self.errors:
                self.add_error(name, error)
        return values
