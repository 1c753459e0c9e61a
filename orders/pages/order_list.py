"""The list of a buyer's orders: those of a state, and what can be done with each from the list."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from orders.cart.api import count_cart_change
from orders.cart.cart_contents import contents_of
from orders.cart.cart_cookie import holder_of, keep_cookies
from orders.cart.cart_holder import open_cart
from orders.cart.cart_lines import AddOutcome, add_units
from orders.cart.pages import why_not_all
from orders.models import ENDED_UNPAID, REFUNDS, Order, OrderStatus
from orders.pages.my_orders import orders_of, with_pictures
from orders.payments.provider.names import chosen_providers
from orders.shipping.carriers import tracking_url
from shop.http.problems import limit_reached
from shop.http.rate_limits import LimitReached

PAGE_SIZE = 20

# The value in the address, its name, and the statuses that it shows.
STATES: dict[str, tuple[Any, tuple[OrderStatus, ...]]] = {
    "to_pay": (_("To pay"), (OrderStatus.AWAITING_PAYMENT,)),
    "on_the_way": (_("On the way"), (OrderStatus.PAID, OrderStatus.SHIPPED)),
    "completed": (_("Received"), (OrderStatus.COMPLETED,)),
    "closed": (_("Closed"), ENDED_UNPAID),
    "refunds": (_("Refunds"), REFUNDS),
}


@dataclass(frozen=True, slots=True)
class Row:
    """An order of the list. `product_path` is where units of a flash sale are bought again, at the price of the day."""

    order: Order
    tracking_url: str
    can_repeat: bool
    product_path: str


@never_cache
@login_required
@require_safe
def orders(request: HttpRequest) -> HttpResponse:
    own = with_pictures(Order.objects.filter(buyer_id=request.user.pk))
    state = request.GET.get("state", "")
    if state in STATES:
        # A part is refunded without another status.
        refunded = Q(refunded_minor__gt=0) if state == "refunds" else Q()
        own = own.filter(Q(status__in=STATES[state][1]) | refunded)
    page = Paginator(own, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "rows": [row_of(order) for order in page],
        "states": [(value, name) for value, (name, _statuses) in STATES.items()],
        "state": state if state in STATES else "",
        "awaiting": any(order.status == OrderStatus.AWAITING_PAYMENT for order in page),
        "payable": bool(chosen_providers()),
    }
    template = "orders/_orders.html" if request.htmx else "orders/orders.html"  # type: ignore[attr-defined]
    return render(request, template, context)


def row_of(order: Order) -> Row:
    sold = [line for line in order.lines.all() if line.variant.is_active and line.product.is_active]
    over = order.status not in (OrderStatus.AWAITING_PAYMENT, OrderStatus.REFUND_DUE)
    return Row(
        order,
        tracking_url=tracking_url(carrier=order.carrier, tracking_number=order.tracking_number),
        can_repeat=bool(sold) and over,
        product_path=sold[0].product.get_absolute_url() if sold and order.reservation_id else "",
    )


@never_cache
@login_required
@require_POST
def again(request: HttpRequest, number: UUID) -> HttpResponse:
    """Put what an order had, as far as it is still sold, into the cart, which shows today's prices and stock."""
    order = get_object_or_404(orders_of(request), number=number)
    try:
        count_cart_change(request)
    except LimitReached as error:
        return limit_reached(request, error)
    with transaction.atomic():
        cart = open_cart(holder_of(request))
        outcomes = [
            (add_units(cart=cart, variant=line.variant, units=line.units), line.variant) for line in order.lines.all()
        ]
    lacking = [why_not_all(outcome, variant) for outcome, variant in outcomes if outcome is not AddOutcome.ADDED]
    for text in dict.fromkeys(lacking):
        messages.warning(request, text)
    response = redirect("cart")
    keep_cookies(response, request, cart=cart, units=contents_of(cart).units)
    return response
