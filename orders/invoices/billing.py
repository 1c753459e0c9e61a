"""To whom the invoice of an order is made out, where that is not the recipient. Fixed with the payment."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from orders.models import Order, OrderStatus
from orders.models.order import BILLING_LENGTH_MAX, VAT_NUMBER_LENGTH_MAX
from shop.http.serializers import StringField

BILLING_FIELDS = ("billing_address", "vat_number")


class BillingForm(forms.Form):
    """The same in the checkout and beside the delivery of an order that was reserved."""

    billing_address = forms.CharField(
        label=_("Name and address on the invoice (optional)"),
        max_length=BILLING_LENGTH_MAX,
        required=False,
        help_text=_("Only if they are not those of the delivery."),
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "billing street-address"}),
    )
    vat_number = forms.CharField(
        label=_("VAT number (optional)"),
        max_length=VAT_NUMBER_LENGTH_MAX,
        required=False,
        help_text=_("For the invoice of a company."),
    )


def billing_address_field(**more: Any) -> StringField:
    """In the API."""
    return StringField(
        required=False,
        allow_blank=True,
        max_length=BILLING_LENGTH_MAX,
        help_text="Name and address on the invoice, in lines, where they are not those of the delivery.",
        **more,
    )


def vat_number_field(**more: Any) -> StringField:
    return StringField(
        required=False,
        allow_blank=True,
        max_length=VAT_NUMBER_LENGTH_MAX,
        help_text="For the invoice of a company.",
        **more,
    )


def store_billing(*, order_id: int, values: Mapping[str, str]) -> bool:
    """Keep what is given of BILLING_FIELDS. False if the order does not await payment: its invoice may be written."""
    given = {name: values[name] for name in BILLING_FIELDS if name in values}
    waiting = Order.objects.filter(pk=order_id, status=OrderStatus.AWAITING_PAYMENT)
    return not given or waiting.update(**given) == 1
