"""The actions of the list of orders. Each changes the orders that allow it, and reports how many it changed and which
it skipped. Every change is written into the order's history with the name of the person.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from orders import lifecycle
from orders.models import Order, OrderStatus, Payment
from orders.staff.read_only_admin import ReadOnlyAdmin, amount_text

# Orders on a page of the list. Also how many orders a confirmation page lists, even if all pages were selected.
LISTED_MAX = 100
# How many of the skipped orders are named in the message.
NAMED_MAX = 5


@dataclass(frozen=True, kw_only=True)
class StatusChange:
    """A function of `lifecycle`, its text in the history, and the messages about changed and skipped orders."""

    run: Callable[..., bool]
    history: str | Promise
    done_text: Callable[[int], str]
    skipped_text: Callable[[int], str]


PAY = StatusChange(
    run=lifecycle.pay,
    history=gettext_lazy("Payment recorded."),
    done_text=lambda n: ngettext("%(count)d order is now paid.", "%(count)d orders are now paid.", n),
    skipped_text=lambda n: ngettext(
        "%(count)d order was not marked as paid: it was not awaiting payment, or its deadline had passed.",
        "%(count)d orders were not marked as paid: they were not awaiting payment, or their deadline had passed.",
        n,
    ),
)
CANCEL = StatusChange(
    run=lifecycle.cancel,
    history=gettext_lazy("Cancelled."),
    done_text=lambda n: ngettext("%(count)d order is cancelled.", "%(count)d orders are cancelled.", n),
    skipped_text=lambda n: ngettext(
        "%(count)d order was not cancelled: it was not awaiting payment.",
        "%(count)d orders were not cancelled: they were not awaiting payment.",
        n,
    ),
)
SHIP = StatusChange(
    run=lifecycle.ship,
    history=gettext_lazy("Shipped."),
    done_text=lambda n: ngettext("%(count)d order is marked as shipped.", "%(count)d orders are marked as shipped.", n),
    skipped_text=lambda n: ngettext(
        "%(count)d order was not marked as shipped: it is not paid, or was already shipped.",
        "%(count)d orders were not marked as shipped: they are not paid, or were already shipped.",
        n,
    ),
)
COMPLETE = StatusChange(
    run=lifecycle.complete,
    history=gettext_lazy("Completed."),
    done_text=lambda n: ngettext(
        "%(count)d order is marked as completed.", "%(count)d orders are marked as completed.", n
    ),
    skipped_text=lambda n: ngettext(
        "%(count)d order was not marked as completed: it is not shipped yet.",
        "%(count)d orders were not marked as completed: they are not shipped yet.",
        n,
    ),
)


def refund_change(*, units_back: bool) -> StatusChange:
    """A refund; with `units_back` the units go back on sale."""
    return StatusChange(
        run=partial(lifecycle.refund, units_back=units_back),
        history=gettext_lazy("Refunded, units back on sale.")
        if units_back
        else gettext_lazy("Refunded, units stay sold."),
        done_text=lambda n: ngettext("%(count)d order is being refunded.", "%(count)d orders are being refunded.", n),
        skipped_text=lambda n: ngettext(
            "%(count)d order was not refunded: it is not paid, or was already shipped.",
            "%(count)d orders were not refunded: they are not paid, or were already shipped.",
            n,
        ),
    )


class OrderActions(ReadOnlyAdmin):
    """The actions. Cancelling and refunding ask for confirmation."""

    actions = ["record_payment", "ship_orders", "complete_orders", "cancel_orders", "refund_orders"]

    @admin.action(description=gettext_lazy("Record payment received"), permissions=["manage"])
    def record_payment(self, request: HttpRequest, queryset: QuerySet[Order]) -> None:
        self.run_action(request, queryset, PAY)

    @admin.action(description=gettext_lazy("Mark as shipped"), permissions=["manage"])
    def ship_orders(self, request: HttpRequest, queryset: QuerySet[Order]) -> None:
        self.run_action(request, queryset, SHIP)

    @admin.action(description=gettext_lazy("Mark as completed"), permissions=["manage"])
    def complete_orders(self, request: HttpRequest, queryset: QuerySet[Order]) -> None:
        self.run_action(request, queryset, COMPLETE)

    @admin.action(description=gettext_lazy("Cancel and put units back on sale"), permissions=["manage"])
    def cancel_orders(self, request: HttpRequest, queryset: QuerySet[Order]) -> TemplateResponse | None:
        if "confirmed" not in request.POST:
            count = queryset.count()
            title = ngettext("Cancel %(count)d order?", "Cancel %(count)d orders?", count) % {"count": count}
            return self.ask(request, queryset, "admin/orders/order/cancel.html", title=title)
        self.run_action(request, queryset, CANCEL)
        return None

    @admin.action(description=gettext_lazy("Refund"), permissions=["manage"])
    def refund_orders(self, request: HttpRequest, queryset: QuerySet[Order]) -> TemplateResponse | None:
        if "confirmed" not in request.POST:
            return self.ask_before_refunding(request, queryset)
        self.run_action(request, queryset, refund_change(units_back="units_back" in request.POST))
        return None

    def run_action(self, request: HttpRequest, queryset: QuerySet[Order], change: StatusChange) -> None:
        """Change each order on its own, and report the result."""
        changed, skipped = [], []
        for order in Order.objects.filter(pk__in=queryset.values("pk")).order_by("pk"):
            if change.run(order_id=order.pk):
                self.log_change(request, order, str(change.history))
                changed.append(order)
            else:
                skipped.append(order)
        if changed:
            text = change.done_text(len(changed)) % {"count": len(changed)}
            self.message_user(request, text, messages.SUCCESS)
        if skipped:
            text = change.skipped_text(len(skipped)) % {"count": len(skipped)}
            self.message_user(request, f"{text} ({numbers_of(skipped)})", messages.WARNING)

    def ask_before_refunding(self, request: HttpRequest, queryset: QuerySet[Order]) -> TemplateResponse:
        """Show the orders, the total, and how many of them cannot be refunded."""
        payable = queryset.filter(status=OrderStatus.PAID)
        count = payable.count()
        captured = Payment.objects.filter(status=Payment.Status.CAPTURED)
        return self.ask(
            request,
            queryset.prefetch_related(Prefetch("payments", captured, to_attr="captured")),
            "admin/orders/order/refund.html",
            title=ngettext("Refund %(count)d order?", "Refund %(count)d orders?", count) % {"count": count},
            total=total_of(payable),
            count=count,
            others=queryset.count() - count,
        )

    def ask(self, request: HttpRequest, queryset: QuerySet[Order], template: str, **more: Any) -> TemplateResponse:
        """Show a confirmation page for an action that cannot be undone."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "orders": queryset[:LISTED_MAX],
            "checkbox_name": ACTION_CHECKBOX_NAME,
            "select_across": request.POST.get("select_across", "0"),
            **more,
        }
        return TemplateResponse(request, template, context)


def numbers_of(orders: list[Order]) -> str:
    """The first characters of the orders' numbers; the list's search finds them."""
    named = ", ".join(str(order.number)[:8] for order in orders[:NAMED_MAX])
    return f"{named}, …" if len(orders) > NAMED_MAX else named


def total_of(orders: QuerySet[Order]) -> str:
    """The total of the orders, in each currency."""
    totals: dict[str, int] = {}
    for minor, currency in orders.order_by().values_list("amount_minor", "currency"):
        totals[currency] = totals.get(currency, 0) + minor
    return ", ".join(amount_text(minor, currency) for currency, minor in sorted(totals.items())) or _("nothing")
