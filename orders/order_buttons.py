"""What the buyer can do on the page of an order: pay, and cancel. Both work without JavaScript."""

from urllib.parse import urlsplit
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from orders import lifecycle
from orders.models import Order, OrderStatus, Payment
from orders.pages import orders_of, state_of
from orders.payments import sessions
from orders.payments.provider import ProviderUnreachable
from orders.payments.sessions import Started
from shop.buyer_language import remember_language


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def pay(request: HttpRequest, number: UUID) -> HttpResponse:
    """On to the provider's page, the one that is open or a new one. Whoever was led here by a sign-in goes back."""
    order = get_object_or_404(orders_of(request), number=number)
    if request.method != "POST":
        return redirect(order)
    remember_language(request)
    try:
        # A key of its own for each press: while a page is open every press gets that page, whatever the key.
        start = sessions.start(order_id=order.pk, idempotency_key=str(uuid4()))
    except ProviderUnreachable:
        messages.error(request, _("The payment company is not answering right now. Please try again in a moment."))
        return redirect(order)
    if start.payment is None:
        messages.warning(request, why_not(start.word))
        return redirect(order)
    return to_payment_page(request, order, start.payment)


def to_payment_page(request: HttpRequest, order: Order, payment: Payment) -> HttpResponse:
    """A page of another company is not where a form of ours may lead, by our content policy; a page of ours may."""
    elsewhere = urlsplit(payment.url).netloc
    if elsewhere and elsewhere != request.get_host():
        return render(request, "orders/to_payment_page.html", {"order": order, "url": payment.url, "host": elsewhere})
    return redirect(payment.url)


def why_not(word: Started) -> str:
    if word is Started.TIME_OVER:
        return _("The payment deadline has passed.")
    if word is Started.NO_PROVIDER:
        return _("This shop does not take online payments yet.")
    return _("This order is no longer awaiting payment.")


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def cancel(request: HttpRequest, number: UUID) -> HttpResponse:
    """Ask once, then cancel. Of an order that moved on meanwhile the page says where it stands."""
    order = get_object_or_404(orders_of(request).prefetch_related("payments"), number=number)
    if request.method != "POST" and order.status == OrderStatus.AWAITING_PAYMENT:
        return render(request, "orders/cancel.html", state_of(order))
    if request.method == "POST" and not lifecycle.cancel(order_id=order.pk):
        messages.warning(request, _("The order could not be cancelled: it is no longer awaiting payment."))
    return redirect(order)
