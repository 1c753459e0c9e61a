"""The actions of the list of orders, which orders/staff/order_page.py offers for one order too.

Each changes the orders that allow it, at most LISTED_MAX at a time, and reports how many it changed and which it
skipped. Every change is written into the order's history with the name of the person.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.models import User
from django.db.models import F, Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from orders.approvals.approval_bounds import refund_needs_another
from orders.life import lifecycle
from orders.models import SOLD, Order, OrderStatus, Payment, RecordedPayment, with_lines
from orders.staff.bounded_choice import Choice, limited_selection
from orders.staff.order_forms import ReceivedPaymentForm, ShipmentForm
from orders.staff.order_search import SearchedOrders
from orders.staff.read_only_admin import amount_text

# How many of the skipped orders are named in the message.
NAMED_MAX = 5


@dataclass(frozen=True, kw_only=True)
class StatusChange:
    """A function of `lifecycle`, the orders that it can change, and the messages about changed and skipped ones.

    `history` is the line in the order's history.
    """

    run: Callable[..., object]
    possible: Q
    history: str | Promise
    done_text: Callable[[int], str]
    skipped_text: Callable[[int], str]


# `lifecycle.pay` decides about those whose deadline has passed or whose amount has changed, and of several that go to
# one address.
PAYABLE = Q(status=OrderStatus.AWAITING_PAYMENT)

PAY = StatusChange(
    run=lifecycle.pay,
    possible=PAYABLE,
    # Written by `lifecycle.pay`, with amount and reference.
    history="",
    done_text=lambda n: ngettext("%(count)d order is now paid.", "%(count)d orders are now paid.", n),
    skipped_text=lambda n: ngettext(
        "%(count)d order was not marked as paid: it was not awaiting payment, its deadline had passed, its amount had "
        "changed, or its address has had its purchase.",
        "%(count)d orders were not marked as paid: they were not awaiting payment, their deadline had passed, their "
        "amount had changed, or their address has had its purchase.",
        n,
    ),
)
CANCEL = StatusChange(
    run=lifecycle.cancel,
    possible=Q(status=OrderStatus.AWAITING_PAYMENT),
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
    possible=Q(status=OrderStatus.PAID),
    # Written with the tracking number.
    history="",
    done_text=lambda n: ngettext("%(count)d order is marked as shipped.", "%(count)d orders are marked as shipped.", n),
    skipped_text=lambda n: ngettext(
        "%(count)d order was not marked as shipped: it is not paid, or was already shipped.",
        "%(count)d orders were not marked as shipped: they are not paid, or were already shipped.",
        n,
    ),
)
COMPLETE = StatusChange(
    run=lifecycle.complete,
    possible=Q(status=OrderStatus.SHIPPED),
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

REFUNDABLE = Q(status__in=SOLD)


def refund_change(*, units_back: bool) -> StatusChange:
    return StatusChange(
        run=partial(lifecycle.refund, units_back=units_back),
        possible=REFUNDABLE,
        history=gettext_lazy("Refunded, units back on sale.")
        if units_back
        else gettext_lazy("Refunded, units stay sold."),
        done_text=lambda n: ngettext("%(count)d order is being refunded.", "%(count)d orders are being refunded.", n),
        skipped_text=lambda n: ngettext(
            "%(count)d order was not refunded: it is not paid.",
            "%(count)d orders were not refunded: they are not paid.",
            n,
        ),
    )


REFUND = refund_change(units_back=False)


class OrderActions(SearchedOrders):
    """The actions. Those about money, and those that cannot be undone, ask first."""

    actions = ["record_payment", "ship_orders", "complete_orders", "cancel_orders", "refund_orders"]

    @admin.action(description=gettext_lazy("Record payment received"), permissions=["manage"])
    def record_payment(self, request: HttpRequest, queryset: QuerySet[Order]) -> TemplateResponse | None:
        """Ask for amount and reference of each payment. If one is wrong, none is recorded."""
        choice = limited_selection(queryset, possible=PAYABLE)
        payable = with_contents(Order.objects.filter(PAYABLE, pk__in=choice.pks))
        data = request.POST if "confirmed" in request.POST else None
        payments = [ReceivedPaymentForm(order, data) for order in payable]
        if data is not None and all(form.is_valid() for form in payments):
            received = {form.order.pk: form for form in payments}

            def pay(*, order_id: int) -> bool:
                if (form := received.get(order_id)) is None:
                    return False
                keep = partial(self.keep_payment, request, form)
                return lifecycle.pay(order_id=order_id, amount_minor=form.order.amount_minor, on_done=keep)

            self.run_action(request, choice, replace(PAY, run=pay))
            return None
        count = len(payments)
        title = ngettext("Record the payment of %(count)d order", "Record the payments of %(count)d orders", count)
        return self.ask(
            request,
            choice,
            "admin/orders/order/record_payment.html",
            title=title % {"count": count},
            forms=payments,
            others=len(choice.pks) - count,
        )

    def keep_payment(self, request: HttpRequest, form: ReceivedPaymentForm) -> None:
        RecordedPayment.objects.create(
            order=form.order,
            amount_minor=form.order.amount_minor,
            currency=form.order.currency,
            reference=form.cleaned_data["reference"],
            made_by=cast(User, request.user),
        )
        self.log_change(request, form.order, form.history)

    @admin.action(description=gettext_lazy("Mark as shipped"), permissions=["ship"])
    def ship_orders(self, request: HttpRequest, queryset: QuerySet[Order]) -> TemplateResponse | None:
        """Show where each parcel goes, and ask for its tracking number. If one is wrong, none is shipped."""
        choice = limited_selection(queryset, possible=SHIP.possible)
        paid = with_contents(Order.objects.filter(SHIP.possible, pk__in=choice.pks))
        data = request.POST if "confirmed" in request.POST else None
        parcels = {order.pk: ShipmentForm(order, data) for order in paid.select_related("shipping_address")}
        if data is None or not all(parcel.is_valid() for parcel in parcels.values()):
            count = len(parcels)
            title = ngettext("Mark %(count)d order as shipped?", "Mark %(count)d orders as shipped?", count)
            return self.ask(
                request,
                choice,
                "admin/orders/order/ship.html",
                title=title % {"count": count},
                forms=list(parcels.values()),
                others=len(choice.pks) - count,
            )

        def ship(*, order_id: int) -> bool:
            form = parcels.get(order_id)
            if form is None:
                return False
            note = partial(self.log_change, request, form.order, form.history)
            return lifecycle.ship(order_id=order_id, on_done=note, **form.cleaned_data)

        self.run_action(request, choice, replace(SHIP, run=ship))
        return None

    @admin.action(description=gettext_lazy("Mark as completed"), permissions=["ship"])
    def complete_orders(self, request: HttpRequest, queryset: QuerySet[Order]) -> None:
        self.run_action(request, limited_selection(queryset, possible=COMPLETE.possible), COMPLETE)

    @admin.action(description=gettext_lazy("Cancel and release the units"), permissions=["manage"])
    def cancel_orders(self, request: HttpRequest, queryset: QuerySet[Order]) -> TemplateResponse | None:
        choice = limited_selection(queryset, possible=CANCEL.possible)
        if "confirmed" not in request.POST:
            count = len(choice.pks)
            title = ngettext("Cancel %(count)d order?", "Cancel %(count)d orders?", count) % {"count": count}
            return self.ask(request, choice, "admin/orders/order/cancel.html", title=title)
        self.run_action(request, choice, CANCEL)
        return None

    @admin.action(description=gettext_lazy("Refund"), permissions=["manage"])
    def refund_orders(self, request: HttpRequest, queryset: QuerySet[Order]) -> TemplateResponse | None:
        choice = limited_selection(queryset, possible=REFUNDABLE)
        if "confirmed" not in request.POST:
            return self.ask_before_refunding(request, choice)
        too_much = [
            order
            for order in Order.objects.filter(REFUNDABLE, pk__in=choice.pks)
            if refund_needs_another(order, amount_minor=order.amount_minor - order.refunded_minor)
        ]
        if too_much:
            text = _("Another person has to approve these refunds. Ask for each on its own page: %(orders)s")
            self.message_user(request, text % {"orders": numbers_of(too_much)}, messages.WARNING)
            choice = replace(choice, pks=[pk for pk in choice.pks if pk not in {order.pk for order in too_much}])
        self.run_action(request, choice, refund_change(units_back="units_back" in request.POST))
        return None

    def run_action(self, request: HttpRequest, choice: Choice, change: StatusChange) -> None:
        """Change each order on its own, and report the result."""
        changed, skipped = [], []
        for order in Order.objects.filter(pk__in=choice.pks).order_by("pk"):
            note = {"on_done": partial(self.log_change, request, order, str(change.history))} if change.history else {}
            if change.run(order_id=order.pk, **note):
                changed.append(order)
            else:
                skipped.append(order)
        if changed:
            text = change.done_text(len(changed)) % {"count": len(changed)}
            self.message_user(request, text, messages.SUCCESS)
        if skipped:
            self.message_user(request, not_changed_text(change, skipped), messages.WARNING)
        if choice.not_all:
            self.message_user(request, choice.not_all, messages.WARNING)

    def ask_before_refunding(self, request: HttpRequest, choice: Choice) -> TemplateResponse:
        """Show the orders, the total, and how many of them cannot be refunded."""
        refundable = Order.objects.filter(REFUNDABLE, pk__in=choice.pks)
        count = refundable.count()
        return self.ask(
            request,
            choice,
            "admin/orders/order/refund.html",
            title=ngettext("Refund %(count)d order?", "Refund %(count)d orders?", count) % {"count": count},
            total=total_of(refundable),
            count=count,
            others=len(choice.pks) - count,
            sold=SOLD,
        )

    def ask(self, request: HttpRequest, choice: Choice, template: str, **more: Any) -> TemplateResponse:
        """Show what an action will do, for exactly the orders that the page lists."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "orders": with_contents(Order.objects.filter(pk__in=choice.pks)),
            "not_all": choice.not_all,
            "checkbox_name": ACTION_CHECKBOX_NAME,
            "back_url": back_url(request),
            **more,
        }
        return TemplateResponse(request, template, context)


