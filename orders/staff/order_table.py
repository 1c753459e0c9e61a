"""The table of orders that staff download: a line for each line of an order.

Amounts of a whole order (delivery, total, refunds) stand on its first line alone, so that a column can be added up.
"""

import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from import_export.fields import Field
from import_export.resources import ModelResource
from import_export.widgets import Widget

from orders.invoices.included_taxes import tax_in
from orders.models import Order, OrderLine, with_refunded_units
from shop.addresses.address_checks import ADDRESS_FIELDS
from shop.databases.replica import may_lag, reading_alias
from shop.prices.money import to_decimal

if TYPE_CHECKING:

    class Table:
        """django-import-export has no types."""

        fields: dict[str, Any]

        def export(self, queryset: Any = None, **options: Any) -> Any: ...

    class Cell: ...
else:
    Table, Cell = ModelResource, Widget

# The whole table is made in memory before its first byte is sent, and holds a thread of the process meanwhile.
# So many orders take some seconds, most of them as XLSX; a larger shop exports in parts, with the filter by time.
ORDERS_MAX = 5_000
# Rows that are in memory at a time.
CHUNK_SIZE = 1_000


COLUMNS = [
    *("order", "status", "created_at", "ended_at", "email", "buyer"),
    *("sku", "product", "options", "units", "unit_price", "amount", "tax_percent", "tax", "refunded_units"),
    *("shipping_method", "shipping", "shipping_tax", "total", "refunded", "currency"),
    *("address", *ADDRESS_FIELDS),
    *("carrier", "tracking_number", "shipped_at", "buyer_note"),
]


class TooManyOrders(ValueError):
    """Too many orders for one table. The page of the export shows the text."""


class TimeCell(Cell):
    """In the shop's zone, with its offset: "2026-11-22 17:09:00+08:00"."""

    def render(self, value: datetime | None, obj: Any = None, **options: Any) -> str:
        return "" if value is None else timezone.localtime(value).isoformat(sep=" ", timespec="seconds")


