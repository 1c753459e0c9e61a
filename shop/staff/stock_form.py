"""The form on the page of a variant's stock."""

from typing import Any
from uuid import uuid4

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminRadioSelectWidget, UnfoldAdminTextInputWidget

from shop.models import Variant
from shop.staff.stock_step import Count, Difference, is_taken, refusal_of
from shop.stock.movements import UNITS_MAX

CHANGE, COUNT = "change", "count"


class TokenField(forms.UUIDField):
    """Which form was sent. Each form that is shown has another one, which nobody has changed."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        return False


class StockForm(forms.ModelForm):  # type: ignore[type-arg]
    """Its clean `step` is what to do to the stock; None if only the limit was edited, or the form was sent before."""

    how = forms.ChoiceField(
        label=pgettext_lazy("stock", "What to do"),
        choices=[(CHANGE, _("Change by a number")), (COUNT, _("Set to a count"))],
        initial=CHANGE,
        widget=UnfoldAdminRadioSelectWidget,
        help_text=_("While people buy, change by a number. A count includes the units that checkouts hold."),
    )
    units = forms.IntegerField(
        label=_("Units"),
        required=False,
        min_value=-UNITS_MAX,
        max_value=UNITS_MAX,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=_("For example 20 for a delivery, or -1 for a broken one. For a count, all units that are there."),
    )
    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        max_length=300,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("Written to the journal, for example “delivery 4711” or “broken”."),
    )
    # The figure that the person sees and counts against.
    seen = forms.IntegerField(required=False, widget=forms.HiddenInput)
    # A form that is sent twice with the same token makes one change.
    token = TokenField(required=False, widget=forms.HiddenInput, initial=uuid4)

    class Meta:
        model = Variant
        fields = ["low_stock_at"]

    step: Count | Difference | None = None
    was_sent_before = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "low_stock_at" in self.fields:  # hidden from staff who may only look
            self.fields["low_stock_at"].widget.attrs["placeholder"] = settings.LOW_STOCK_AT
        self.initial["seen"] = self.instance.available + self.instance.held

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        units = cleaned.get("units")
        if units is None or self.errors:
            return cleaned
        if not cleaned.get("reason"):
            self.add_error("reason", _("Say why the stock changes."))
        # The row is locked until it is saved (StaffAdmin.get_object), so this and the figures below stay true.
        if is_taken(cleaned.get("token")):
            self.was_sent_before = True
            return cleaned
        if cleaned["how"] == COUNT:
            if units < 0:
                raise ValidationError({"units": _("A count cannot be negative.")})
            self.step = Count(units, seen=cleaned.get("seen"))
        elif units:
            self.step = Difference(units)
        if self.step and (refusal := refusal_of(self.step, self.instance)):
            self.add_error("units", refusal)
            self.show_fresh_figures()
        return cleaned

    def show_fresh_figures(self) -> None:
        """The form is shown again with the present stock: saving it once more means that the person has seen it."""
        fresh = QueryDict(mutable=True)
        fresh.update(self.data)
        fresh["seen"] = str(self.instance.available + self.instance.held)
        self.data = fresh
