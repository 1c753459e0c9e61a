"""The actions of the list of orders: each moves those orders that may move, says what moved and what did not, and is
written into each order's history with the name of whoever ran it."""

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

# A page of the list. Whoever chose all pages of it sees no more than this before the question.
LISTED_MAX = 100
# So many of the orders that did not move are named.
NAMED_MAX = 5


@dataclass(frozen=True, kw_only=True)
class Move:
    """A step of an order's life, what the history calls it, and how the page counts those it moved and did not."""

    step: Callable[..., bool]
    history: str | Promise
    moved: Callable[[int], str]
    kept: Callable[[int], str]


PAY = Move(
    step=lifecycle.pay,
    history=gettext_lazy("Payment recorded."),
    moved=lambda n: ngettext("%(count)d order is now paid.", "%(count)d orders are now paid.", n),
    kept=lambda n: ngettext(
        "%(count)d order was not marked as paid: it was not awaiting payment, or its deadline had passed.",
        "%(count)d orders were not marked as paid: they were not awaiting payment, or their deadline had passed.",
        n,
    ),
)
CANCEL = Move(
    step=lifecycle.cancel,
    history=gettext_lazy("Cancelled."),
    moved=lambda n: ngettext("%(count)d order is cancelled.", "%(count)d orders are cancelled.", n),
    kept=lambda n: ngettext(
        "%(count)d order was not cancelled: it was not awaiting payment.",
        "%(count)d orders were not cancelled: they were not awaiting payment.",
        n,
    ),
)
SHIP = Move(
    step=lifecycle.ship,
    history=gettext_lazy("Shipped."),
    moved=lambda n: ngettext("%(count)d order is marked as shipped.", "%(count)d orders are marked as shipped.", n),
    kept=lambda n: ngettext(
        "%(count)d order was not marked as shipped: it is not paid, or was already shipped.",
        "%(count)d orders were not marked as shipped: they are not paid, or were already shipped.",
        n,
    ),
)
COMPLETE = Move(
    step=lifecycle.complete,
    history=gettext_lazy("Completed."),
    moved=lambda n: ngettext("%(count)d order is marked as completed.", "%(count)d orders are marked as completed.", n),
    kept=lambda n: ngettext(
        "%(count)d order was not marked as completed: it is not shipped yet.",
        "%(count)d orders were not marked as completed: they are not shipped yet.",
        n,
    ),
)


def refunding(*, units_back: bool) -> Move:
    """A refund; with `units_back` the units go back on sale."""
    return Move(
        step=partial(lifecycle.refund, units_back=units_back),
        history=gettext_lazy("Refunded, units back on sale.")
        if units_back
        else gettext_lazy("Refunded, units stay sold."),
        moved=lambda n: ngettext("%(count)d order is being refunded.", "%(count)d orders are being refunded.", n),
        kept=lambda n: ngettext(
            "%(count)d order was not refunded: it is not paid, or was already shipped.",
            "%(count)d orders were not refunded: they are not paid, or were already shipped.",
            n,
        ),
    )


class OrderMoves(ReadOnlyAdmin):
    """The actions. Those that a buyer would feel ask first."""

    actions = ["record_payment", "ship_orders", "complete_orders", "cancel_orders", "refund_orders"]

    @admin.action(description=gettext_lazy("Record payment received"), permissions=["move"])
    def record_payment(self, request: HttpRequest, queryset: QuerySet[Order]) -> None:
        self.move(request, queryset, PAY)

    @admin.action(description=gettext_lazy("Mark as shipped"), permissions=["move"])
    def ship_orders(self, request: HttpRequest, queryset: QuerySet[Order]) -> None:
        self.move(request, queryset, SHIP)

    @admin.action(description=gettext_lazy("Mark as completed"), permissions=["move"])
    def complete_orders(self, request: HttpRequest, queryset: QuerySet[Order]) -> None:
        self.move(request, queryset, COMPLETE)

    @admin.action(description=gettext_lazy("Cancel and put units back on sale"), permissions=["move"])
    def cancel_orders(self, request: HttpRequest, queryset: QuerySet[Order]) -> TemplateResponse | None:
        if "confirmed" not in request.POST:
            count = queryset.count()
            title = ngettext("Cancel %(count)d order?", "Cancel %(count)d orders?", count) % {"count": count}
            return self.ask(request, queryset, "admin/orders/order/cancel.html", title=title)
        self.move(request, queryset, CANCEL)
        return None

    @admin.action(description=gettext_lazy("Refund"), permissions=["move"])
    def refund_orders(self, request: HttpRequest, queryset: QuerySet[Order]) -> TemplateResponse | None:
        if "confirmed" not in request.POST:
            return self.ask_before_refunding(request, queryset)
        self.move(request, queryset, refunding(units_back="units_back" in request.POST))
        return None

    def move(self, request: HttpRequest, queryset: QuerySet[Order], move: Move) -> None:
        """Move each order on its own, and say how it went."""
        moved, kept = [], []
        for order in Order.objects.filter(pk__in=queryset.values("pk")).order_by("pk"):
            if move.step(order_id=order.pk):
                self.log_change(request, order, str(move.history))
                moved.append(order)
            else:
                kept.append(order)
        if moved:
            self.message_user(request, move.moved(len(moved)) % {"count": len(moved)}, messages.SUCCESS)
        if kept:
            said = move.kept(len(kept)) % {"count": len(kept)}
            self.message_user(request, f"{said} ({numbers_of(kept)})", messages.WARNING)

    def ask_before_refunding(self, request: HttpRequest, queryset: QuerySet[Order]) -> TemplateResponse:
        """Which orders, how much in all, and which of them will not be refunded."""
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
        """Buyers lose what they have, or money moves; that takes a second click."""
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
    """The beginnings of the orders' numbers, by which the list finds them."""
    named = ", ".join(str(order.number)[:8] for order in orders[:NAMED_MAX])
    return f"{named}, …" if len(orders) > NAMED_MAX else named


def total_of(orders: QuerySet[Order]) -> str:
    """What the orders cost together, in each currency."""
    sums: dict[str, int] = {}
    for minor, currency in orders.order_by().values_list("amount_minor", "currency"):
        sums[currency] = sums.get(currency, 0) + minor
    return ", ".join(amount_text(minor, currency) for currency, minor in sorted(sums.items())) or _("nothing")
