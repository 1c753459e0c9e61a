"""The buyer's own pages: my orders, one order, and the moment between a yes and its order."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from orders.models import Order, OrderStatus
from seckill import ledger
from seckill.moments import moment_from
from seckill.passes import item_id_of

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
    shown = get_object_or_404(orders_of(request), number=number)
    template = "orders/_order.html" if request.htmx else "orders/order.html"  # type: ignore[attr-defined]
    return render(request, template, {"order": shown, "awaiting": shown.status == OrderStatus.AWAITING_PAYMENT})


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
    except ledger.StoreUnreachable:
        return render(request, "orders/reservation.html", {"hold": None})
    if hold is None or hold.buyer_id != request.user.pk:
        raise Http404
    return render(request, "orders/reservation.html", {"hold": hold, "deadline": moment_from(hold.deadline_ms)})


def orders_of(request: HttpRequest) -> QuerySet[Order]:
    """The visitor's own orders, newest first, with what was bought."""
    return Order.objects.filter(buyer_id=request.user.pk).prefetch_related("lines__product")
