"""The table of the stock: exported with the present figures, imported with counts or changes that staff filled in.

As with variants, lines are checked without a lock, and all steps are taken together at the end.
"""

import re
from collections import Counter
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from import_export.fields import Field
from import_export.forms import ConfirmImportForm
from unfold.widgets import UnfoldAdminTextInputWidget

from shop.models import StockChange, Variant
from shop.staff.stock_step import (
    Count,
    Difference,
    StockRefused,
    WantedStep,
    is_taken,
    refusal_of,
    take_all,
    units_of,
)
from shop.staff.table_pages import BoundedImportForm, Table, WithTables

if TYPE_CHECKING:

    class ConfirmForm(forms.Form):
        """django-import-export has no types."""
else:
    ConfirmForm = ConfirmImportForm

REASON_LENGTH_MAX: int = StockChange._meta.get_field("reason").max_length or 0


class StockTable(Table):
    """`in_stock` are the units when the table was exported. A count is refused if that is not the present number."""

    product = Field("product", "product", readonly=True)
    options = Field("options", "options", readonly=True)
    in_stock = Field(column_name="in_stock", readonly=True)
    available = Field("available", "available", readonly=True)
    held = Field("held", "held", readonly=True)
    sold = Field("sold", "sold", readonly=True)
    count = Field(column_name="count", readonly=True)
    change = Field(column_name="change", readonly=True)
    reason = Field(column_name="reason", readonly=True)

    class Meta:
        model = Variant
        name = gettext_lazy("stock")
        import_id_fields = ["sku"]
        fields = ["sku", "product", "options", "in_stock", "available", "held", "sold", "count", "change", "reason"]
        import_order = export_order = fields
        use_transactions = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.wanted: list[WantedStep] = []
        # What the lines before do to the stock, by variant id.
        self.moved: Counter[int] = Counter()

    def dehydrate_in_stock(self, variant: Variant) -> int:
        return (variant.available or 0) + (variant.held or 0)

    def before_import_row(self, row: Any, **options: Any) -> None:
        """A stock is never made here, only changed."""
        if not Variant.objects.filter(sku=str(row.get("sku") or "")).exists():
            raise ValidationError(_("There is no variant with the SKU “%(sku)s”.") % {"sku": row.get("sku") or ""})

    def skip_row(self, instance: Variant, original: Any, row: Any, import_validation_errors: Any = None) -> bool:
        return not filled(row, "count") and not filled(row, "change")

    def save_instance(self, instance: Variant, is_create: bool, row: Any, **options: Any) -> None:
        """Note the step, and show its result. A preview takes none."""
        step = step_of(row)
        instance.available += self.moved[instance.pk]
        if refusal := refusal_of(step, instance):
            raise ValidationError(refusal)
        units = units_of(step, instance)
        instance.available += units
        self.moved[instance.pk] += units
        reason = str(row.get("reason") or options.get("reason") or "").strip()[:REASON_LENGTH_MAX]
        if not reason:
            raise ValidationError({"reason": _("Enter a reason for the journal, for all lines or in this column.")})
        self.wanted.append(WantedStep(instance.pk, step, reason))

    def after_import(self, dataset: Any, result: Any, **options: Any) -> None:
        if options.get("dry_run") or result.has_errors() or result.has_validation_errors():
            return
        try:
            take_all(self.wanted, made_by=options.get("user"), token=options.get("token"))
        except StockRefused as refusal:
            raise ValidationError(str(refusal)) from None

    def export(self, queryset: Any = None, **options: Any) -> Any:
        variants: QuerySet[Variant] = Variant.objects.all() if queryset is None else queryset
        return super().export(variants.select_related("product"), **options)


def step_of(row: Any) -> Count | Difference:
    """Raises ValidationError."""
    if filled(row, "count") and filled(row, "change"):
        raise ValidationError(_("Fill in “count” or “change”, not both."))
    if filled(row, "change"):
        return Difference(number_in(row, "change"))
    count = number_in(row, "count")
    if count < 0:
        raise ValidationError(_("A count cannot be negative."))
    return Count(count, seen=number_in(row, "in_stock") if filled(row, "in_stock") else None)


def filled(row: Any, column: str) -> bool:
    return row.get(column) not in (None, "")


def number_in(row: Any, column: str) -> int:
    """A whole number of ten digits at most; a spreadsheet may hand it over as 5.0."""
    text = str(row[column]).strip().removesuffix(".0")
    if not re.fullmatch(r"[-+]?\d+", text) or len(text) > 10:
        raise ValidationError(_("“%(value)s” in “%(column)s” is no whole number.") % {"value": text, "column": column})
    return int(text)


class StockImportForm(BoundedImportForm):
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=REASON_LENGTH_MAX,
        required=False,
        help_text=gettext_lazy("For the journal, where a line has no reason of its own."),
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )


class ConfirmStockForm(ConfirmForm):
    reason = forms.CharField(required=False, widget=forms.HiddenInput())


class WithStockTable(WithTables):
    resource_classes = [StockTable]
    import_permissions = ("shop.view_variant", "shop.add_stockchange")
    import_form_class = StockImportForm
    confirm_form_class = ConfirmStockForm

    def get_confirm_form_initial(self, request: HttpRequest, import_form: Any) -> dict[str, Any]:
        initial: dict[str, Any] = super().get_confirm_form_initial(request, import_form)
        return {**initial, "reason": import_form.cleaned_data["reason"]} if import_form else initial

    def get_import_data_kwargs(self, **kwargs: Any) -> dict[str, Any]:
        form = kwargs.get("form")
        reason = form.cleaned_data.get("reason", "") if form else ""
        token = token_of(kwargs["request"])
        return {**super().get_import_data_kwargs(**kwargs), "reason": reason, "token": token}

    def not_imported(self, request: HttpRequest, texts: list[Any]) -> HttpResponse:
        """A confirmation that is sent twice: the first has changed the stock, and perhaps removed the upload."""
        if not is_taken(token_of(request)):
            return super().not_imported(request, texts)
        text = _("This table was imported before, and its changes of the stock are not made twice.")
        self.message_user(request, text, messages.WARNING)
        return HttpResponseRedirect(reverse("admin:shop_variant_changelist"))


def token_of(request: HttpRequest) -> UUID | None:
    """The name of an upload is given once, and its preview sends it back. None for an upload."""
    try:
        return UUID(request.POST.get("import_file_name", ""))
    except ValueError:
        return None
