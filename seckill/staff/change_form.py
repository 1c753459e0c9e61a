"""The forms behind the buttons of a running sale, one for each kind of change."""

from typing import Any
from uuid import uuid4

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    INPUT_CLASSES,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from seckill.changes.pauses import PAUSES
from seckill.changes.rules import NOTE_LENGTH_MAX, REASON_LENGTH_MAX, Kind
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
    """In an emergency the sale is paused first and explained later: to staff by the reason, to buyers by the note."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].required = False
        self.fields["reason"].help_text = _("May be left empty. The journal keeps your name and the time.")
        for code, language in settings.LANGUAGES:
            self.fields[note_name(code)] = forms.CharField(
                label=_("Note for buyers (%(language)s)") % {"language": language},
                max_length=NOTE_LENGTH_MAX,
                required=False,
                help_text=_(
                    "May be left empty. All visitors can read it until the sale goes on, for example “Back at 10:15”."
                ),
                widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
            )

    def clean(self) -> dict[str, Any]:
        """The notes become one, by the codes of the languages in which staff wrote it, each as one line."""
        sent = super().clean() or {}
        notes = {code: " ".join(sent.pop(note_name(code), "").split()) for code, _name in settings.LANGUAGES}
        return {**sent, "public_note": {code: text for code, text in notes.items() if text}}


def note_name(code: str) -> str:
    return f"note_{code}"


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
    return PauseForm(data) if kind in PAUSES else ChangeForm(data)
