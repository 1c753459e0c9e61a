"""The forms on the page of an order: the parcel's tracking, and notes of staff."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from orders.models import Order

NOTE_LENGTH_MAX = 5000


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
    """A note that only staff see."""

    note_id = forms.UUIDField(widget=forms.HiddenInput)
    text = forms.CharField(
        label=gettext_lazy("Note"),
        max_length=NOTE_LENGTH_MAX,
        help_text=gettext_lazy("Only staff see it."),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )
