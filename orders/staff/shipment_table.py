"""The table with which staff mark many orders as shipped, with carriers and tracking numbers.

It reads `order`, `carrier`, `tracking_number` and `status` of the exported table, and no other column: money, goods and
addresses of an order change by its own pages alone. A line changes its order as the buttons on the order's page do.

Lines are checked without a lock, and all orders are changed together at the end: a preview keeps nobody waiting.
"""

import re
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from import_export.fields import Field

from orders.life import lifecycle
from orders.models import Order, OrderStatus
from orders.staff.order_forms import TrackingForm, tracking_text
from orders.staff.order_search import code_in
from orders.staff.order_table import Cell, OrderLineTable, Table
from orders.staff.read_only_admin import may_ship_orders
from shop.staff.table_pages import WithTables

# Spreadsheet programs turn a long number into 3.40123E+17. Its last digits are lost.
SHORTENED = re.compile(r"\d([.,]\d+)?E\+\d+", re.IGNORECASE)
# In a cell that is a number they keep 15 digits.
DIGITS_KEPT = 15


class CodeCell(Cell):
    """The short number as people read or type it: K7M2-Q9XT."""

    def clean(self, value: Any, row: Any = None, **options: Any) -> str:
        return code_in(str(value or ""))

    def render(self, value: Any, obj: Any = None, **options: Any) -> str:
        return obj.shown_code if obj is not None and obj.code else str(value or "")


class ShipmentTable(Table):
    """A paid order with a carrier, a tracking number or the status `shipped` is marked as shipped; of one that has
    left, carrier and number are corrected. Empty cells change nothing, so lines without an entry are skipped.
    """

    order = Field("code", "order", CodeCell())
    status = Field("status", "status", readonly=True)
    carrier = Field("carrier", "carrier", readonly=True)
    tracking_number = Field("tracking_number", "tracking_number", readonly=True)

    class Meta:
        model = Order
        name = gettext_lazy("orders that were sent")
        import_id_fields = ["order"]
        fields = ["order", "status", "carrier", "tracking_number"]
        import_order = export_order = fields
        use_transactions = True

    def before_import(self, dataset: Any, **options: Any) -> None:
        self.said: dict[str, dict[str, str]] = {}
        self.leaving: dict[int, Order] = {}
        self.corrected: dict[int, Order] = {}

    def before_import_row(self, row: Any, **options: Any) -> None:
        """Check that the order exists, and that all of its lines in the table say the same."""
        code = code_in(str(row.get("order") or ""))
        if not Order.objects.filter(code=code).exists():
            raise ValidationError(_("There is no order “%(order)s”.") % {"order": row.get("order") or ""})
        if is_silent(row):
            return
        said = shipment_in(row)
        if self.said.setdefault(code, said) != said:
            raise ValidationError(_("An earlier line has this order with another carrier or tracking number."))

    def skip_row(self, instance: Order, original: Any, row: Any, import_validation_errors: Any = None) -> bool:
        # Another line of an order says the same.
        if is_silent(row) or instance.pk in self.leaving or instance.pk in self.corrected:
            return True
        return instance.shipped_at is not None and merged(instance, row) == parcel_of(instance)

    def save_instance(self, instance: Order, is_create: bool, row: Any, **options: Any) -> None:
        """Note the order, and show what it will be."""
        if instance.shipped_at is not None:
            self.corrected[instance.pk] = instance
        elif instance.status == OrderStatus.PAID:
            self.leaving[instance.pk] = instance
        else:
            raise not_paid(instance)
        for name, said in merged(instance, row).items():
            setattr(instance, name, said)
        if instance.pk in self.leaving:
            instance.status = OrderStatus.SHIPPED

    def after_import(self, dataset: Any, result: Any, **options: Any) -> None:
        if options.get("dry_run") or result.has_errors() or result.has_validation_errors():
            return
        made_by = options["user"].pk
        for order in (*self.leaving.values(), *self.corrected.values()):
            shipped = [_("Shipped.")] if order.pk in self.leaving else []
            text = " ".join([*shipped, tracking_text(self.said[order.code])]).strip()
            LogEntry.objects.log_actions(made_by, [order], CHANGE, text)
        # Only now, so that orders are locked for a few statements.
        refused = lifecycle.ship_all(parcels={pk: parcel_of(order) for pk, order in self.leaving.items()})
        for order in Order.objects.filter(pk__in=refused):
            raise not_paid(order)
        # In the order of their ids, so that two imports cannot deadlock.
        for pk, order in sorted(self.corrected.items()):
            said = {name: text or None for name, text in self.said[order.code].items()}
            lifecycle.correct_tracking(order_id=pk, **said)


def not_paid(order: Order) -> ValidationError:
    return ValidationError(
        _("The order cannot be marked as shipped: it is “%(status)s”.") % {"status": order.get_status_display()}
    )


def is_silent(row: Any) -> bool:
    """Whether the line asks for nothing. Only `shipped` can be asked for; programs may write it “Shipped”."""
    carrier, number, status = (text_of(row.get(name)).strip() for name in ("carrier", "tracking_number", "status"))
    return not (carrier or number or status.lower() == OrderStatus.SHIPPED)


def shipment_in(row: Any) -> dict[str, str]:
    """The cells, checked by the form on the order's page. Raises ValidationError."""
    form = TrackingForm({name: text_of(row.get(name)) for name in ("carrier", "tracking_number")})
    if not form.is_valid():
        raise ValidationError([str(error) for errors in form.errors.values() for error in errors])
    if SHORTENED.fullmatch(form.cleaned_data["tracking_number"]):
        raise ValidationError(
            _("A spreadsheet program has cut the tracking number “%(number)s”. Format the column as text.")
            % {"number": form.cleaned_data["tracking_number"]}
        )
    return form.cleaned_data


def text_of(cell: Any) -> str:
    """A spreadsheet may hand a number over as 1234.0. One that it has cut is written as it shows it, 3.40123E+17."""
    if isinstance(cell, int | float) and cell >= 10**DIGITS_KEPT:
        return f"{cell:E}"
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell or "")


def parcel_of(order: Order) -> dict[str, str]:
    return {"carrier": order.carrier, "tracking_number": order.tracking_number}


def merged(order: Order, row: Any) -> dict[str, str]:
    """The order's carrier and number, replaced where the line has others."""
    return parcel_of(order) | {name: said for name, said in shipment_in(row).items() if said}


class WithOrderTables(WithTables):
    """Exports order lines, imports shipments."""

    def has_import_permission(self, request: HttpRequest) -> bool:
        return may_ship_orders(request)

    def get_export_resource_classes(self, request: HttpRequest) -> list[Any]:
        return [OrderLineTable]

    def get_import_resource_classes(self, request: HttpRequest) -> list[Any]:
        return [ShipmentTable]
