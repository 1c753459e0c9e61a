"""The form for payments that staff received: for each order the amount and a reference."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminTextInputWidget

from orders.models import Order, RecordedPayment
from orders.staff.read_only_admin import amount_text
from shop.prices.money import to_decimal


class ReceivedPaymentForm(forms.Form):
    """The payment of one order. Only the whole amount makes it paid."""

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

    def clean_amount(self) -> Decimal:
        amount: Decimal = self.cleaned_data["amount"]
        if amount != to_decimal(minor=self.order.amount_minor, currency=self.order.currency):
            raise ValidationError(
                _("%(amount)s is due. If another amount arrived, settle the difference with the buyer first.")
                % {"amount": self.amount_due}
            )
        return amount


def forms_for(orders: Iterable[Order], *, data: Any = None) -> list[ReceivedPaymentForm]:
    """A form for each order; filled with `data` if something was sent."""
    return [ReceivedPaymentForm(order, data) for order in orders]
