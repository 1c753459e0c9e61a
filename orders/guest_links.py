"""Signed links to the orders of guests. Their holder may see, pay and cancel the order, and change where it is sent.

They do not expire, since a guest may come back months later with a question. They open only guests' orders; buyers with
an account sign in.
"""

from uuid import UUID

from django.core.signing import BadSignature, Signer
from django.urls import reverse

# Tells these signatures from all others of the shop.
SALT = "orders.guest_order"


def signed_number(number: UUID) -> str:
    """The part of the address that names the order and proves that the shop has given it."""
    return signer().sign(number.hex)


def number_from(signed: str) -> UUID | None:
    """The order's number; None if the shop did not sign it."""
    try:
        return UUID(signer().unsign(signed))
    except (BadSignature, ValueError):
        return None


def guest_path(number: UUID) -> str:
    """The address of a guest's order in the language of the reader."""
    return reverse("guest-order", args=[signed_number(number)])


def signer() -> Signer:
    return Signer(salt=SALT, sep=".")
