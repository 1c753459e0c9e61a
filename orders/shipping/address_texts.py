"""The texts about an order that cannot be paid, or sent to an address, because of other orders that go there."""

from django.utils.translation import gettext as _

from orders.models import Order, Served
from orders.shipping.order_address import CHANGEABLE


def is_address_taken(order: Order) -> bool:
    """Why an address was not stored: another order of the sale goes there. Otherwise this one was sent or has ended."""
    claims = order.status in CHANGEABLE and order.served.filter(kind=Served.Kind.ADDRESS)
    return bool(claims and claims.exists())


def address_needed_text() -> str:
    return _("This sale has one purchase for each delivery address. Enter the address before you pay.")


def address_taken_text() -> str:
    return _(
        "This sale has one purchase for each delivery address, and another order goes to this one. "
        "Nothing was charged. You can have it sent to another address, or cancel."
    )


def address_kept_text() -> str:
    """For buyers and staff who change the address of an order that may be paid."""
    return _(
        "This sale has one purchase for each delivery address, and another order goes to this one. "
        "The address was not changed."
    )
