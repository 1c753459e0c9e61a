"""The forms behind the buttons of a running sale, one for each kind of change."""

from typing import Any
from uuid import uuid4

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import INPUT_CLASSES, UnfoldAdminIntegerFieldWidget, UnfoldAdminTextareaWidget

from seckill.changes.rules import REASON_LENGTH_MAX, Kind
from seckill.models import UNITS_MAX, Sale, SaleChange, SaleItem
from shop.times import zone


class ChangeForm(forms.Form):
    """A reason, and a token: a form that is sent twice with the same token makes one change."""

    token = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    reason = forms.CharField(
        label=_("Reason"),
        max_length=REASON_LENGTH_MAX,
        help_text=_("Recorded in the journal with your name and the time."),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
    )


class UnitsForm(ChangeForm):
    units = forms.IntegerField(
        label=_("Units"),
        min_value=1,
        max_value=UNITS_MAX,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"autofocus": True}),
    )
    field_order = ["units", "reason"]


class PauseForm(ChangeForm):
    """In an emergency the sale is paused first and explained later."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].required = False
        self.fields["reason"].help_text = _("May be left empty. The journal keeps your name and the time.")


class PaceForm(ChangeForm):
    units = forms.IntegerField(
        label=_("people a minute"),
        required=False,
        min_value=1,
        max_value=UNITS_MAX,
        help_text=_("Empty: as many as orders and payments can take."),
        widget=UnfoldAdminIntegerFieldWidget(attrs={"autofocus": True}),
    )
    field_order = ["units", "reason"]


class EndForm(ChangeForm):
    closes_at = forms.DateTimeField(
        label=_("Closes at"),
        widget=forms.DateTimeInput(
            format="%Y-%m-%dT%H:%M:%S",
            attrs={"type": "datetime-local", "step": 1, "class": " ".join(INPUT_CLASSES), "autofocus": True},
        ),
    )
    field_order = ["closes_at", "reason"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["closes_at"].help_text = zone.field_hint()


def form_for(kind: SaleChange.Kind, *, sale: Sale, item: SaleItem | None, data: Any = None) -> ChangeForm:
    """The form of a change, filled with what was sent, else with the current values."""
    if kind == Kind.MOVE_END:
        return EndForm(data, initial={"closes_at": sale.closes_at})
    if kind == Kind.PACE:
        return PaceForm(data, initial={"units": sale.pace})
    if kind == Kind.UNITS_PER_BUYER:
        return UnitsForm(data, initial={"units": item.per_buyer_max if item else None})
    if kind in (Kind.ADD_UNITS, Kind.WITHDRAW_UNITS):
        return UnitsForm(data)
    return PauseForm(data) if kind == Kind.PAUSE else ChangeForm(data)
