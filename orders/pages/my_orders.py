"""The buyer's own pages: one order with its buttons, and a reservation whose order is not created yet.

Everything works without JavaScript. `orders/pages/guest_orders.py` shows the same of a guest's order.
"""

from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from orders.api.orders import RECORD_LOST
from orders.invoices.included_taxes import taxes_of
from orders.life import cancelling
from orders.life.cancelling import CancelOutcome
from orders.models import SOLD, Attention, Order, OrderStatus, Payment, Refund, with_lines
from orders.payments import sessions
from orders.payments.provider.interface import ProviderUnreachable, WayBack, path_back
from orders.payments.provider.names import chosen_providers
from orders.payments.sessions import StartOutcome
from orders.shipping.address_texts import address_needed_text, address_taken_text
from orders.shipping.carriers import tracking_url
from orders.shipping.delivery_choice import attach_default, must_ask
from orders.shipping.order_address import CHANGEABLE
from orders.units.one_for_each import guarded_item
from seckill.models import Sale, SaleItem
from seckill.phase import Phase
from shop.languages.buyer_language import remember_language
from shop.languages.page_language import path_in

# Without JavaScript: while an event of the provider is awaited, and while a refund is.
RELOAD_SOON_SECONDS = 5
RELOAD_LATER_SECONDS = 30


@never_cache
@login_required
@require_safe
def order(request: HttpRequest, number: UUID) -> HttpResponse:
    """One order. Buyers also return here from a payment page; that proves nothing, only the provider's event does."""
    return show_order(request, get_object_or_404(orders_of(request), number=number))


def show_order(request: HttpRequest, shown: Order) -> HttpResponse:
    way = request.GET.get("payment")
    if attach_default(shown):
        shown = with_all_shown(Order.objects.filter(pk=shown.pk)).get()
    context = state_of(shown, way=WayBack(way) if way in list(WayBack) else None)
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "orders/_order.html", context)
    remember_language(request)
    return render(request, "orders/order.html", context)


def state_of(order: Order, *, way: WayBack | None = None) -> dict[str, Any]:
    """The template's context: the order, how its payments stand, and what the buyer can do now."""
    payments = list(order.payments.all())
    latest = payments[0] if payments else None
    awaiting = order.status == OrderStatus.AWAITING_PAYMENT
    page_open = awaiting and latest is not None and latest.page_open
    confirming = page_open and way is WayBack.RETURNED
    deciding, unknown = order.late_payment_undecided, order.payment_unknown
    going = [refund for refund in order.refunds.all() if refund.status != Refund.Status.FAILED]
    refunds = [refund for refund in going if not refund.is_surplus]
    refunding = order.status == OrderStatus.REFUND_DUE or any(it.status == Refund.Status.DUE for it in refunds)
    money_changes = refunding or order.payment_goes_back
    other = next_to_pay(order)
    one_each = order.attention == Attention.ONE_EACH
    guarded = guarded_item(order) if one_each else None
    return {
        "order": order,
        "is_guests": order.buyer_id is None,
        "taxes": taxes_of(order),
        "address": getattr(order, "shipping_address", None),
        "address_open": order.status in CHANGEABLE,
        "tracking_url": tracking_url(carrier=order.carrier, tracking_number=order.tracking_number),
        "sold": order.status in SOLD,
        "refunds": refunds,
        "refunding": refunding,
        # The page asks again at the address at which it was opened.
        "path": path_back(order=order, way=way) if way else order.get_absolute_url(),
        "awaiting": awaiting,
        "payable": awaiting and bool(chosen_providers()),
        "page_open": page_open,
        "confirming": confirming,
        "left": page_open and way is WayBack.LEFT,
        "declined": awaiting and latest is not None and latest.status == Payment.Status.FAILED,
        "deciding": deciding,
        "unknown": unknown,
        "unreported": any(payment.page_open and payment.found_paid_at for payment in payments),
        "never_reported": any(payment.never_reported for payment in payments),
        "changing": awaiting or deciding or unknown or money_changes or other is not None,
        "reload_seconds": reload_seconds(soon=confirming or deciding or unknown, later=money_changes),
        "charged": order.was_charged,
        "came_late": order.paid_late,
        # Not if staff refunded a late order that was kept.
        "too_late": order.paid_late and not order.refunded_minor,
        "other_amount": order.attention == Attention.AMOUNT_DIFFERS,
        "one_each": one_each,
        "rules": guarded.sale if guarded else None,
        "paid_twice": order.attention == Attention.PAID_TWICE,
        "other": other,
        "sale_item": None if deciding or unknown else item_on_sale(order),
    }