class OrderLineTable(Table):
    """Amounts are decimals in `currency`. `tax` is what the line's amount includes."""

    order = Field("order__shown_code", "order")
    status = Field("order__status", "status")
    created_at = Field("order__created_at", "created_at", TimeCell())
    ended_at = Field("order__ended_at", "paid_or_ended_at", TimeCell())
    email = Field("order__contact_email", "email")
    buyer = Field("order__buyer__username", "buyer")
    sku = Field("sku", "sku")
    product = Field("name", "product")
    options = Field("options", "options")
    units = Field(column_name="units")
    unit_price = Field(column_name="unit_price")
    amount = Field(column_name="amount")
    tax_percent = Field(column_name="tax_percent")
    tax = Field(column_name="tax")
    refunded_units = Field(column_name="refunded_units")
    shipping_method = Field("order__shipping_name", "shipping_method")
    shipping = Field(column_name="shipping")
    shipping_tax = Field(column_name="shipping_tax")
    total = Field(column_name="total")
    refunded = Field(column_name="refunded")
    currency = Field("order__currency", "currency")
    address = Field(column_name="address")
    name = Field("order__shipping_address__name", "name")
    line1 = Field("order__shipping_address__line1", "line1")
    line2 = Field("order__shipping_address__line2", "line2")
    district = Field("order__shipping_address__district", "district")
    city = Field("order__shipping_address__city", "city")
    region = Field("order__shipping_address__region", "region")
    postcode = Field("order__shipping_address__postcode", "postcode")
    country = Field("order__shipping_address__country", "country")
    phone = Field("order__shipping_address__phone", "phone")
    carrier = Field("order__carrier", "carrier")
    tracking_number = Field("order__tracking_number", "tracking_number")
    shipped_at = Field("order__shipped_at", "shipped_at", TimeCell())
    buyer_note = Field("order__buyer_note", "buyer_note")

    class Meta:
        model = OrderLine
        name = gettext_lazy("orders")
        fields = COLUMNS
        export_order = COLUMNS

    def dehydrate_address(self, line: OrderLine) -> str:
        """The lines of the parcel, in one."""
        address = getattr(line.order, "shipping_address", None)
        return ", ".join(address.lines) if address else ""

    def dehydrate_phone(self, line: OrderLine) -> str:
        """With spaces: a spreadsheet would compute 1-555-0100."""
        address = getattr(line.order, "shipping_address", None)
        return re.sub("[-/]", " ", address.phone) if address else ""

    def dehydrate_units(self, line: OrderLine) -> int:
        return line.units

    def dehydrate_refunded_units(self, line: Any) -> int | str:
        return line.refunded_units or ""

    def dehydrate_unit_price(self, line: OrderLine) -> Decimal:
        return amount_of(line.unit_price_minor, line)

    def dehydrate_amount(self, line: OrderLine) -> Decimal:
        return amount_of(line.amount_minor, line)

    def dehydrate_tax_percent(self, line: OrderLine) -> Decimal | str:
        return "" if line.tax_percent is None else line.tax_percent

    def dehydrate_tax(self, line: OrderLine) -> Decimal | str:
        return "" if line.tax_percent is None else amount_of(tax_in(line.amount_minor, line.tax_percent), line)

    def dehydrate_shipping(self, line: OrderLine) -> Decimal | str:
        return once(line.order.shipping_minor, line)

    def dehydrate_shipping_tax(self, line: OrderLine) -> Decimal | str:
        percent = line.order.shipping_tax_percent
        return "" if percent is None else once(tax_in(line.order.shipping_minor, percent), line)

    def dehydrate_total(self, line: OrderLine) -> Decimal | str:
        return once(line.order.amount_minor, line)

    def dehydrate_refunded(self, line: OrderLine) -> Decimal | str:
        return once(line.order.refunded_minor, line)

    @may_lag
    def export(self, queryset: Any = None, **options: Any) -> Any:
        """The lines of these orders. Raises TooManyOrders."""
        orders: QuerySet[Order] = Order.objects.all() if queryset is None else queryset
        pks = list(orders.using(reading_alias()).values_list("pk", flat=True)[: ORDERS_MAX + 1])
        if len(pks) > ORDERS_MAX:
            raise TooManyOrders(
                _(
                    "These are more than %(max)d orders. Go back, choose fewer with the filters of the list, for "
                    "example those of a month, and export them."
                )
                % {"max": ORDERS_MAX}
            )
        return super().export(lines_of(pks), **options)

    def export_resource(self, instance: Any, selected_fields: Any = None, **options: Any) -> list[Any]:
        """The library looks up each field anew for each cell, which takes longer than all the rest."""
        return [cell(instance) for cell in self.cells]

    @cached_property
    def cells(self) -> list[Callable[[Any], Any]]:
        return [getattr(self, f"dehydrate_{name}", None) or self.fields[name].export for name in COLUMNS]

    def iter_queryset(self, queryset: "QuerySet[OrderLine]") -> Any:
        return queryset.iterator(chunk_size=CHUNK_SIZE)


def lines_of(order_ids: list[int]) -> "QuerySet[OrderLine]":
    """The lines with all that the table shows, the newest order first. `place` counts the lines of an order."""
    lines = with_refunded_units(OrderLine.objects.using(reading_alias()).filter(order__in=order_ids))
    return (
        lines.select_related("order__buyer", "order__shipping_address", "variant__product")
        .annotate(place=Window(RowNumber(), partition_by=F("order"), order_by=F("pk").asc()))
        .order_by("-order__created_at", "-order", "pk")
    )


def amount_of(minor: int, line: OrderLine) -> Decimal:
    return to_decimal(minor=minor, currency=line.order.currency)


def once(minor: int, line: Any) -> Decimal | str:
    """An amount of the whole order, on its first line."""
    return amount_of(minor, line) if line.place == 1 else ""
