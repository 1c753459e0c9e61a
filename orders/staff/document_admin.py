"""Invoices and credit notes in the admin: read, printed, saved as PDF and exported. None can be changed."""

import re
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from import_export.fields import Field

from orders.invoices.invoice import buyer_name, invoice_of
from orders.invoices.numbering import numbered
from orders.invoices.pages import file_of
from orders.models import Document, Order
from orders.models.document import PREFIXES
from orders.staff.order_search import find_orders
from orders.staff.order_table import Table, TimeCell, TooManyOrders
from orders.staff.read_only_admin import ReadOnlyAdmin, amount_text, link_to, may_see_orders, page_of
from shop.prices.money import to_text
from shop.staff.table_pages import WithTables
from shop.times.time_range_filter import TimeRangeFilter

COLUMNS = [
    "number",
    "kind",
    "issued_at",
    "order",
    "corrects",
    "buyer",
    "country",
    "vat_number",
    "tax",
    "total",
    "currency",
]
# INV-000123, inv-123, or the number alone.
NUMBER = re.compile(r"(?:([a-z]{3})-?)?0*([1-9]\d{0,17})", re.IGNORECASE)


# As of orders (order_table.py): the whole table is made in memory.
DOCUMENTS_MAX = 5_000


class DocumentTable(Table):
    """A line for each document. Amounts of credit notes are below zero, so that a column can be added up."""

    number = Field("shown_number", "number")
    kind = Field("kind", "kind")
    issued_at = Field("issued_at", "issued_at", TimeCell())
    order = Field("order__shown_code", "order")
    corrects = Field(column_name="corrects")
    buyer = Field(column_name="buyer")
    country = Field("contents__buyer__country", "country")
    vat_number = Field("contents__buyer__vat_number", "vat_number")
    tax = Field(column_name="tax")
    total = Field(column_name="total")
    currency = Field("currency", "currency")

    numbers: dict[int, str]

    class Meta:
        model = Document
        name = _("invoices and credit notes")
        fields = COLUMNS
        export_order = COLUMNS

    def export(self, queryset: Any = None, **options: Any) -> Any:
        """The documents of the list. Raises TooManyOrders."""
        chosen = Document.objects.all() if queryset is None else queryset
        pks = list(chosen.values_list("pk", flat=True)[: DOCUMENTS_MAX + 1])
        if len(pks) > DOCUMENTS_MAX:
            raise TooManyOrders(
                _(
                    "These are more than %(max)d documents. Go back and export them month by month or day by day, with "
                    "the filter by time."
                )
                % {"max": DOCUMENTS_MAX}
            )
        rows = Document.objects.filter(pk__in=pks).select_related("order").order_by("kind", "number")
        corrected = set(rows.values_list("contents__invoice_id", flat=True)) - {None}
        self.numbers = {row.pk: row.shown_number for row in Document.objects.filter(pk__in=corrected)}
        return super().export(rows, **options)

    def dehydrate_corrects(self, document: Document) -> str:
        return self.numbers.get(document.contents.get("invoice_id", 0), "")

    def dehydrate_buyer(self, document: Document) -> str:
        return buyer_name(document.contents["buyer"])

    def dehydrate_tax(self, document: Document) -> str:
        return signed_text(document, sum(tax for _percent, _gross, tax in document.contents["taxes"]))

    def dehydrate_total(self, document: Document) -> str:
        return signed_text(document, document.total_minor)


def signed_text(document: Document, minor: int) -> str:
    sign = -1 if document.kind == Document.Kind.CREDIT_NOTE else 1
    return to_text(minor=sign * minor, currency=document.currency)


@admin.register(Document)
class DocumentAdmin(WithTables, ReadOnlyAdmin):
    list_display = ["shown", "kind", "order_link", "total", "issued_at", "links"]
    list_filter = ["kind", ("issued_at", TimeRangeFilter)]
    list_filter_submit = True
    list_select_related = ["order"]
    # Newest first. Any other order would sort all documents for each page.
    sortable_by = ()
    # Without fields there would be no search box; `get_search_results` does the search.
    search_fields = ["number"]
    search_help_text = _("Number of the document, or what finds the order")
    fields = [("shown", "kind"), ("order_link", "total"), ("made_at", "issued_at"), "links"]
    readonly_fields = ["shown", "order_link", "total", "links"]

    def get_export_resource_classes(self, request: HttpRequest) -> list[Any]:
        return [DocumentTable]

    def has_import_permission(self, request: HttpRequest) -> bool:
        return False

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Document], search_term: str
    ) -> tuple[QuerySet[Document], bool]:
        """The document with this number, and those of the orders that the list of orders would find."""
        if not (term := search_term.strip()):
            return queryset, False
        orders = find_orders(Order.objects.all(), term).values_list("pk", flat=True)
        found = Q(order__in=list(orders))
        if match := NUMBER.fullmatch(term):
            prefix = (match[1] or "").upper()
            kinds = [kind for kind, its_prefix in PREFIXES.items() if prefix in ("", its_prefix)]
            found |= Q(kind__in=kinds, number=int(match[2]))
        return queryset.filter(found), False

    def get_urls(self) -> list[URLPattern]:
        staff_only = self.admin_site.admin_view
        return [
            path("<int:document_id>/print/", staff_only(self.print_view), name="orders_document_print"),
            path("<int:document_id>/pdf/", staff_only(self.pdf_view), name="orders_document_pdf"),
            *super().get_urls(),
        ]

    def print_view(self, request: HttpRequest, document_id: int) -> HttpResponse:
        document = document_for(request, document_id)
        context = {
            "invoice": invoice_of(document),
            "pdf_path": reverse("admin:orders_document_pdf", args=[document.pk]),
            "back_path": page_of(document.order),
        }
        return TemplateResponse(request, "orders/invoice/invoice.html", context)

    def pdf_view(self, request: HttpRequest, document_id: int) -> HttpResponse:
        return file_of(document_for(request, document_id))

    @admin.display(description=_("document number"))
    def shown(self, document: Document) -> str:
        return document.shown_number or "–"

    @admin.display(description=_("order"))
    def order_link(self, document: Document) -> str:
        return link_to(document.order)

    @admin.display(description=_("total"))
    def total(self, document: Document) -> str:
        return amount_text(document.total_minor, document.currency)

    @admin.display(description=_("print or download"))
    def links(self, document: Document) -> SafeString:
        return format_html(
            '<a href="{}" class="text-link">{}</a> · <a href="{}" class="text-link">PDF</a>',
            reverse("admin:orders_document_print", args=[document.pk]),
            _("Print"),
            reverse("admin:orders_document_pdf", args=[document.pk]),
        )


def document_for(request: HttpRequest, document_id: int) -> Document:
    if not may_see_orders(request):
        raise PermissionDenied
    return numbered(get_object_or_404(Document.objects.select_related("order"), pk=document_id))
