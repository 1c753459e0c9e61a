"""The pages of the address book."""

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from shop.accounts.address_book import ADDRESSES_MAX, AddressBookFull, addresses_of, delete_address, save_address
from shop.addresses.address_checks import ADDRESS_FIELDS
from shop.addresses.address_form import AddressForm
from shop.models import Address


class SavedAddressForm(AddressForm):
    class Meta(AddressForm.Meta):
        fields = (*ADDRESS_FIELDS, "is_default")
        labels = AddressForm.Meta.labels | {"is_default": gettext_lazy("Use this address by default")}


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
    form = SavedAddressForm(request.POST or None, instance=edited)
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
