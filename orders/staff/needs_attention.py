"""The admin's list of orders that need attention, with the reason for each."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.decorators import display

from orders.life.attention import resolve
from orders.models import ATTENTION_TO_DO, Attention, Order, Payment, Refund
from orders.staff.bounded_choice import limited_selection
from orders.staff.order_search import SearchedOrders
from orders.staff.read_only_admin import amount_text, link_to
from orders.staff.without_order import dead_letter_page

EXPLANATIONS = {
    Attention.LATE_PAYMENT_KEPT: gettext_lazy(
        "The payment arrived after the deadline. Units were left, so the order counts as paid. You do not need to "
        "do anything."
    ),
    Attention.LATE_PAYMENT_REFUNDED: gettext_lazy(
        "The payment arrived after the order had ended, and the order could not be taken up again: its units were "
        "gone, the sale does not allow it, or the account is blocked or deleted. The payment is refunded "
        "automatically. The buyer may ask about it."
    ),
    Attention.AMOUNT_DIFFERS: gettext_lazy(
        "The provider reports a different amount or currency than was due. The payment is refunded automatically. "
        "Find out why it differed."
    ),
    Attention.PAID_TWICE: gettext_lazy(
        "The buyer paid twice. The second payment is refunded automatically. The order stays paid."
    ),
    Attention.ONE_EACH: gettext_lazy(
        "The sale has one purchase for each delivery address or payment card, and this was a second one. "
        "The payment is refunded automatically. The buyer may ask about it."
    ),
    Attention.REFUND_FAILS: gettext_lazy(
        "The provider does not accept the refund. See the error under the order's payments, and refund it on the "
        "provider's own site."
    ),
    Attention.PAYMENT_LOST: gettext_lazy(
        "The order was paid before another database server took over, which does not have the payment. Let the payment "
        "company send its events again. An order that awaits payment keeps its units, and you can also record the "
        "payment. The units of an expired order are on sale again: with the event it gets units that are left, or its "
        "money goes back."
    ),
    Attention.REFUND_LOST: gettext_lazy(
        "The order was refunded before another database server took over, which does not have the refund. Refund it "
        "again: the payment company does not pay a refund twice."
    ),
    Attention.REFUND_WITHOUT_PAYMENT: gettext_lazy(
        "The payment company reports a refund of this order, but has not reported the payment. Look the payment up on "
        "its site, and let it send the payment's events again."
    ),
    Attention.PAYMENT_UNREPORTED: gettext_lazy(
        "The payment company says that this order was paid, but has not reported the payment. If there are several "
        "such orders, its messages do not reach the shop. Let it send the payment's events again: then the order gets "
        "units that are left, or its money goes back. If it cannot, refund the payment on its site and mark this as "
        "resolved."
    ),
}
# A part of a payment that still waits for an answer. A refund of the whole payment cannot be paid twice.
UNANSWERED = gettext_lazy(
    "The provider does not answer, and the shop goes on asking for the refund. Do not refund it on the provider's own "
    "site as well: then it would be paid twice. See the error under the order's refunds."
)
LABELS = dict.fromkeys(Attention, "danger") | {
    Attention.LATE_PAYMENT_KEPT: "info",
    Attention.LATE_PAYMENT_REFUNDED: "warning",
    Attention.PAID_TWICE: "warning",
    Attention.ONE_EACH: "warning",
}


class ToDoFilter(admin.SimpleListFilter):
    """Without a choice, the orders that a person must act on."""

    title = gettext_lazy("to do")
    parameter_name = "todo"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("no", gettext_lazy("for information")), ("all", gettext_lazy("all"))]

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Django's own first choice is “All”, which is not the default here."""
        default, *others = super().choices(changelist)
        return iter([{**default, "display": gettext_lazy("to do")}, *others])

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        if self.value() == "all":
            return queryset
        if self.value() == "no":
            return queryset.exclude(attention__in=ATTENTION_TO_DO)
        return queryset.filter(attention__in=ATTENTION_TO_DO)


