"""The form for an address: in the account, in the checkout, and on the way to payment.

It has the fields of its country. A place is chosen from a list where there is one, and typed where there is none, or
where the list does not have it. Lists depend on each other, so the page sends the form as `refresh` when a country or
a place was chosen, and shows it anew; without JavaScript, the places below can be typed at once.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.conf import settings
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from shop.addresses.address_checks import ADDRESS_FIELDS, address_errors, missing_text, tidy, tidy_address
from shop.addresses.countries import country_choices
from shop.addresses.country_rules import (
    MOBILE_REQUIRED,
    PLACES,
    label_of,
    place_order,
    required_fields,
    used_fields,
)
from shop.addresses.places import children, find
from shop.models import Address

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# Browsers fill in fields with these names.
AUTOCOMPLETE = {
    "name": "name",
    "line1": "address-line1",
    "line2": "address-line2",
    "district": "address-level3",
    "city": "address-level2",
    "region": "address-level1",
    "postcode": "postal-code",
    "country": "country",
    "phone": "tel",
}
REQUIRED = {
    "name": _("Please enter the name of the person who receives the parcel."),
    "line1": _("Please enter street and house number."),
    "country": _("Please choose a country."),
}
# The choice of a list that does not have the place.
OTHER = "-"
# The places for which the form was shown, so that those of another country or province are not kept.
SHOWN_FOR = "shown_for"
BREAK = "/"


class PlaceSelect(forms.Select):
    """As Django writes it, but for the line breaks. Its templates for each of 250 countries took half of the checkout's
    time."""

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        shown = self.get_context(name, value, attrs)["widget"]
        options = [option for _name, group, _index in shown["optgroups"] for option in group]
        selected = mark_safe(" selected")
        rows = ((option["value"], selected if option["selected"] else "", option["label"]) for option in options)
        lines = format_html_join("", '<option value="{}"{}>{}</option>', rows)
        return format_html('<select name="{}"{}>{}</select>', shown["name"], flatatt(shown["attrs"]), lines)


class AddressForm(forms.ModelForm):  # type: ignore[type-arg]
    """The form for an address in the account. The form for an order's address extends it."""

    country = forms.ChoiceField(label=_("Country or region"), choices=[], widget=PlaceSelect)
    shown_for = forms.CharField(required=False, widget=forms.HiddenInput)

    class Meta:
        model = Address
        fields: Sequence[str] = ADDRESS_FIELDS
        labels: ClassVar["dict[str, StrOrPromise]"] = {
            "name": _("Recipient"),
            "line1": _("Street and house number"),
            "line2": _("Building, floor, company (if any)"),
            "postcode": _("Postcode"),
            "phone": _("Phone"),
        }
        help_texts = {"phone": _("Only for questions of the carrier.")}

    def __init__(self, *args: Any, countries: "frozenset[str] | None" = None, **kwargs: Any) -> None:
        """`countries` are the codes to offer, if not all."""
        super().__init__(*args, **kwargs)
        country = self.fields["country"]
        assert isinstance(country, forms.ChoiceField)
        offered = [choice for choice in country_choices() if countries is None or choice[0] in countries]
        country.choices = [("", _("Choose")), *offered]
        country.error_messages["invalid_choice"] = REQUIRED["country"]
        if not self.initial.get("country") and settings.SHOP_COUNTRY in dict(offered):
            self.initial["country"] = settings.SHOP_COUNTRY
        shown = self.initial
        if self.is_bound:
            # A copy: places that are typed are shown as the names of the list.
            self.data = shown = dict(self.data.items())
        else:
            shown.update(without_former_places(shown))
        self.fit_country(shown)
        for name in ADDRESS_FIELDS:
            attributes = self.fields[name].widget.attrs
            attributes["autocomplete"] = f"shipping {AUTOCOMPLETE[name]}"
        for name in self.fields.keys() - {"country", *PLACES, SHOWN_FOR}:
            # Typed text and ticks stay when the form is shown for another country.
            self.fields[name].widget.attrs["hx-preserve"] = "true"
        for name, text in REQUIRED.items():
            self.fields[name].error_messages["required"] = text
        self.fields["phone"].widget.input_type = "tel"

    def fit_country(self, values: MutableMapping[str, Any]) -> None:
        """The fields, lists, labels and the order of the country in the values, which are those to be shown."""
        country = tidy("country", str(values.get("country") or ""))
        used, required = used_fields(country), required_fields(country)
        path = self.show_lists(country, values)
        # A province without counties has districts in the place of cities.
        flat = len(path) > 1 and not any(children(*path[:2], city.key) for city in children(*path[:2]))
        # The city decides whether there are districts to choose from.
        undecided = {"district"} if children(country) and not values.get("city") else set()
        for name in (*PLACES, "postcode"):
            field = self.fields[name]
            # Which of them is needed depends on the others.
            field.required = False
            if name not in used:
                field.widget = forms.HiddenInput()
            if name != "postcode":
                field.label = label_of("district" if name == "city" and flat and "district" in used else name, country)
            if name not in required | undecided and not self.is_listed_district(name):
                field.label = optional(field.label)
        if "district" in used and flat and not values.get("district"):
            self.fields["district"].widget = forms.HiddenInput()
        mobile = country in MOBILE_REQUIRED
        self.fields["phone"].label = _("Mobile number") if mobile else optional(_("Phone"))
        places = [it for name in place_order(country) for it in (("line1", "line2") if name == "street" else (name,))]
        self.order_fields(["name", *(["phone"] if mobile else []), "country", *places, "phone"])
        values[SHOWN_FOR] = BREAK.join(path)

    def is_listed_district(self, name: str) -> bool:
        """A district is needed where it can be chosen. The rules of a country do not say it."""
        return name == "district" and isinstance(self.fields[name].widget, forms.Select)

    def show_lists(self, country: str, values: MutableMapping[str, Any]) -> list[str]:
        """Lists in the place of text fields, as far as the places above are known. Returns the path to the last one."""
        path = [country]
        for name in PLACES:
            listed = children(*path) if len(path) == PLACES.index(name) + 1 else ()
            text = str(values.get(name) or "")
            place = find(listed, tidy(name, text))
            if text == OTHER:
                values[name] = ""
            elif listed and (place or not text or name == "region"):
                choices = [("", _("Choose")), *((it.key, it.label) for it in listed)]
                if name != "region":
                    choices.append((OTHER, _("Not in this list")))
                self.fields[name] = forms.CharField(max_length=100, widget=PlaceSelect(choices=choices))
                # What was typed without JavaScript may be another name of the place.
                values[name] = place.key if place else ("" if name != "region" or not self.is_bound else text)
            if place:
                path.append(place.key)
        return path

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = self.cleaned_data
        found = {name: values.get(name, "") for name in ADDRESS_FIELDS}
        used = {*used_fields(found["country"]), "name", "line1", "line2", "country", "phone"}
        tidied = tidy_address({name: text for name, text in found.items() if name in used})
        values.update({name: text for name, text in tidied.items() if name not in self.errors})
        for name in set(ADDRESS_FIELDS) - used:
            setattr(self.instance, name, "")
        faults = address_errors(tidied)
        if self.is_listed_district("district") and not tidied["district"]:
            faults.setdefault("district", missing_text("district", tidied["country"]))
        for name, error in faults.items():
            if name not in self.errors:
                self.add_error(name, error)
        return values


def optional(label: Any) -> str:
    return str(_("%(field)s (optional)") % {"field": label})


def without_former_places(values: Mapping[str, Any]) -> dict[str, str]:
    """The places to be emptied: those below a place that was changed since the form was shown."""
    former = str(values.get(SHOWN_FOR) or "").split(BREAK)
    for index, name in enumerate(("country", *PLACES)):
        if index < len(former) and former[index] and former[index] != values.get(name):
            return dict.fromkeys(PLACES[index:], "")
    return {}
