"""The status of a reservation, and the buyer's orders. For the owner only: anybody else gets 404."""

from typing import Any, cast
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.generics import ListAPIView, RetrieveAPIView
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders import cancelling
from orders.cancelling import CancelAnswer, CancelOutcome
from orders.models import Order, OrderStatus, Payment, with_lines
from orders.payments import sessions
from orders.payments.provider.interface import ProviderUnreachable
from orders.payments.sessions import StartOutcome
from orders.reservation_status import find_status
from orders.serializers import (
    OrderSerializer,
    PaymentSerializer,
    PayRequestSerializer,
    ReservationStatusSerializer,
)
from seckill import ledger
from seckill.api import refusal
from seckill.outcomes import Outcome
from seckill.store import StoreUnreachable
from seckill.timestamps import now_ms, rfc3339
from shop.buyer_language import remember_language
from shop.http.base_view import JsonAPIView
from shop.http.openapi import TOKEN_REFUSALS, refusals
from shop.http.problems import problem

# When to try again if the payment provider did not answer.
PROVIDER_RETRY_SECONDS = 5
# The length of Payment.idempotency_key.
KEY_LENGTH_MAX = 255

RECORD_LOST = gettext_lazy(
    "You may have paid for this order already, so we do not charge you again. "
    "The shop will check it; please contact us."
)

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    required=True,
    description="Chosen by the client: a new one for each operation, the same one when it repeats a call.",
)


class ReservationStatusView(APIView):
    """A reservation's status: from PostgreSQL once its order is created, from the reservation store before that."""

    # Ordinary calls do not come here: seckill/gate/hot_lane.py answers them, by the same function.
    @extend_schema(
        responses={
            200: ReservationStatusSerializer,
            **refusals(*TOKEN_REFUSALS, "not_found", "unavailable"),
        }
    )
    def get(self, request: Request, reservation_id: UUID) -> HttpResponse:
        try:
            body = find_status(buyer_id=cast(int, request.user.pk), reservation_id=reservation_id)
        except StoreUnreachable:
            return refusal(ledger.Reservation(Outcome.UNAVAILABLE, now_ms=now_ms()))
        if body is None:
            raise Http404
        return Response(body, headers={"Cache-Control": "no-store"})


class OrderPages(CursorPagination):
    page_size = 20
    ordering = ("-created_at", "-id")


@extend_schema(responses={200: OrderSerializer(many=True), **refusals(*TOKEN_REFUSALS, "not_found")})
class OrderListView(ListAPIView[Order]):
    """The buyer's orders, newest first, paginated by cursor."""

    serializer_class = OrderSerializer
    pagination_class = OrderPages
    queryset = Order.objects.none()

    def get_queryset(self) -> QuerySet[Order]:
        return orders_of(self.request)


@extend_schema(responses={200: OrderSerializer, **refusals(*TOKEN_REFUSALS, "not_found")})
class OrderView(RetrieveAPIView[Order]):
    """One of the buyer's orders."""

    serializer_class = OrderSerializer
    lookup_field = "number"
    queryset = Order.objects.none()

    def get_queryset(self) -> QuerySet[Order]:
        return orders_of(self.request)


class PayView(JsonAPIView):
    """Open a payment page for an order. While one is open, every call returns that page, whatever its key."""

    @extend_schema(
        parameters=[IDEMPOTENCY_KEY],
        request=PayRequestSerializer,
        responses={
            200: PaymentSerializer,
            201: PaymentSerializer,
            **refusals(
                *TOKEN_REFUSALS,
                *("csrf_failed", "not_found", "idempotency_key_missing", "invalid", "parse_error", "body_too_large"),
                *("unsupported_media_type", "not_awaiting_payment", "time_over", "no_provider"),
                *("record_lost", "provider_unreachable"),
            ),
        },
    )
    def post(self, request: Request, number: UUID) -> HttpResponse:
        order = get_object_or_404(orders_of(request), number=number)
        key = idempotency_key(request)
        if key is None:
            return key_missing()
        body = PayRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        provider_name = body.validated_data.get("provider")
        remember_language(request)
        try:
            start = sessions.start(order_id=order.pk, idempotency_key=key, provider_name=provider_name)
        except ProviderUnreachable:
            return provider_away()
        if start.outcome is StartOutcome.NO_PROVIDER and provider_name:
            raise ValidationError({"provider": _("This shop does not offer this payment provider.")})
        if start.payment is None:
            return not_payable(start.outcome, order)
        opened = start.outcome is StartOutcome.OPENED
        response = Response(shown(request, order, start.payment), status=201 if opened else 200)
        response["Cache-Control"] = "no-store"
        if not opened:
            response["Idempotent-Replayed"] = "true"
        return response


