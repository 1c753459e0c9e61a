"""`GET …/live/` for an item and for all items of a sale. The gate (web/reservations/) answers most of these calls."""

import time
from contextlib import suppress
from functools import lru_cache
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.cache import get_conditional_response
from django.utils.decorators import method_decorator
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from seckill import ledger
from seckill.api.problem_codes import refusals
from seckill.api.serializers import LiveSerializer, SaleLiveSerializer
from seckill.items import archive
from seckill.live.answer import live_body, live_etag, may_have_given_back, sale_live_body, with_units_offered
from seckill.live.opening import waiting_pages
from seckill.models import SaleItem, published_items, published_sales
from seckill.store.client import StoreUnreachable
from shop.http.compression import uncompressed
from shop.times.timestamps import now_ms

# How long a process remembers that an item is published.
PUBLISHED_REMEMBERED_SECONDS = 10.0

IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match", location="header", description="The ETag of the last answer: 304 if no figure has changed since."
)
UNCHANGED_OR_MISSING = {304: OpenApiResponse(description="No figure has changed."), **refusals("not_found")}


@method_decorator(uncompressed, name="dispatch")
class LiveView(APIView):
    """An item's current figures, from the reservation store; those of an archived sale are final. Public.

    404 for an item that is not published.
    """

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(parameters=[IF_NONE_MATCH], responses={200: LiveSerializer, **UNCHANGED_OR_MISSING})
    def get(self, request: Request, item_id: int) -> HttpResponse:
        try:
            counters = ledger.read(item_id=item_id) or archive.find_archived(item_id=item_id)
        except StoreUnreachable:
            counters = None
        else:
            # PostgreSQL is asked only where the store does not have the item, or it is not verified.
            if counters is None:
                require_published(item_id)
            elif may_have_given_back(counters):
                counters = with_units_offered(counters, offered_in(item_id))
        return unless_known(request, live_body(counters, now_ms=now_ms()))


@method_decorator(uncompressed, name="dispatch")
class SaleLiveView(APIView):
    """The current figures of all items of a sale, for a page that shows them together. Public.

    404 for a sale that is not published.
    """

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(parameters=[IF_NONE_MATCH], responses={200: SaleLiveSerializer, **UNCHANGED_OR_MISSING})
    def get(self, request: Request, sale_id: int) -> HttpResponse:
        sale = get_object_or_404(published_sales().prefetch_related("items__sale"), pk=sale_id)
        items = sorted(sale.items.all(), key=lambda item: item.pk)
        counters: dict[int, ledger.Counters | None] = {}
        with suppress(StoreUnreachable):
            counters = archive.counters_of(items)
        waiting_pages.count(sale_id)
        body = sale_live_body(
            [(item.pk, with_units_offered(counters.get(item.pk), item.offered)) for item in items],
            now_ms=now_ms(),
            opening_spread_ms=waiting_pages.opening_spread_ms(sale_id),
        )
        return unless_known(request, body)


def unless_known(request: Request, body: dict[str, Any]) -> HttpResponse:
    """200 with the body, or 304 if the client has these figures.

    `no-store`: a browser's cache would give pages an old `server_time`. Clients keep the ETag for a 304 themselves.
    """
    etag = live_etag(body)
    response: HttpResponse = Response(body, headers={"ETag": etag, "Cache-Control": "no-store"})
    return get_conditional_response(request._request, etag=etag, response=response) or response


def offered_in(item_id: int) -> int | None:
    """How many units the item's sale had; None if PostgreSQL does not answer."""
    with suppress(OperationalError, InterfaceError):
        return find_offered(item_id, period=int(time.monotonic() // PUBLISHED_REMEMBERED_SECONDS))
    return None


@lru_cache(maxsize=1000)
def find_offered(item_id: int, *, period: int) -> int | None:
    """Remembered for a `period`. None for an unlimited item."""
    item = SaleItem.objects.filter(pk=item_id).first()
    return item.offered if item else None


def require_published(item_id: int) -> None:
    """Raises Http404 if PostgreSQL has no such item in a published sale; not if PostgreSQL does not answer."""
    with suppress(OperationalError, InterfaceError):
        find_published(item_id, period=int(time.monotonic() // PUBLISHED_REMEMBERED_SECONDS))


@lru_cache(maxsize=1000)
def find_published(item_id: int, *, period: int) -> None:
    """Raises Http404. Remembered for a `period`: while a store is lost, each open page asks once a second."""
    if not published_items().filter(pk=item_id).exists():
        raise Http404
