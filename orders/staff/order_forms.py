"""The forms on the page of an order: the parcel's tracking, and notes of staff."""

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from orders.models import Order

NOTE_LENGTH_MAX = 5000


class TrackingForm(forms.Form):
    """The parcel's carrier and its number there. Both may be empty: not every parcel has one."""

    carrier = forms.CharField(
        label=_("Carrier"),
        max_length=Order._meta.get_field("carrier").max_length,
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )
    tracking_number = forms.CharField(
        label=_("Tracking number"),
        max_length=Order._meta.get_field("tracking_number").max_length,
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )


class NoteForm(forms.Form):
    """Only staff see the note."""

    staff_note = forms.CharField(
        label=_("Notes"),
        max_length=NOTE_LENGTH_MAX,
        required=False,
        help_text=_("Only staff see them."),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 6}),
    )
