"""The texts about an order that cannot be paid, or sent to an address: another order goes there, or its country."""

from django.utils.translation import gettext as _

from orders.models import Order, Served
from orders.shipping.delivery_choice import choice_open
from orders.shipping.order_address import CHANGEABLE, only_country


def is_address_taken(order: Order) -> bool:
    """Why an address was not stored: another order of the sale goes there. Otherwise this one was sent or has ended."""
    claims = order.status in CHANGEABLE and order.served.filter(kind=Served.Kind.ADDRESS)
    return bool(claims and claims.exists())


def other_country_text(order: Order) -> str:
    if not choice_open(order) and only_country(order):
        return _("Delivery was paid for another country.")
    return _("The shop does not send there.")


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
