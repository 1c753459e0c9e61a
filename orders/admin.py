from typing import Any
from uuid import uuid4

from django.contrib import admin
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.decorators import display

from orders.fulfilment.packing_queue import OrderToPackAdmin
from orders.models import (
    ATTENTION_TO_DO,
    BY_HAND,
    REFUNDS,
    Order,
    OrderLine,
    OrderStatus,
    Refund,
    ShippingAddress,
    with_lines,
    with_refunded_units,
)
from orders.preflight.checked_sale import CheckedSaleAdmin
from orders.shipping.shipping_admin import ShippingMethodAdmin
from orders.staff.approval_admin import ApprovalRequestAdmin
from orders.staff.bounded_choice import LISTED_MAX
from orders.staff.buyer_admin import BuyerAdmin, StaffBuyerAdmin
from orders.staff.document_admin import DocumentAdmin
from orders.staff.mail_admin import MailAdmin
from orders.staff.needs_attention import OrderToLookAtAdmin, explanation_of
from orders.staff.order_forms import NoteForm
from orders.staff.order_page import OrderPage, possible_steps
from orders.staff.order_sums import sums_table
from orders.staff.order_timeline import timeline_of
from orders.staff.payment_admin import PaymentEventAdmin
from orders.staff.read_only_admin import ReadOnlyInline, amount_text, link_to_buyer
from orders.staff.shipment_table import WithOrderTables
from shop.catalogue.variant_pictures import picture_of_variant
from shop.staff.picture_upload import thumbnail_of
from shop.times.time_range_filter import TimeRangeFilter

__all__ = [
    "ApprovalRequestAdmin",
    "BuyerAdmin",
    "CheckedSaleAdmin",
    "DocumentAdmin",
    "MailAdmin",
    "OrderAdmin",
    "OrderToLookAtAdmin",
    "OrderToPackAdmin",
    "PaymentEventAdmin",
    "ShippingMethodAdmin",
    "StaffBuyerAdmin",
]

# django-unfold's colour for each status. It shows a status that is missing here untranslated.
LABELS = {
    OrderStatus.AWAITING_PAYMENT: "warning",
    OrderStatus.PAID: "success",
    OrderStatus.SHIPPED: "success",
    OrderStatus.COMPLETED: "success",
    OrderStatus.EXPIRED: "default",
    OrderStatus.CANCELLED: "default",
    OrderStatus.REJECTED: "danger",
    OrderStatus.REFUND_DUE: "warning",
    OrderStatus.REFUNDED: "info",
}


class OrderLineInline(ReadOnlyInline):
    model = OrderLine
    fields = readonly_fields = (
        "picture",
        "title",
        "sku",
        "units",
        "units_refunded",
        "unit_price",
        "line_amount",
        "sale_link",
    )

    @admin.display(description=_("picture"))
    def picture(self, line: OrderLine) -> str:
        picture = picture_of_variant(line.variant)
        return thumbnail_of(picture) if picture else "–"

    @admin.display(description=_("product"))
    def title(self, line: OrderLine) -> str:
        return line.title

    @admin.display(description=_("refunded"), empty_value="–")
    def units_refunded(self, line: OrderLine) -> int | None:
        return line.refunded_units or None

    @admin.display(description=_("unit price"))
    def unit_price(self, line: OrderLine) -> str:
        return amount_text(line.unit_price_minor, line.order.currency)

    @admin.display(description=_("amount"))
    def line_amount(self, line: OrderLine) -> str:
        return amount_text(line.amount_minor, line.order.currency)

    @admin.display(description=_("sale"))
    def sale_link(self, line: OrderLine) -> str:
        if line.sale_item is None:
            return "–"
        url = reverse("admin:seckill_sale_change", args=[line.sale_item.sale_id])
        return format_html('<a href="{}" class="text-link">{}</a>', url, line.sale_item.sale)


