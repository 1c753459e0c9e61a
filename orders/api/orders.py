"""The status of a reservation, and the buyer's orders. For the owner only: anybody else gets 404."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import cache_control
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.generics import ListAPIView, RetrieveAPIView
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders import idempotent_calls
from orders.api.reservation_status import find_status
from orders.api.serializers import (
    RESERVED,
    WAITING,
    OrderSerializer,
    PaymentSerializer,
    PayRequestSerializer,
    ReservationStatusSerializer,
)
from orders.idempotent_calls import IDEMPOTENCY_KEY, KEY_REFUSALS, REPLAYED_HEADER, CallState, KeyedCall
from orders.life import cancelling
from orders.life.cancelling import CancelAnswer, CancelOutcome
from orders.models import Order, OrderStatus, Payment, with_lines
from orders.payments import sessions
from orders.payments.provider.interface import RETRY_SECONDS, ProviderUnreachable
from orders.payments.sessions import StartOutcome
from orders.problem_codes import refusals
from orders.shipping.address_texts import address_needed_text, address_taken_text
from orders.shipping.delivery_choice import attach_default, must_choose
from seckill.api.line_views import join_refusal
from seckill.api.views import refusal
from seckill.ledger_words import Departed, Joined
from seckill.line.line_ledger import JoinAnswer, leave_line
from seckill.passes.passes import item_id_of
from seckill.reservation import unavailable
from seckill.store.client import StoreUnreachable
from shop.http.base_view import JsonAPIView
from shop.http.compression import uncompressed
from shop.http.list_pages import FeedPages, FeedParameters
from shop.http.problem_codes import BODY_REFUSALS, TOKEN_REFUSALS
from shop.http.problems import problem
from shop.http.serializers import StrictSerializer
from shop.languages.buyer_language import remember_language
from shop.templatetags.amounts import money
from shop.times.timestamps import rfc3339, to_ms

never_stored = cache_control(no_store=True)

RECORD_LOST = gettext_lazy(
    "You may have paid for this order already, so we do not charge you again. "
    "The shop will check it; please contact us."
)


@method_decorator(uncompressed, name="dispatch")
class ReservationStatusView(APIView):
    """A reservation's status: from PostgreSQL once its order is created, from the reservation store before that.

    In a waiting list it says the place.
    """

    # Ordinary calls do not come here: web/reservations/hot_lane.py answers them, by the same function.
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
            return refusal(unavailable())
        if body is None:
            raise Http404
        return Response(body, headers={"Cache-Control": "no-store"})

    @extend_schema(
        request=None,
        responses={
            204: OpenApiResponse(description="The place is given up."),
            **refusals(
                *TOKEN_REFUSALS,
                *("csrf_failed", "not_found", "already_reserved", "not_awaiting_payment", "unavailable"),
            ),
        },
    )
    def delete(self, request: Request, reservation_id: UUID) -> HttpResponse:
        """Give up a place in a waiting list. Units that are held already are given up by cancelling their order."""
        buyer_id = cast(int, request.user.pk)
        try:
            left = leave_line(item_id=item_id_of(reservation_id), reservation_id=reservation_id, buyer_id=buyer_id)
            if left is Departed.LEFT_LINE:
                return Response(status=204, headers={"Cache-Control": "no-store"})
            found = find_status(buyer_id=buyer_id, reservation_id=reservation_id)
        except StoreUnreachable:
            return refusal(unavailable())
        if found is None:
            raise Http404
        if found["status"] in (RESERVED, WAITING, OrderStatus.AWAITING_PAYMENT):
            return join_refusal(JoinAnswer(Joined.ALREADY_RESERVED))
        return not_payable(StartOutcome.NOT_AWAITING_PAYMENT, Order(status=found["status"]))


class OrderPages(FeedPages):
    ordering = ("-created_at", "-id")


@method_decorator(never_stored, name="dispatch")
class OrderListView(ListAPIView[Order]):
    """The buyer's orders, newest first, paginated by cursor."""

    serializer_class = OrderSerializer
    pagination_class = OrderPages
    queryset = Order.objects.none()

    def get_queryset(self) -> QuerySet[Order]:
        return orders_of(self.request)

    @extend_schema(
        parameters=[FeedParameters],
        responses={200: OrderSerializer(many=True), **refusals(*TOKEN_REFUSALS, "invalid", "not_found")},
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        FeedParameters.of(request)
        return super().get(request, *args, **kwargs)


@method_decorator(never_stored, name="dispatch")
@extend_schema(responses={200: OrderSerializer, **refusals(*TOKEN_REFUSALS, "not_found")})
class OrderView(RetrieveAPIView[Order]):
    """One of the buyer's orders.

    An order of a flash sale that is read for the first time has the default address of the address book, and the first
    way of sending there, whose price is added. Both can be changed before it is paid.
    """

    serializer_class = OrderSerializer
    lookup_field = "number"
    queryset = Order.objects.none()

    def get_queryset(self) -> QuerySet[Order]:
        return orders_of(self.request)

    def get_object(self) -> Order:
        order = super().get_object()
        return super().get_object() if attach_default(order) else order


class PayView(JsonAPIView):
    """Open a payment page for an order. While one is open, every call returns that page, whatever its key.

    Once the order is paid with a provider, every call returns that payment, and nothing more is charged. A repeated
    call gets the payment as it stands now, since its first answer may name a page that has been closed.

    An order of a flash sale that was not read before gets its buyer's default address, as when it is read. Where that
    adds the price of a delivery, or the amount is not `expected_total`, no page is opened: `price_changed`.
    """

    @extend_schema(
        parameters=[IDEMPOTENCY_KEY],
        request=PayRequestSerializer,
        responses={
            200: PaymentSerializer,
            201: PaymentSerializer,
            **refusals(
                *TOKEN_REFUSALS,
                *("csrf_failed", "not_found", *KEY_REFUSALS, *BODY_REFUSALS),
                *("not_awaiting_payment", "time_over", "price_changed", "no_provider"),
                *("record_lost", "provider_unreachable", "delivery_missing"),
                *("address_needed", "address_taken"),
            ),
        },
    )
    def post(self, request: Request, number: UUID) -> HttpResponse:
        order = get_object_or_404(orders_of(request), number=number)
        key = idempotent_calls.key_of(request)
        if key is None:
            return idempotent_calls.key_missing()
        body = PayRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        remember_language(request)
        call = call_of(request, order, key, fingerprint=idempotent_calls.fingerprint_of(request))
        begun = idempotent_calls.begin(call)
        if begun.state in (CallState.RUNNING, CallState.OTHER_PAYLOAD):
            return idempotent_calls.key_refused(begun.state)
        # A repeated call is answered anew.
        return answer_once(call, lambda: self.pay(request, order, key, asked=body.validated_data), keeps_body=False)

    def pay(self, request: Request, order: Order, key: str, *, asked: dict[str, Any]) -> HttpResponse:
        provider_name = asked.get("provider")
        seen_amount = Decimal(seen) if (seen := asked.get("expected_total")) else None
        if attach_default(order):
            order = orders_of(request).get(pk=order.pk)
            if order.shipping_minor and seen_amount is None:
                return not_payable(StartOutcome.PRICE_CHANGED, order)
        if must_choose(order):
            return problem(
                status=409,
                code="delivery_missing",
                title=_("The delivery is not chosen"),
                detail=_("Say first where and how the order is sent. The price of delivery is added to the order."),
            )
        try:
            start = sessions.start(
                order_id=order.pk, idempotency_key=key, provider_name=provider_name, seen_amount=seen_amount
            )
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
            response[REPLAYED_HEADER] = "true"
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
                *("csrf_failed", "not_found", *KEY_REFUSALS, *BODY_REFUSALS),
                *("not_awaiting_payment", "cancelled_too_often", "record_lost"),
            ),
        },
    )
    def post(self, request: Request, number: UUID) -> HttpResponse:
        order = get_object_or_404(orders_of(request), number=number)
        key = idempotent_calls.key_of(request)
        if key is None:
            return idempotent_calls.key_missing()
        # Without a field there is nothing to compare.
        StrictSerializer(data=request.data).is_valid(raise_exception=True)
        call = call_of(request, order, key)
        begun = idempotent_calls.begin(call)
        if begun.state is CallState.REPLAYED:
            return Response(begun.answer, headers={"Cache-Control": "no-store", REPLAYED_HEADER: "true"})
        if begun.state is not CallState.NEW:
            return idempotent_calls.key_refused(begun.state)
        return answer_once(call, lambda: self.cancel(request, order), keeps_body=True)

    def cancel(self, request: Request, order: Order) -> HttpResponse:
        answer = cancelling.cancel(order=order, request=request._request)
        if answer.outcome is CancelOutcome.TOO_OFTEN:
            return cancelled_too_often(answer)
        if answer.outcome is CancelOutcome.RECORD_LOST:
            return not_payable(StartOutcome.RECORD_LOST, order)
        order = orders_of(request).get(pk=order.pk)
        if order.status != OrderStatus.CANCELLED:
            return not_payable(StartOutcome.NOT_AWAITING_PAYMENT, order)
        response = Response(OrderSerializer(order).data, headers={"Cache-Control": "no-store"})
        if answer.outcome is not CancelOutcome.CANCELLED:
            response[REPLAYED_HEADER] = "true"
        return response