class CancelView(JsonAPIView):
    """Cancel an unpaid order; its units go back on sale. Cancelling a cancelled order succeeds and changes nothing."""

    @extend_schema(
        parameters=[IDEMPOTENCY_KEY],
        request=None,
        responses={
            200: OrderSerializer,
            **refusals(
                *TOKEN_REFUSALS,
                *("csrf_failed", "not_found", "idempotency_key_missing", "not_awaiting_payment", "cancelled_too_often"),
            ),
        },
    )
    def post(self, request: Request, number: UUID) -> HttpResponse:
        order = get_object_or_404(orders_of(request), number=number)
        if idempotency_key(request) is None:
            return key_missing()
        answer = cancelling.cancel(order=order)
        if answer.outcome is CancelOutcome.TOO_OFTEN:
            return cancelled_too_often(answer)
        order = orders_of(request).get(pk=order.pk)
        if order.status != OrderStatus.CANCELLED:
            return not_payable(StartOutcome.NOT_AWAITING_PAYMENT, order)
        return Response(OrderSerializer(order).data, headers={"Cache-Control": "no-store"})


def shown(request: Request, order: Order, payment: Payment) -> dict[str, Any]:
    pending = payment.status == Payment.Status.PENDING
    return {
        "payment": str(payment.pk),
        "status": payment.status,
        "url": request.build_absolute_uri(payment.url) if pending else "",
        "expires_at": rfc3339(order.expires_at.timestamp() * 1000),
    }


def idempotency_key(request: Request) -> str | None:
    """The Idempotency-Key header; None if it is missing or not valid."""
    key = request.headers.get("Idempotency-Key", "").strip()
    return key if 0 < len(key) <= KEY_LENGTH_MAX and key.isprintable() else None


def key_missing() -> HttpResponse:
    return problem(
        status=400,
        code="idempotency_key_missing",
        title=_("The Idempotency-Key is missing"),
        detail=_("Send an Idempotency-Key header of 1 to 255 characters. Use the same key when you repeat the call."),
    )


def not_payable(outcome: StartOutcome, order: Order) -> HttpResponse:
    """The problem that says why the order cannot be paid or cancelled, with its status."""
    if outcome is StartOutcome.RECORD_LOST:
        return problem(status=503, code=outcome.value, title=_("We have to check this order first"), detail=RECORD_LOST)
    if outcome is StartOutcome.NO_PROVIDER:
        title, detail = _("No online payment"), _("This shop does not take online payments.")
    elif outcome is StartOutcome.TIME_OVER:
        title, detail = _("The payment deadline has passed"), _("The units go back on sale.")
    else:
        title, detail = _("Not awaiting payment"), _("The order is already paid, or it has ended.")
    return problem(status=409, code=outcome.value, title=title, detail=detail, order_status=order.status)


def cancelled_too_often(answer: CancelAnswer) -> HttpResponse:
    return problem(
        status=429,
        code=answer.outcome.value,
        title=_("Too many cancellations"),
        detail=cancelling.too_often_text(answer),
        retry_after_seconds=answer.retry_after_seconds,
    )


def provider_away() -> HttpResponse:
    return problem(
        status=503,
        code="provider_unreachable",
        title=_("The payment provider does not answer"),
        detail=_("Nothing was charged, and your units are still held. Please try again in a moment."),
        retry_after_seconds=PROVIDER_RETRY_SECONDS,
    )


def orders_of(request: Request) -> QuerySet[Order]:
    orders = Order.objects.filter(buyer_id=request.user.pk)
    return orders.select_related("shipping_address").prefetch_related(with_lines())
