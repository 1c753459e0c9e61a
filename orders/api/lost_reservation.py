"""`POST /api/v1/receipts/`: a buyer brings back a reservation that the shop has lost."""

from typing import cast

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api.reservation_status import find_status
from orders.api.serializers import ReservationStatusSerializer
from orders.life.readmission import Readmission, bring_back
from orders.problem_codes import refusals
from seckill import ledger
from seckill.api.views import refusal
from seckill.items import holdings
from seckill.models import SaleItem
from seckill.outcomes import Outcome
from seckill.passes import receipts
from seckill.passes.receipts import Receipt, ReceiptInvalid
from seckill.reservation import unavailable
from seckill.store.client import StoreUnreachable
from shop.http.base_view import JsonAPIView
from shop.http.compression import uncompressed
from shop.http.problem_codes import BODY_REFUSALS, TOKEN_REFUSALS
from shop.http.problems import problem
from shop.http.rate_limits import take
from shop.http.serializers import StrictSerializer, StringField
from shop.times.timestamps import now_ms


class ReceiptSerializer(StrictSerializer):
    receipt = StringField(max_length=receipts.LENGTH_MAX, help_text="As it was in the answer to the reservation.")


@method_decorator(uncompressed, name="dispatch")
class ReceiptView(JsonAPIView):
    """Bring back a reservation whose status is 404, by the receipt that came with it. Repeating the call is safe.

    The reservation store can lose what it has not handed on yet, for example with its disk. Then 201: the units are
    held again, as long as there are some, for the same buyer at the same price. 200 if the reservation was not lost,
    with its status, which may be that of an order that has ended: a receipt does not revive what has ended.
    """

    @extend_schema(
        request=ReceiptSerializer,
        responses={
            200: ReservationStatusSerializer,
            201: ReservationStatusSerializer,
            **refusals(
                *(*TOKEN_REFUSALS, *BODY_REFUSALS, "csrf_failed", "too_many_attempts"),
                *("receipt_invalid", "receipt_of_another_buyer", "reservation_lost", "limit_reached", "unavailable"),
            ),
        },
    )
    def post(self, request: Request) -> HttpResponse:
        body = ReceiptSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        buyer_id = cast(int, request.user.pk)
        take(action="receipt", rate=settings.PASS_LIMIT, key=str(buyer_id))
        try:
            receipt = receipts.read(body.validated_data["receipt"])
        except ReceiptInvalid:
            return problem(
                status=400,
                code="receipt_invalid",
                title=_("The receipt is not valid"),
                detail=_("This shop did not issue this receipt, or it was altered."),
            )
        if receipt.buyer_id != buyer_id:
            return problem(
                status=403,
                code="receipt_of_another_buyer",
                title=_("The receipt belongs to another buyer"),
                detail=_("Sign in as the buyer who reserved."),
            )
        try:
            return answer_to(receipt)
        except StoreUnreachable:
            return refusal(unavailable())


def answer_to(receipt: Receipt) -> HttpResponse:
    """Raises StoreUnreachable."""
    result = bring_back(receipt)
    if result is Readmission.LOST:
        title = _("We have lost your reservation")
        return problem(status=409, code="reservation_lost", title=title, detail=lost_text())
    if result is Readmission.LIMIT_REACHED:
        return refusal(limit_reached(receipt))
    status = None
    if result is not Readmission.UNAVAILABLE:
        status = find_status(buyer_id=receipt.buyer_id, reservation_id=receipt.reservation_id)
    if status is None:
        # Another fault has taken it in the meantime, or the item is being compared with its orders.
        return refusal(unavailable())
    headers = {"Cache-Control": "no-store"}
    if result is Readmission.KNOWN:
        return Response(status, headers=headers)
    headers["Location"] = reverse("api-reservation", args=[receipt.reservation_id])
    return Response(status, status=201, headers=headers)


def limit_reached(receipt: Receipt) -> ledger.Reservation:
    """What the script would answer to a new reservation of as many units."""
    had = holdings.units_of_buyer(item_ids=[receipt.item_id], buyer_id=receipt.buyer_id).get(receipt.item_id, 0)
    per_buyer_max = SaleItem.objects.values_list("per_buyer_max", flat=True).get(pk=receipt.item_id)
    remaining = max(per_buyer_max - had, 0)
    return ledger.Reservation(Outcome.LIMIT_REACHED, now_ms=now_ms(), remaining=remaining, per_buyer_max=per_buyer_max)


def lost_text() -> str:
    """For a buyer whose yes the shop cannot keep."""
    return _(
        "A server of the shop failed after it had confirmed your reservation, and its units have gone since. "
        "We are sorry. Nothing was charged, and the shop has noted it."
    )
