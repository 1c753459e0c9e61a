"""What became of a reservation, and the buyer's orders. For the owner only: anybody else hears 404."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.generics import ListAPIView, RetrieveAPIView
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders.models import Order, OrderStatus
from orders.serializers import RESERVED, OrderSerializer, ReservationStatusSerializer
from seckill import ledger
from seckill.api import refusal
from seckill.moments import rfc3339
from seckill.outcomes import Outcome
from seckill.passes import item_id_of
from shop.serializers import ProblemSerializer

# While the order is being written, and then while it waits for money.
POLL_RESERVED_MS = 500
POLL_AWAITING_MS = 3_000


class ReservationStatusView(APIView):
    """Where a reservation stands: from PostgreSQL once the order is written, from the reservation store before that."""

    @extend_schema(
        responses={
            200: ReservationStatusSerializer,
            **dict.fromkeys((401, 404, 503), OpenApiResponse(ProblemSerializer, "A problem document.")),
        }
    )
    def get(self, request: Request, reservation_id: UUID) -> HttpResponse:
        order = orders_of(request).filter(reservation_id=reservation_id).first()
        try:
            body = status_of(order) if order else status_of_hold(request, reservation_id)
        except ledger.StoreUnreachable:
            return refusal(Outcome.UNAVAILABLE)
        return Response(body, headers={"Cache-Control": "no-store"})


def status_of(order: Order) -> dict[str, Any]:
    awaiting = order.status == OrderStatus.AWAITING_PAYMENT
    return {
        "status": order.status,
        "units": sum(line.units for line in order.lines.all()),
        "expires_at": rfc3339(order.expires_at.timestamp() * 1000),
        "order": str(order.number),
        "poll_after_ms": POLL_AWAITING_MS if awaiting else None,
    }


def status_of_hold(request: Request, reservation_id: UUID) -> dict[str, Any]:
    """The hold whose order is not written yet. One that ended without an order was rejected at intake."""
    hold = ledger.find_hold(item_id=item_id_of(reservation_id), reservation_id=reservation_id)
    if hold is None or hold.buyer_id != request.user.pk:
        raise Http404
    ended = hold.state == "ended"
    return {
        "status": OrderStatus.REJECTED.value if ended else RESERVED,
        "units": hold.units,
        "expires_at": rfc3339(hold.deadline_ms),
        "order": None,
        "poll_after_ms": None if ended else POLL_RESERVED_MS,
    }


class OrderPages(CursorPagination):
    page_size = 20
    ordering = ("-created_at", "-id")


class OrderListView(ListAPIView[Order]):
    """The buyer's orders, newest first, in cursor pages."""

    serializer_class = OrderSerializer
    pagination_class = OrderPages
    queryset = Order.objects.none()

    def get_queryset(self) -> QuerySet[Order]:
        return orders_of(self.request)


class OrderView(RetrieveAPIView[Order]):
    """One of the buyer's orders."""

    serializer_class = OrderSerializer
    lookup_field = "number"
    queryset = Order.objects.none()

    def get_queryset(self) -> QuerySet[Order]:
        return orders_of(self.request)


def orders_of(request: Request) -> QuerySet[Order]:
    return Order.objects.filter(buyer_id=request.user.pk).prefetch_related("lines__product")
