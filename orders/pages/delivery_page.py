"""The page between "pay" and the payment company that asks where the order goes. Works without JavaScript."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from orders.models import Order, OrderStatus
from orders.pages.my_orders import orders_of, start_payment
from orders.shipping.order_address import (
    CHANGEABLE,
    DeliveryForm,
    address_of,
    as_initial,
    likely_address,
    only_country,
    store_address,
)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def address(request: HttpRequest, number: UUID) -> HttpResponse:
    return ask_address(request, get_object_or_404(orders_of(request), number=number))


def ask_address(request: HttpRequest, order: Order) -> HttpResponse:
    """Show the form; a POST stores the address and goes on to the payment, if that is still to come.

    It begins with the order's address, or else with the one of the buyer's last order.
    """
    if order.status not in CHANGEABLE:
        messages.warning(request, _("The address can no longer be changed: the order has been sent, or it has ended."))
        return redirect(order)
    known, country = address_of(order), only_country(order)
    form = DeliveryForm(
        request.POST if request.method == "POST" else None,
        initial=as_initial(known or likely_address(buyer_id=order.buyer_id)),
        countries=frozenset({country}) if country else None,
    )
    if request.method == "POST" and form.is_valid():
        if not store_address(order_id=order.pk, values=form.cleaned_data):
            messages.warning(
                request, _("The address can no longer be changed: the order has been sent, or it has ended.")
            )
        elif order.status == OrderStatus.AWAITING_PAYMENT and "later" not in request.POST:
            return start_payment(request, order)
        else:
            messages.success(request, _("The delivery address is saved."))
        return redirect(order)
    awaiting = order.status == OrderStatus.AWAITING_PAYMENT
    context = {"order": order, "form": form, "awaiting": awaiting, "known": known}
    return render(request, "orders/address.html", context)
