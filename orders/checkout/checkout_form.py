"""The form of the checkout: where to send the order, a guest's mail address, and a note."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from orders.checkout.serializers import EMAIL_LENGTH_MAX, NOTE_LENGTH_MAX
from orders.invoices.billing import BillingForm
from orders.shipping.order_address import DeliveryForm


class ContactForm(BillingForm):
    """The fields besides the address. Mails to an account go to the account's own address."""

    email = forms.EmailField(
        label=_("E-mail address"),
        max_length=EMAIL_LENGTH_MAX,
        help_text=_("We send the confirmation and the link to your order there."),
        error_messages={"required": _("Please enter your e-mail address.")},
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    note = forms.CharField(
        label=_("Note to the shop (optional)"),
        max_length=NOTE_LENGTH_MAX,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    def __init__(self, *args: Any, is_guest: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not is_guest:
            del self.fields["email"]


class CheckoutForms:
    """Both forms of the page, filled in with `data`, or shown with `initial`."""

    def __init__(
        self,
        *,
        is_guest: bool,
        countries: frozenset[str] | None,
        data: Any = None,
        initial: dict[str, Any] | None = None,
    ) -> None:
        self.contact = ContactForm(data, initial=initial, is_guest=is_guest)
        self.address = DeliveryForm(data, initial=initial, countries=countries, has_book=not is_guest)

    def is_valid(self) -> bool:
        """Both are looked at, so that all errors are shown at once."""
        return all([self.contact.is_valid(), self.address.is_valid()])

    @property
    def has_errors(self) -> bool:
        return bool(self.contact.errors or self.address.errors)
