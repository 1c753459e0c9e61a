"""The delivery address of an order: its form, and storing it while nothing was sent yet."""

from collections.abc import Mapping

from django.db import transaction

from orders.models import Order, OrderStatus, ShippingAddress
from shop.addresses.address_checks import ADDRESS_FIELDS
from shop.addresses.address_form import AddressForm
from shop.models import Address

# The goods have not left, so the address can still change.
CHANGEABLE = (OrderStatus.AWAITING_PAYMENT, OrderStatus.PAID)


class DeliveryForm(AddressForm):
    """The same on the way to payment and in the checkout. `form.cleaned_data` has the fields of ShippingAddress."""

    class Meta(AddressForm.Meta):
        model = ShippingAddress  # type: ignore[assignment]


def as_initial(address: ShippingAddress | Address | None) -> dict[str, str]:
    """The first values of a form: a former address, or nothing."""
    return {name: getattr(address, name) for name in ADDRESS_FIELDS} if address else {}


def store_address(*, order_id: int, values: Mapping[str, str]) -> bool:
    """Store or replace the order's address. False if the order has ended, or its goods have left.

    `values` has the fields of ShippingAddress, checked. The order is locked: staff may be sending it right now.
    """
    with transaction.atomic():
        order = Order.objects.select_for_update().filter(pk=order_id, status__in=CHANGEABLE).first()
        if order is None:
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
    """The address to begin a form with: that of the buyer's last order, or else one from the account's address book."""
    if buyer_id is None:
        return None
    former = ShippingAddress.objects.filter(order__buyer_id=buyer_id)
    last = former.order_by("-order__created_at", "-order_id").first()
    return last or Address.objects.filter(user_id=buyer_id).first()