def call_of(request: Request, order: Order, key: str, *, fingerprint: str = "") -> KeyedCall:
    """The call about this order. The client chooses the key, and may use the same one for two orders."""
    owner = f"buyer:{request.user.pk}:{order.pk}:{request.path.rstrip('/').rpartition('/')[2]}"
    return KeyedCall(owner=owner, key=key, fingerprint=fingerprint)


def answer_once(call: KeyedCall, work: Callable[[], HttpResponse], *, keeps_body: bool) -> HttpResponse:
    """Do the work of a new call, and keep its answer for repeated calls. A refusal is not kept.

    Nor is an answer that changed nothing: an account could fill the table with new keys.
    """
    try:
        response = work()
    except BaseException:
        idempotent_calls.give_up(call)
        raise
    if response.status_code < 300 and REPLAYED_HEADER not in response:
        body = json_of(response) if keeps_body else None
        idempotent_calls.finish(call, status=response.status_code, answer=body)
    else:
        idempotent_calls.give_up(call)
    return response


def json_of(response: HttpResponse) -> Any:
    """The answer in types that a JSON column holds."""
    return json.loads(JSONRenderer().render(response.data)) if isinstance(response, Response) else None


def shown(request: Request, order: Order, payment: Payment) -> dict[str, Any]:
    pending = payment.status == Payment.Status.PENDING
    return {
        "payment": str(payment.pk),
        "status": payment.status,
        "url": request.build_absolute_uri(payment.url) if pending else "",
        "expires_at": rfc3339(to_ms(order.expires_at)),
    }


