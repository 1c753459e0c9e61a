"""The delivery address of an order: its form, and storing it while nothing was sent yet."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from orders.models import Order, OrderStatus, ShippingAddress
from orders.units.one_for_each import keeps_claim
from shop.accounts.address_book import default_address
from shop.accounts.address_form import AddressForm
from shop.addresses.address_checks import ADDRESS_FIELDS
from shop.models import Address

# The goods have not left, so the address can still change.
CHANGEABLE = (OrderStatus.AWAITING_PAYMENT, OrderStatus.PAID)


class DeliveryForm(AddressForm):
    """The same on the way to payment and in the checkout. `form.cleaned_data` has the fields of ShippingAddress."""

    to_address_book = forms.BooleanField(label=_("Save this address in my address book"), required=False)

    class Meta(AddressForm.Meta):
        model = ShippingAddress  # type: ignore[assignment]

    def __init__(self, *args: Any, has_book: bool = False, **kwargs: Any) -> None:
        """`has_book` is whether the buyer has an account."""
        super().__init__(*args, **kwargs)
        if not has_book:
            del self.fields["to_address_book"]

    @property
    def values(self) -> dict[str, str]:
        """The address of the valid form."""
        return {name: self.cleaned_data[name] for name in ADDRESS_FIELDS}

    @property
    def wants_saving(self) -> bool:
        return bool(self.cleaned_data.get("to_address_book"))


def as_initial(address: ShippingAddress | Address | None) -> dict[str, str]:
    """The first values of a form: a former address, or nothing."""
    return {name: getattr(address, name) for name in ADDRESS_FIELDS} if address else {}


def store_address(*, order_id: int, values: Mapping[str, str]) -> bool:
    """Store or replace the order's address. False if the order has ended, its goods have left, or it may not have it.

    `values` has the fields of ShippingAddress, checked. The order is locked: staff may be sending it right now.
    """
    with transaction.atomic():
        order = Order.objects.select_for_update().filter(pk=order_id, status__in=CHANGEABLE).first()
        if order is None:
            return False
        if not keeps_claim(order, address=values):
            return False
        known = {name: values.get(name, "") for name in ADDRESS_FIELDS}
        ShippingAddress.objects.update_or_create(order=order, defaults=known)
    return True


def address_of(order: Order) -> ShippingAddress | None:
    return ShippingAddress.objects.filter(order_id=order.pk).first()


def only_country(order: Order) -> str | None:
    """The country that the order's delivery was paid for; None if any will do, as with prices that include delivery."""
    address = address_of(order)
    return address.country if address and order.shipping_name else None


def likely_address(*, buyer_id: int | None) -> ShippingAddress | Address | None:
    """The address to begin a form with: the default one of the address book, or else that of the buyer's last order."""
    if buyer_id is None:
        return None
    former = ShippingAddress.objects.filter(order__buyer_id=buyer_id)
    return default_address(buyer_id) or former.order_by("-order__created_at", "-order_id").first()
