"""What a buyer reads whose order cannot be paid because of its delivery address."""

from django.utils.translation import gettext as _


def address_needed_text() -> str:
    return _("This sale has one purchase for each delivery address. Enter the address before you pay.")


def address_taken_text() -> str:
    return _(
        "This sale has one purchase for each delivery address, and another order goes to this one. "
        "Nothing was charged. You can have it sent to another address, or cancel."
    )
