"""The form for the delivery address of an order, the same on the way to payment and in the checkout."""

from orders.models import ShippingAddress
from shop.addresses.address_checks import ADDRESS_FIELDS
from shop.addresses.address_form import AddressForm
from shop.models import Address


class DeliveryForm(AddressForm):
    """`form.cleaned_data` has the fields of ShippingAddress; `form.address()` is one without an order."""

    class Meta(AddressForm.Meta):
        model = ShippingAddress  # type: ignore[assignment]

    def address(self) -> ShippingAddress:
        return ShippingAddress(**{name: self.cleaned_data[name] for name in ADDRESS_FIELDS})


def as_initial(address: ShippingAddress | Address | None) -> dict[str, str]:
    """What a form begins with: a former address, or nothing."""
    return {name: getattr(address, name) for name in ADDRESS_FIELDS} if address else {}
