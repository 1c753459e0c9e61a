"""The admin's list of orders that need attention, with the reason for each."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.decorators import display

from orders.models import Attention, Order
from orders.staff.read_only_admin import ReadOnlyAdmin, amount_text, link_to

EXPLANATIONS = {
    Attention.LATE_PAYMENT_KEPT: gettext_lazy(
        "The payment arrived after the deadline. Units were left, so the order counts as paid. You do not need to "
        "do anything."
    ),
    Attention.LATE_PAYMENT_REFUNDED: gettext_lazy(
        "The payment arrived after the order had ended, and its units were gone. It is refunded automatically. "
        "The buyer may ask about it."
    ),
    Attention.AMOUNT_DIFFERS: gettext_lazy(
        "The provider reports a different amount or currency than was due. The payment is refunded automatically. "
        "Find out why it differed."
    ),
    Attention.PAID_TWICE: gettext_lazy(
        "The buyer paid twice. The second payment is refunded automatically. The order stays paid."
    ),
    Attention.REFUND_FAILS: gettext_lazy(
        "The provider does not accept the refund. See the error under the order's payments, and refund it on the "
        "provider's own site."
    ),
}
LABELS = {
    Attention.LATE_PAYMENT_KEPT: "info",
    Attention.LATE_PAYMENT_REFUNDED: "warning",
    Attention.AMOUNT_DIFFERS: "danger",
    Attention.PAID_TWICE: "warning",
    Attention.REFUND_FAILS: "danger",
}


class OrderToLookAt(Order):
    """An order with a reason to look at it, `Order.attention`."""

    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = gettext_lazy("order that needs attention")
        verbose_name_plural = gettext_lazy("orders that need attention")


@admin.register(OrderToLookAt)
class OrderToLookAtAdmin(ReadOnlyAdmin):
    """Read-only. The action `mark_resolved` removes an order from the list and writes into its history who did so."""

    list_display = ["reason", "explanation", "order", "buyer", "amount", "status", "ended_at"]
    list_display_links = None
    list_filter = ["attention"]
    list_select_related = ["buyer"]
    search_fields = ["number", "buyer__username"]
    search_help_text = gettext_lazy("Order number or the buyer's name")
    actions = ["mark_resolved"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        orders: QuerySet[Order] = super().get_queryset(request)
        return orders.exclude(attention="")

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **kwargs: object) -> HttpResponse:
        """Show the order's usual page."""
        return redirect("admin:orders_order_change", object_id)

    @display(description=gettext_lazy("reason"), ordering="attention", label=LABELS)  # type: ignore[untyped-decorator]
    def reason(self, order: Order) -> tuple[str, str]:
        return order.attention, order.get_attention_display()

    @admin.display(description=gettext_lazy("what to do"))
    def explanation(self, order: Order) -> str:
        return str(EXPLANATIONS[Attention(order.attention)])

    @admin.display(description=gettext_lazy("order"), ordering="number")
    def order(self, order: Order) -> str:
        return link_to(order)

    @admin.display(description=gettext_lazy("amount"), ordering="amount_minor")
    def amount(self, order: Order) -> str:
        return amount_text(order.amount_minor, order.currency)

    @admin.action(description=gettext_lazy("Mark as resolved"), permissions=["manage"])
    def mark_resolved(self, request: HttpRequest, queryset: QuerySet[Order]) -> None:
        resolved = 0
        for order in Order.objects.filter(pk__in=queryset.values("pk")).exclude(attention=""):
            # Guarded by the reason: if another one was set meanwhile, the order stays on the list.
            if Order.objects.filter(pk=order.pk, attention=order.attention).update(attention="") == 1:
                reason = Attention(order.attention).label
                self.log_change(request, order, _("Resolved: %(reason)s.") % {"reason": reason})
                resolved += 1
        said = ngettext("%(count)d order is marked as resolved.", "%(count)d orders are marked as resolved.", resolved)
        self.message_user(request, said % {"count": resolved}, messages.SUCCESS)


def badge() -> str:
    """The count for the sidebar; empty if there are none."""
    return str(Order.objects.exclude(attention="").count() or "")