def reload_seconds(*, soon: bool, later: bool) -> int | None:
    """How often the page is loaded again without JavaScript; None if nothing on it will change."""
    return RELOAD_SOON_SECONDS if soon else RELOAD_LATER_SECONDS if later else None


def next_to_pay(order: Order) -> Order | None:
    """Of the buyer's other orders that await payment, the one whose deadline is next."""
    if order.buyer_id is None:
        # A guest is known only by the link to one order, so there are no others.
        return None
    others = Order.objects.filter(buyer_id=order.buyer_id, status=OrderStatus.AWAITING_PAYMENT).exclude(pk=order.pk)
    return others.prefetch_related(with_lines()).order_by("expires_at").first()


def item_on_sale(order: Order) -> SaleItem | None:
    """The item of an order that ended unpaid, if its sale is not over: the buyer may want to try again."""
    if order.status not in (OrderStatus.EXPIRED, OrderStatus.CANCELLED):
        return None
    # In a draw nobody can try again.
    items = SaleItem.objects.select_related("sale").filter(order_lines__order=order)
    items = items.exclude(sale__admission=Sale.Admission.DRAW)
    now = timezone.now()
    return next((item for item in items if item.sale.phase_at(now) is not Phase.ENDED), None)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def pay(request: HttpRequest, number: UUID) -> HttpResponse:
    """Redirect to the provider's page: the one that is open, or a new one.

    A GET comes from the sign-in page, which cannot repeat the POST: it goes back to the order.
    """
    return start_payment(request, get_object_or_404(orders_of(request), number=number))


def start_payment(request: HttpRequest, order: Order) -> HttpResponse:
    if request.method != "POST":
        return redirect(order)
    if attach_default(order):
        order.refresh_from_db()
        if order.shipping_minor:
            messages.warning(request, _("A price has changed since you last saw it. Please look at the new total."))
            return redirect(order)
    if order.status == OrderStatus.AWAITING_PAYMENT and must_ask(order):
        return redirect(order.address_path)
    remember_language(request)
    try:
        # A new key each time: while a payment page is open, the buyer gets that page whatever the key.
        start = sessions.start(order_id=order.pk, idempotency_key=str(uuid4()))
    except ProviderUnreachable:
        messages.error(request, _("The payment company is not answering right now. Please try again in a moment."))
        return redirect(order)
    if start.payment is None or start.outcome is StartOutcome.REPEATED:
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
    # It may have been opened in the other language.
    return redirect(path_in(get_language() or settings.LANGUAGE_CODE, payment.url))


def why_not_payable(outcome: StartOutcome) -> str:
    if outcome is StartOutcome.RECORD_LOST:
        return str(RECORD_LOST)
    if outcome is StartOutcome.TIME_OVER:
        return _("The payment deadline has passed.")
    if outcome is StartOutcome.ADDRESS_NEEDED:
        return address_needed_text()
    if outcome is StartOutcome.ADDRESS_TAKEN:
        return address_taken_text()
    if outcome is StartOutcome.NO_PROVIDER:
        return _("This shop does not take online payments yet.")
    return _("This order is no longer awaiting payment.")


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def cancel(request: HttpRequest, number: UUID) -> HttpResponse:
    """Ask for confirmation, then cancel. If the order has changed meanwhile, its page shows the new status."""
    return confirm_cancel(request, get_object_or_404(orders_of(request), number=number))


def confirm_cancel(request: HttpRequest, order: Order) -> HttpResponse:
    if request.method != "POST" and order.status == OrderStatus.AWAITING_PAYMENT:
        return render(request, "orders/cancel.html", state_of(order))
    if request.method == "POST":
        answer = cancelling.cancel(order=order, request=request)
        if answer.outcome is CancelOutcome.NOT_AWAITING_PAYMENT:
            messages.warning(request, _("The order could not be cancelled: it is no longer awaiting payment."))
        elif answer.outcome is CancelOutcome.TOO_OFTEN:
            messages.warning(request, cancelling.too_often_text(answer))
        elif answer.outcome is CancelOutcome.RECORD_LOST:
            messages.warning(request, str(RECORD_LOST))
    return redirect(order)


def orders_of(request: HttpRequest) -> QuerySet[Order]:
    """The signed-in buyer's orders, newest first, with their lines."""
    return with_all_shown(Order.objects.filter(buyer_id=request.user.pk))


def with_all_shown(orders: QuerySet[Order]) -> QuerySet[Order]:
    """The orders with all that an order's page shows, in a constant number of queries."""
    return with_pictures(orders).select_related("shipping_address").prefetch_related("payments", "refunds")


def with_pictures(orders: QuerySet[Order]) -> QuerySet[Order]:
    """The orders with all that a list shows of them."""
    return orders.prefetch_related(with_lines(), "lines__variant__product__pictures")
