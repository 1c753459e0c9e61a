from collections.abc import Callable

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.decorators import display

from orders import lifecycle
from orders.models import Order, OrderLine, OrderStatus
from shop.money import to_text
from shop.staff import ModelAdmin, TabularInline

# The colours of the states, in the words of django-unfold, which shows a state that is not here untranslated.
LABELS = {
    OrderStatus.AWAITING_PAYMENT: "warning",
    OrderStatus.PAID: "success",
    OrderStatus.EXPIRED: "default",
    OrderStatus.CANCELLED: "default",
    OrderStatus.REJECTED: "danger",
    OrderStatus.REFUNDED: "info",
}

# A page of the list. Whoever chose all pages of it sees no more than this before the question.
LISTED_MAX = 100


class OrderLineInline(TabularInline):
    model = OrderLine
    fields = readonly_fields = ("product", "units", "unit_price", "line_amount", "sale_link")
    hide_title = True
    extra = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet[OrderLine]:
        lines: QuerySet[OrderLine] = super().get_queryset(request)
        return lines.select_related("product", "order", "sale_item__sale")

    @admin.display(description=_("price of one"))
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

    def has_view_permission(self, request: HttpRequest, obj: Order | None = None) -> bool:
        return may_see_orders(request)

    def has_add_permission(self, request: HttpRequest, obj: Order | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Order | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Order | None = None) -> bool:
        return False


@admin.register(Order)
class OrderAdmin(ModelAdmin):
    """Orders are read here. They move by the actions alone, as they do when buyers and payment providers move them."""

    list_display = ["number", "buyer", "status_label", "amount", "what", "created_at", "expires_at"]
    list_filter = ["status", "created_at"]
    list_filter_sheet = False
    list_select_related = ["buyer"]
    search_fields = ["number", "buyer__username"]
    search_help_text = _("Order number or the buyer's name")
    show_full_result_count = False
    list_per_page = LISTED_MAX
    actions = ["record_payment", "cancel_orders"]
    inlines = [OrderLineInline]
    fields = [
        ("number", "status"),
        ("buyer", "amount"),
        ("reserved_at", "expires_at"),
        ("created_at", "ended_at"),
        "settled_at",
    ]
    readonly_fields = ["number", "amount"]
    # The buyer's page of an order is for its buyer alone.
    view_on_site = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        orders: QuerySet[Order] = super().get_queryset(request)
        return orders.prefetch_related(Prefetch("lines", OrderLine.objects.select_related("product")))

    def has_view_permission(self, request: HttpRequest, obj: Order | None = None) -> bool:
        return may_see_orders(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return may_see_orders(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Order | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Order | None = None) -> bool:
        return False

    def has_move_permission(self, request: HttpRequest) -> bool:
        """Who may run the actions, though nobody may type into an order."""
        return request.user.has_perm("orders.change_order")

    @display(description=_("status"), ordering="status", label=LABELS)  # type: ignore[untyped-decorator]
    def status_label(self, order: Order) -> tuple[str, str]:
        return order.status, order.get_status_display()

    @admin.display(description=_("amount"), ordering="amount_minor")
    def amount(self, order: Order) -> str:
        return amount_text(order.amount_minor, order.currency)

    @admin.display(description=_("what"))
    def what(self, order: Order) -> str:
        return ", ".join(str(line) for line in order.lines.all())

    @admin.action(description=_("Record payment received"), permissions=["move"])
    def record_payment(self, request: HttpRequest, queryset: QuerySet[Order]) -> None:
        paid, unpaid = count_moved(queryset, lifecycle.pay)
        if paid:
            said = ngettext("%(count)d order is paid now.", "%(count)d orders are paid now.", paid)
            self.message_user(request, said % {"count": paid}, messages.SUCCESS)
        if unpaid:
            said = ngettext(
                "%(count)d order could not be paid: it was not awaiting payment, or its time was over.",
                "%(count)d orders could not be paid: they were not awaiting payment, or their time was over.",
                unpaid,
            )
            self.message_user(request, said % {"count": unpaid}, messages.WARNING)

    @admin.action(description=_("Cancel and put units back on sale"), permissions=["move"])
    def cancel_orders(self, request: HttpRequest, queryset: QuerySet[Order]) -> TemplateResponse | None:
        if "confirmed" not in request.POST:
            return self.ask_before_cancelling(request, queryset)
        cancelled, kept = count_moved(queryset, lifecycle.cancel)
        if cancelled:
            said = ngettext("%(count)d order is cancelled.", "%(count)d orders are cancelled.", cancelled)
            self.message_user(request, said % {"count": cancelled}, messages.SUCCESS)
        if kept:
            said = ngettext(
                "%(count)d order was not cancelled: it was not awaiting payment.",
                "%(count)d orders were not cancelled: they were not awaiting payment.",
                kept,
            )
            self.message_user(request, said % {"count": kept}, messages.WARNING)
        return None

    def ask_before_cancelling(self, request: HttpRequest, queryset: QuerySet[Order]) -> TemplateResponse:
        """Buyers lose what they were told they have; that takes a second click."""
        count = queryset.count()
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": ngettext("Cancel %(count)d order?", "Cancel %(count)d orders?", count) % {"count": count},
            "orders": queryset[:LISTED_MAX],
            "checkbox_name": ACTION_CHECKBOX_NAME,
            "select_across": request.POST.get("select_across", "0"),
        }
        return TemplateResponse(request, "admin/orders/order/cancel.html", context)


def count_moved(orders: QuerySet[Order], move: Callable[..., bool]) -> tuple[int, int]:
    """Move each order by `move`. Returns how many it moved and how many it refused to."""
    answers = [move(order_id=pk) for pk in orders.order_by("pk").values_list("pk", flat=True)]
    return answers.count(True), answers.count(False)


def may_see_orders(request: HttpRequest) -> bool:
    return request.user.has_perm("orders.view_order") or request.user.has_perm("orders.change_order")


def amount_text(minor: int, currency: str) -> str:
    """An amount for people to read: "19.00 CNY". An order keeps the currency that it was made in."""
    return f"{to_text(minor=minor, currency=currency)} {currency}"