def back_url(request: HttpRequest) -> str:
    """Where the action was chosen: on the page of an order, or in a list of orders, whose own address this is."""
    match = request.resolver_match
    if match and (order_id := match.kwargs.get("order_id")):
        return reverse("admin:orders_order_change", args=[order_id])
    return request.path


def with_contents(orders: QuerySet[Order]) -> QuerySet[Order]:
    """The orders with all that a confirmation page shows of them, newest first."""
    captured = Payment.objects.filter(status=Payment.Status.CAPTURED)
    return orders.select_related("buyer").prefetch_related(
        with_lines(),
        Prefetch("payments", captured, to_attr="captured"),
    )


def not_changed_text(change: StatusChange, orders: list[Order]) -> str:
    """Why the change did nothing to these orders, with their numbers."""
    return f"{change.skipped_text(len(orders)) % {'count': len(orders)}} ({numbers_of(orders)})"


def numbers_of(orders: list[Order]) -> str:
    """The orders' numbers; the list's search finds them."""
    named = ", ".join(order.shown_code for order in orders[:NAMED_MAX])
    return f"{named}, …" if len(orders) > NAMED_MAX else named


def total_of(orders: QuerySet[Order]) -> str:
    """What is left of the orders to refund, in each currency."""
    totals: dict[str, int] = {}
    for minor, currency in orders.order_by().values_list(F("amount_minor") - F("refunded_minor"), "currency"):
        totals[currency] = totals.get(currency, 0) + minor
    return ", ".join(amount_text(minor, currency) for currency, minor in sorted(totals.items())) or _("nothing")