class OrderToLookAt(Order):
    """An order with a reason to look at it, `Order.attention`."""

    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = gettext_lazy("order that needs attention")
        verbose_name_plural = gettext_lazy("orders that need attention")


@admin.register(OrderToLookAt)
class OrderToLookAtAdmin(SearchedOrders):
    """Read-only. The action `mark_resolved` removes an order from the list and writes into its history who did so."""

    list_title = gettext_lazy("Needs attention")
    when_empty = gettext_lazy("Nothing needs attention.")
    list_display = ["reason", "explanation", "order", "buyer", "amount", "status", "ended_at"]
    list_display_links = None
    list_filter = [ToDoFilter, "attention"]
    list_select_related = ["buyer"]
    actions = ["mark_resolved"]
    list_before_template = "admin/orders/ordertolookat/other_lists.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(partial(dead_letter_page, self))
        return [path("without-an-order/", view, name="orders_ordertolookat_dead_letters"), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        orders: QuerySet[Order] = super().get_queryset(request)
        return orders.exclude(attention="").prefetch_related(
            Prefetch("refunds", Refund.objects.select_related("payment"))
        )

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **kwargs: object) -> HttpResponse:
        return redirect("admin:orders_order_change", object_id)

    @display(description=gettext_lazy("reason"), ordering="attention", label=LABELS)  # type: ignore[untyped-decorator]
    def reason(self, order: Order) -> tuple[str, str]:
        return order.attention, order.get_attention_display()

    @admin.display(description=gettext_lazy("what to do"))
    def explanation(self, order: Order) -> str:
        return explanation_of(order)

    @admin.display(description=gettext_lazy("order"), ordering="code")
    def order(self, order: Order) -> str:
        """With the reason that was shown, for `mark_resolved`."""
        return format_html("{}<input type=hidden name={} value={}>", link_to(order), seen_field(order), order.attention)

    @admin.display(description=gettext_lazy("amount"), ordering="amount_minor")
    def amount(self, order: Order) -> str:
        return amount_text(order.amount_minor, order.currency)

    @admin.action(description=gettext_lazy("Mark as resolved"), permissions=["manage"])
    def mark_resolved(self, request: HttpRequest, queryset: QuerySet[Order]) -> None:
        """A reason that the page did not show stays."""
        resolved, others = 0, 0
        choice = limited_selection(queryset, possible=~Q(attention=""))
        for order in Order.objects.filter(pk__in=choice.pks).exclude(attention=""):
            if request.POST.get(seen_field(order), order.attention) != order.attention:
                others += 1
                continue
            with transaction.atomic():
                if resolve(order):
                    reason = Attention(order.attention).label
                    self.log_change(request, order, _("Resolved: %(reason)s.") % {"reason": reason})
                    resolved += 1
        said = ngettext("%(count)d order is marked as resolved.", "%(count)d orders are marked as resolved.", resolved)
        self.message_user(request, said % {"count": resolved}, messages.SUCCESS)
        if others:
            self.message_user(
                request, _("Orders that have another reason by now were left as they are."), messages.WARNING
            )
        if choice.not_all:
            self.message_user(request, choice.not_all, messages.WARNING)


def seen_field(order: Order) -> str:
    return f"seen-{order.pk}"


def explanation_of(order: Order) -> str:
    if order.attention == Attention.REFUND_FAILS and any(is_asked_for(refund) for refund in order.refunds.all()):
        return str(UNANSWERED)
    return str(EXPLANATIONS[Attention(order.attention)])


def is_asked_for(refund: Refund) -> bool:
    """Whether the shop goes on asking for a part about which the provider gave no answer."""
    is_part = refund.payment is not None and refund.payment.status != Payment.Status.REFUND_DUE
    return is_part and refund.status == Refund.Status.DUE and refund.last_error != ""


def badge() -> str:
    """For the sidebar, how many orders a person must act on; empty if none."""
    return str(Order.objects.filter(~Q(attention=""), attention__in=ATTENTION_TO_DO).count() or "")
