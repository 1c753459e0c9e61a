"""The buyer's own pages: my orders, one order, and the moment between a yes and its order."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from orders.models import Attention, Order, OrderStatus, Payment
from orders.payments import provider_names
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
    """Also where buyers come back to from a payment page. That they are back says nothing; the provider's word does."""
    shown = get_object_or_404(orders_of(request).prefetch_related("payments"), number=number)
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "orders/_order.html", state_of(shown))
    remember_language(request)
    return render(request, "orders/order.html", state_of(shown))


def state_of(order: Order) -> dict[str, Any]:
    """What the page of an order says beyond its status: how its payments stand, and what may be done now."""
    payments = list(order.payments.all())
    latest = payments[0] if payments else None
    awaiting = order.status == OrderStatus.AWAITING_PAYMENT
    deciding = order.late_payment_undecided
    return {
        "order": order,
        "awaiting": awaiting,
        "payable": awaiting and bool(provider_names.chosen()),
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
@require_safe
def reservation(request: HttpRequest, reservation_id: UUID) -> HttpResponse:
    """Where a reservation made without JavaScript is followed to its order."""
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
    """The visitor's own orders, newest first, with what was bought."""
    return Order.objects.filter(buyer_id=request.user.pk).prefetch_related("lines__product")