class OwedFilter(admin.SimpleListFilter):
    """Orders with money that staff still have to pay back."""

    title = _("refund")
    parameter_name = lookup_kwarg = "refund"

    @property
    def lookup_val(self) -> list[str | None]:
        """With `lookup_kwarg`, the theme keeps the choice when the form with the other filters is sent."""
        return [self.value()]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("owed", _("staff have to pay it"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        if self.value() is None:
            return queryset
        return queryset.filter(pk__in=Refund.objects.filter(BY_HAND).values("order"))


class AddressInline(ReadOnlyInline):
    model = ShippingAddress
    fields = readonly_fields = ("as_on_a_parcel", "phone")
    verbose_name_plural = _("shipping address")

    @admin.display(description=_("shipping address"))
    def as_on_a_parcel(self, address: ShippingAddress) -> str:
        return format_html_join(mark_safe("<br>"), "{}", ((line,) for line in address.lines))


@admin.register(Order)
class OrderAdmin(WithOrderTables, OrderPage):
    """Orders are read-only here. Staff change them by buttons and actions, which call `orders/life/lifecycle.py`."""

    list_display = [
        "short_number",
        "customer",
        "status_label",
        "amount",
        "refunded",
        "what",
        "created_at",
        "expires_at",
    ]
    list_filter = [
        "status",
        OwedFilter,
        ("created_at", TimeRangeFilter),
        ("lines__sale_item__sale", AutocompleteSelectFilter),
        ("lines__variant__product", AutocompleteSelectFilter),
    ]
    list_filter_submit = True
    # By their indexes. Any other order would sort all orders for each page.
    sortable_by = ("short_number", "created_at")
    list_select_related = ["buyer"]
    list_max_show_all = LISTED_MAX
    inlines = [OrderLineInline, AddressInline]
    change_form_outer_after_template = "admin/orders/order/timeline.html"
    readonly_fields = ["short_number", "buyer_link", "number", "amounts", "reason", "notice"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        orders: QuerySet[Order] = super().get_queryset(request)
        return orders.prefetch_related(with_lines())

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Order | None:
        """With all that its page shows, each kind of rows in one query."""
        lines = with_refunded_units(OrderLine.objects.select_related("variant__product", "sale_item__sale"))
        orders = (
            Order.objects.select_related("buyer", "shipping_address", "recorded_payment__made_by")
            .prefetch_related(
                Prefetch("lines", lines.prefetch_related("variant__product__pictures")),
                "payments",
                Prefetch("refunds", Refund.objects.select_related("made_by", "payment")),
                "documents",
                "mails",
            )
            .annotate(**possible_steps())
        )
        return orders.filter(pk=self.pk_of(object_id)).first()

    def get_fields(self, request: HttpRequest, obj: Order | None = None) -> list[Any]:
        return [
            *(["reason" if obj.attention in ATTENTION_TO_DO else "notice"] if obj and obj.attention else []),
            ("short_number", "status"),
            "buyer_link" if obj and obj.buyer_id else "email",
            "amounts",
            ("reserved_at", "expires_at"),
            ("ended_at", "settled_at"),
            *(["units_back"] if obj and obj.status in REFUNDS else []),
            *([("carrier", "tracking_number")] if obj and obj.shipped_at else []),
            *(["buyer_note"] if obj and obj.buyer_note else []),
            *(["staff_note"] if obj and obj.staff_note else []),
            "number",
        ]

    @display(description=_("status"), ordering="status", label=LABELS)  # type: ignore[untyped-decorator]
    def status_label(self, order: Order) -> tuple[str, str]:
        return order.status, order.get_status_display()

    @admin.display(description=_("order number"), ordering="code")
    def short_number(self, order: Order) -> str:
        return order.shown_code

    @admin.display(description=_("buyer"), ordering="buyer__username")
    def customer(self, order: Order) -> str:
        return str(order.buyer or order.email)

    @admin.display(description=_("buyer"))
    def buyer_link(self, order: Order) -> str:
        return link_to_buyer(order)

    @admin.display(description=_("amount"), ordering="amount_minor")
    def amount(self, order: Order) -> str:
        return amount_text(order.amount_minor, order.currency)

    @admin.display(description=_("refunded"), empty_value="–")
    def refunded(self, order: Order) -> str | None:
        return amount_text(order.refunded_minor, order.currency) if order.refunded_minor else None

    @admin.display(description=_("amounts"))
    def amounts(self, order: Order) -> str:
        return sums_table(order)

    @admin.display(description=_("contents"))
    def what(self, order: Order) -> str:
        return order.contents

    @admin.display(description=_("needs attention"))
    def reason(self, order: Order) -> str:
        return explanation_of(order)

    @admin.display(description=_("note"))
    def notice(self, order: Order) -> str:
        return explanation_of(order)

    def page_context(self, request: HttpRequest, obj: Order | None) -> dict[str, Any]:
        context = super().page_context(request, obj)
        if obj is None:
            return context
        can_note = self.has_ship_permission(request)
        return {
            **context,
            "moments": timeline_of(obj, can_send_again=self.has_manage_permission(request)),
            "note_form": NoteForm(initial={"note_id": uuid4()}) if can_note else None,
            "notes_url": reverse("admin:orders_order_notes", args=[obj.pk]),
        }
