"""The buyer's own pages: my orders, one order with its buttons, and a reservation whose order is not created yet.

Everything works without JavaScript.
"""

from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from orders import lifecycle
from orders.models import Attention, Order, OrderStatus, Payment
from orders.payments import sessions
from orders.payments.provider.interface import ProviderUnreachable
from orders.payments.provider.names import chosen_providers
from orders.payments.sessions import StartOutcome
from seckill import ledger
from seckill.passes import item_id_of
from seckill.store import StoreUnreachable
from seckill.timestamps import from_ms
from shop.buyer_language import remember_language

PAGE_SIZE = 20


@never_cache
@login_required
@require_safe
def orders(request: HttpRequest) -> HttpResponse:
    page = Paginator(orders_of(request), PAGE_SIZE).get_page(request.GET.get("page"))
    awaiting = any(order.status == OrderStatus.AWAITING_PAYMENT for order in page)
    template = "orders/_orders.html" if request.htmx else "orders/orders.html"  # type: ignore[attr-defined]
    return render(request, template, {"page": page, "awaiting": awaiting})


@never_cache
@login_required
@require_safe
def order(request: HttpRequest, number: UUID) -> HttpResponse:
    """One order. Buyers also return here from a payment page; that proves nothing, only the provider's event does."""
    shown = get_object_or_404(orders_of(request).prefetch_related("payments"), number=number)
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "orders/_order.html", state_of(shown))
    remember_language(request)
    return render(request, "orders/order.html", state_of(shown))


def state_of(order: Order) -> dict[str, Any]:
    """The template's context: the order, how its payments stand, and what the buyer can do now."""
    payments = list(order.payments.all())
    latest = payments[0] if payments else None
    awaiting = order.status == OrderStatus.AWAITING_PAYMENT
    deciding = order.late_payment_undecided
    return {
        "order": order,
        "awaiting": awaiting,
        "payable": awaiting and bool(chosen_providers()),
        "confirming": awaiting and latest is not None and latest.status == Payment.Status.PENDING and bool(latest.url),
        "declined": awaiting and latest is not None and latest.status == Payment.Status.FAILED,
        "deciding": deciding,
        "changing": awaiting or deciding or order.status == OrderStatus.REFUND_DUE,
        "came_late": order.paid_late,
        "other_amount": order.attention == Attention.AMOUNT_DIFFERS,
        "paid_twice": order.attention == Attention.PAID_TWICE,
    }


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def pay(request: HttpRequest, number: UUID) -> HttpResponse:
    """Redirect to the provider's page: the one that is open, or a new one.

    A GET comes from the sign-in page, which cannot repeat the POST: it goes back to the order.
    """
    order = get_object_or_404(orders_of(request), number=number)
    if request.method != "POST":
        return redirect(order)
    remember_language(request)
    try:
        # A new key each time: while a payment page is open, the buyer gets that page whatever the key.
        start = sessions.start(order_id=order.pk, idempotency_key=str(uuid4()))
    except ProviderUnreachable:
        messages.error(request, _("The payment company is not answering right now. Please try again in a moment."))
        return redirect(order)
    if start.payment is None:
        messages.warning(request, why_not_payable(start.outcome))
        return redirect(order)
    return to_payment_page(request, order, start.payment)


def to_payment_page(request: HttpRequest, order: Order, payment: Payment) -> HttpResponse:
    """Redirect to a payment page of this shop. For one of another company, show a link.

    The Content-Security-Policy (`form-action`) limits where a form of ours may lead, but not a link.
    """
    elsewhere = urlsplit(payment.url).netloc
    if elsewhere and elsewhere != request.get_host():
        return render(request, "orders/to_payment_page.html", {"order": order, "url": payment.url, "host": elsewhere})
    return redirect(payment.url)


def why_not_payable(outcome: StartOutcome) -> str:
    if outcome is StartOutcome.TIME_OVER:
        return _("The payment deadline has passed.")
    if outcome is StartOutcome.NO_PROVIDER:
        return _("This shop does not take online payments yet.")
    return _("This order is no longer awaiting payment.")


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def cancel(request: HttpRequest, number: UUID) -> HttpResponse:
    """Ask for confirmation, then cancel. If the order has changed meanwhile, its page shows the new status."""
    order = get_object_or_404(orders_of(request).prefetch_related("payments"), number=number)
    if request.method != "POST" and order.status == OrderStatus.AWAITING_PAYMENT:
        return render(request, "orders/cancel.html", state_of(order))
    if request.method == "POST" and not lifecycle.cancel(order_id=order.pk):
        messages.warning(request, _("The order could not be cancelled: it is no longer awaiting payment."))
    return redirect(order)


@never_cache
@login_required
@require_safe
def reservation(request: HttpRequest, reservation_id: UUID) -> HttpResponse:
    """Where buyers without JavaScript wait until their reservation has become an order."""
    order = orders_of(request).filter(reservation_id=reservation_id).first()
    if order:
        return redirect(order)
    try:
        hold = ledger.find_hold(item_id=item_id_of(reservation_id), reservation_id=reservation_id)
    except StoreUnreachable:
        return render(request, "orders/reservation.html", {"hold": None})
    if hold is None or hold.buyer_id != request.user.pk:
        raise Http404
    return render(request, "orders/reservation.html", {"hold": hold, "deadline": from_ms(hold.deadline_ms)})


def orders_of(request: HttpRequest) -> QuerySet[Order]:
    """The signed-in buyer's orders, newest first, with their lines."""
    return Order.objects.filter(buyer_id=request.user.pk).prefetch_related("lines__product")
