"""The page where buyers without JavaScript wait until their reservation has become an order, or in a waiting list.

Its address carries the receipt, so the browser keeps it, also in its history. If the shop has lost the reservation, the
page has a button that brings it back; with JavaScript the sale's page does so by itself.
"""

from typing import cast
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from orders.api.lost_reservation import limit_reached, lost_text
from orders.life.payment_deadline import deadline_of_hold
from orders.life.readmission import Readmission, bring_back
from orders.pages.my_orders import orders_of
from seckill.items import holdings
from seckill.ledger_words import Departed
from seckill.line.line_ledger import leave_line
from seckill.line.place_in_line import place_body
from seckill.live.page_texts import refusal_detail
from seckill.models import SaleItem
from seckill.passes import receipts
from seckill.passes.passes import item_id_of
from seckill.passes.receipts import Receipt, ReceiptInvalid
from seckill.store.client import StoreUnreachable
from shop.http import problems
from shop.http.rate_limits import LimitReached, take


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def reservation(request: HttpRequest, reservation_id: UUID) -> HttpResponse:
    """A POST brings the reservation back, or gives a place in line up; then the page shows what has become of it."""
    order = orders_of(request).filter(reservation_id=reservation_id).first()
    if order:
        return redirect(order)
    receipt = receipt_in(request, reservation_id)
    if request.method == "POST" and "leave" not in request.POST:
        return redirect_after(request, receipt)
    item_id, buyer_id = item_id_of(reservation_id), cast(int, request.user.pk)
    try:
        if request.method == "POST":
            return leave_from_page(request, item_id=item_id, reservation_id=reservation_id)
        place = place_body(item_id=item_id, buyer_id=buyer_id, reservation_id=reservation_id)
        # After the place: units that come in between are a hold.
        hold = None if place else holdings.find_promised_hold(item_id=item_id, reservation_id=reservation_id)
    except StoreUnreachable:
        return render(request, "orders/reservation.html", {"hold": None})
    if place:
        item = SaleItem.objects.select_related("sale", "variant__product").get(pk=item_id)
        return render(request, "orders/place.html", {"place": place, "item": item})
    if hold is not None and hold.buyer_id == request.user.pk:
        deadline = deadline_of_hold(item_id=item_id, deadline_ms=hold.deadline_ms)
        return render(request, "orders/reservation.html", {"hold": hold, "deadline": deadline})
    if hold is None and receipt:
        return render(request, "orders/reservation.html", {"is_lost": True, "units": receipt.units})
    raise Http404


def leave_from_page(request: HttpRequest, *, item_id: int, reservation_id: UUID) -> HttpResponse:
    left = leave_line(item_id=item_id, reservation_id=reservation_id, buyer_id=cast(int, request.user.pk))
    if left is not Departed.LEFT_LINE:
        # Units came first, or it was left before: the page says which.
        return redirect("reservation", reservation_id)
    messages.success(request, _("You have left the waiting list."))
    return redirect("reserve", item_id)


def receipt_in(request: HttpRequest, reservation_id: UUID) -> Receipt | None:
    """The receipt in the page's address, if it is this buyer's of this reservation."""
    try:
        receipt = receipts.read(request.GET.get("receipt", "")[: receipts.LENGTH_MAX])
    except ReceiptInvalid:
        return None
    return receipt if (receipt.buyer_id, receipt.reservation_id) == (request.user.pk, reservation_id) else None


def redirect_after(request: HttpRequest, receipt: Receipt | None) -> HttpResponse:
    """Bring the reservation back; the page says why, if that cannot be."""
    if receipt is None:
        raise Http404
    try:
        take(action="receipt", rate=settings.PASS_LIMIT, key=str(receipt.buyer_id))
        why_not = why_not_back(receipt)
    except LimitReached as error:
        return problems.limit_reached(request, error)
    except StoreUnreachable:
        why_not = not_now()
    if why_not:
        messages.error(request, why_not)
    return HttpResponseRedirect(request.get_full_path())


def why_not_back(receipt: Receipt) -> str:
    """Bring the reservation back. Returns why that cannot be; empty if it is there. Raises StoreUnreachable."""
    match bring_back(receipt):
        case Readmission.LOST:
            return lost_text()
        case Readmission.LIMIT_REACHED:
            return refusal_detail(limit_reached(receipt))
        case Readmission.UNAVAILABLE:
            return not_now()
    return ""


def not_now() -> str:
    return _("We cannot look up your reservation right now. Please try again in a moment.")
