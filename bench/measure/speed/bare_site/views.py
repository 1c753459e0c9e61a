"""A plain Django view, a plain DRF view, and two ways to sell with PostgreSQL alone. They have their addresses here."""

import uuid
from typing import Any, cast

from django.db import transaction
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from bench.measure.speed.bare_site.hello import HELLO
from bench.measure.speed.bare_site.models import BareOrder, BareStock


def hello(request: HttpRequest) -> HttpResponse:
    return HttpResponse(HELLO, content_type="text/plain")


class PostView(APIView):
    """Parses JSON and answers JSON. It keeps nothing."""

    def post(self, request: Request) -> Response:
        return accepted(uuid.uuid4(), units=units_in(request))


class RowLockView(APIView):
    """SELECT … FOR UPDATE, check, UPDATE, INSERT, COMMIT: the textbook way."""

    @transaction.atomic
    def post(self, request: Request, stock_id: int) -> Response:
        units = units_in(request)
        stock = BareStock.objects.select_for_update().get(pk=stock_id)
        if stock.left < units:
            return sold_out()
        stock.left -= units
        stock.save(update_fields=["left"])
        return accepted(order_of(stock_id, units=units).reservation_id, units=units)


class ConditionalView(APIView):
    """UPDATE … WHERE left >= units, INSERT, COMMIT: the best that one row can do."""

    @transaction.atomic
    def post(self, request: Request, stock_id: int) -> Response:
        units = units_in(request)
        if not BareStock.objects.filter(pk=stock_id, left__gte=units).update(left=F("left") - units):
            return sold_out()
        return accepted(order_of(stock_id, units=units).reservation_id, units=units)


def units_in(request: Request) -> int:
    body = cast(dict[str, Any], request.data)
    return int(body["units"])


def order_of(stock_id: int, *, units: int) -> BareOrder:
    return BareOrder.objects.create(stock_id=stock_id, units=units)


def accepted(reservation_id: uuid.UUID, *, units: int) -> Response:
    return Response({"id": str(reservation_id), "units": units}, status=201)


def sold_out() -> Response:
    return Response({"code": "sold_out"}, status=410)


urlpatterns = [
    path("hello/", hello),
    path("post/", PostView.as_view()),
    path("row-lock/<int:stock_id>/", RowLockView.as_view()),
    path("conditional/<int:stock_id>/", ConditionalView.as_view()),
]