def not_payable(outcome: StartOutcome, order: Order) -> HttpResponse:
    """The problem that says why the order cannot be paid or cancelled, with its status."""
    if outcome is StartOutcome.RECORD_LOST:
        return problem(status=503, code=outcome.value, title=_("We have to check this order first"), detail=RECORD_LOST)
    if outcome is StartOutcome.NO_PROVIDER:
        title, detail = _("No online payment"), _("This shop does not take online payments.")
    elif outcome is StartOutcome.TIME_OVER:
        title, detail = _("The payment deadline has passed"), _("The units are no longer held for you.")
    elif outcome is StartOutcome.PRICE_CHANGED:
        amount = money(order.amount_minor, order.currency)
        title = _("A price has changed")
        detail = _("The order costs %(amount)s now, delivery included. Nothing was charged.") % {"amount": amount}
    elif outcome is StartOutcome.ADDRESS_NEEDED:
        title, detail = _("The delivery address is missing"), address_needed_text()
    elif outcome is StartOutcome.ADDRESS_TAKEN:
        title, detail = _("Another order goes to this address"), address_taken_text()
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
        retry_after_seconds=RETRY_SECONDS,
    )


def orders_of(request: Request) -> QuerySet[Order]:
    orders = Order.objects.filter(buyer_id=request.user.pk)
    return orders.select_related("shipping_address").prefetch_related(with_lines())
