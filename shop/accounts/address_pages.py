"""The pages of the address book."""

import re
from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from shop.accounts.address_book import ADDRESSES_MAX, AddressBookFull, addresses_of, delete_address, save_address
from shop.countries import country_choices
from shop.models import Address

PHONE = re.compile(r"\+?[0-9 ()/.-]+")
PHONE_DIGITS_MIN = 5

# What a browser may fill in by itself.
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


class AddressForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Address
        fields = (*AUTOCOMPLETE, "is_default")
        labels = {
            "name": gettext_lazy("Full name"),
            "line1": gettext_lazy("Street and number"),
            "line2": gettext_lazy("Flat, building or company (optional)"),
            "city": gettext_lazy("City"),
            "region": gettext_lazy("Province or state (optional)"),
            "postcode": gettext_lazy("Postcode"),
            "country": gettext_lazy("Country or region"),
            "phone": gettext_lazy("Phone (optional)"),
            "is_default": gettext_lazy("Use this address by default"),
        }
        help_texts = {"phone": gettext_lazy("For the courier only.")}
        error_messages = {
            "name": {"required": gettext_lazy("Please enter the name of the person who receives the parcel.")},
            "line1": {"required": gettext_lazy("Please enter the street and the number.")},
            "city": {"required": gettext_lazy("Please enter the city.")},
            "postcode": {"required": gettext_lazy("Please enter the postcode.")},
            "country": {"required": gettext_lazy("Please choose a country.")},
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [("", _("Please choose")), *country_choices()]
        required = self.fields["country"].error_messages["required"]
        self.fields["country"] = forms.ChoiceField(
            label=self.fields["country"].label,
            choices=choices,
            error_messages={"required": required, "invalid_choice": required},
        )
        for name, value in AUTOCOMPLETE.items():
            self.fields[name].widget.attrs["autocomplete"] = value
        self.fields["phone"].widget.input_type = "tel"

    def clean_phone(self) -> str:
        phone: str = self.cleaned_data["phone"]
        if phone and (not PHONE.fullmatch(phone) or sum(map(str.isdigit, phone)) < PHONE_DIGITS_MIN):
            raise forms.ValidationError(_("Please enter a phone number, for example +86 138 0013 8000."))
        return phone


@never_cache
@login_required
@require_safe
def addresses(request: HttpRequest) -> HttpResponse:
    shown = list(addresses_of(person_id(request)))
    return render(request, "account/addresses.html", {"addresses": shown, "may_add": len(shown) < ADDRESSES_MAX})


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def address(request: HttpRequest, address_id: UUID | None = None) -> HttpResponse:
    """Add an address, or change the one with this id."""
    edited = Address(user_id=person_id(request))
    if address_id is not None:
        edited = get_object_or_404(addresses_of(person_id(request)), pk=address_id)
    form = AddressForm(request.POST or None, instance=edited)
    if request.method == "POST" and form.is_valid():
        try:
            save_address(form.instance)
        except AddressBookFull:
            text = _("You have %(count)d addresses already. Delete one before you add another.")
            messages.error(request, text % {"count": ADDRESSES_MAX})
            return redirect("addresses")
        messages.success(request, _("The address is saved."))
        return redirect("addresses")
    return render(request, "account/address.html", {"form": form, "address": edited, "is_new": address_id is None})


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, address_id: UUID) -> HttpResponse:
    """Ask, then delete. Orders keep the address that they were sent to."""
    shown = get_object_or_404(addresses_of(person_id(request)), pk=address_id)
    if request.method != "POST":
        return render(request, "account/address_delete.html", {"address": shown})
    delete_address(user_id=person_id(request), address_id=address_id)
    messages.success(request, _("The address is deleted."))
    return redirect("addresses")


def person_id(request: HttpRequest) -> int:
    """Who is signed in."""
    return cast(int, request.user.pk)
