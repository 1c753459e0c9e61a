"""The forms on the page of an order: received payments, the parcel's tracking, and notes of staff."""

from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from orders.models import Order, RecordedPayment
from orders.staff.read_only_admin import amount_text
from orders.units.one_for_each import Claim, likely_claim
from shop.prices.money import to_decimal

NOTE_LENGTH_MAX = 5000


class ReceivedPaymentForm(forms.Form):
    """The payment of one order. Only the whole amount makes it paid, and only if its sale lets it have its address."""

    amount = forms.DecimalField(
        label=gettext_lazy("Amount received"),
        widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    reference = forms.CharField(
        label=gettext_lazy("Reference"),
        max_length=RecordedPayment._meta.get_field("reference").max_length,
        help_text=gettext_lazy("How the payment is found again, such as the number of the bank transfer."),
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )

    def __init__(self, order: Order, data: Any = None) -> None:
        super().__init__(data, prefix=f"order-{order.pk}")
        self.order = order
        self.fields["amount"].help_text = _("%(amount)s is due.") % {"amount": self.amount_due}

    @property
    def amount_due(self) -> str:
        return amount_text(self.order.amount_minor, self.order.currency)

    @property
    def history(self) -> str:
        """The line in the order's history."""
        return _("Payment recorded: %(amount)s, reference “%(reference)s”.") % {
            "amount": self.amount_due,
            "reference": self.cleaned_data["reference"],
        }

    def clean(self) -> dict[str, Any]:
        claim = likely_claim(self.order)
        if claim is Claim.ADDRESS_MISSING:
            raise ValidationError(
                _("This sale has one purchase for each address. Enter the delivery address first, on the order's page.")
            )
        if claim is Claim.TAKEN:
            raise ValidationError(
                _(
                    "Another order of this sale goes to the same address, and each address has one purchase. "
                    "Enter another address, or return the money."
                )
            )
        return self.cleaned_data

    def clean_amount(self) -> Decimal:
        amount: Decimal = self.cleaned_data["amount"]
        if amount != to_decimal(minor=self.order.amount_minor, currency=self.order.currency):
            raise ValidationError(
                _("%(amount)s is due. If another amount arrived, settle the difference with the buyer first.")
                % {"amount": self.amount_due}
            )
        return amount


class TrackingForm(forms.Form):
    """The parcel's carrier and its number there. Both may be empty: not every parcel has one."""

    carrier = forms.CharField(
        label=gettext_lazy("Carrier"),
        max_length=Order._meta.get_field("carrier").max_length,
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )
    tracking_number = forms.CharField(
        label=gettext_lazy("Tracking number"),
        max_length=Order._meta.get_field("tracking_number").max_length,
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )

    @property
    def history(self) -> str:
        """The line in the order's history that it was shipped."""
        return " ".join([_("Shipped."), tracking_text(self.cleaned_data)]).strip()


class ShipmentForm(TrackingForm):
    """The parcel of one of many orders."""

    def __init__(self, order: Order, data: Any = None) -> None:
        super().__init__(data, prefix=f"order-{order.pk}")
        self.order = order


def tracking_text(entered: dict[str, str]) -> str:
    """For the order's history; empty if nothing was entered."""
    parcel = " ".join(part for part in (entered["carrier"], entered["tracking_number"]) if part)
    return _("Sent with %(parcel)s.") % {"parcel": parcel} if parcel else ""


class NoteForm(forms.Form):
    note_id = forms.UUIDField(widget=forms.HiddenInput)
    text = forms.CharField(
        label=gettext_lazy("Note"),
        max_length=NOTE_LENGTH_MAX,
        help_text=gettext_lazy("Only staff see it."),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )
