"""`GET /api/v1/me/`: the personal parts of a public page, in one call."""

from functools import lru_cache
from typing import Any, cast

from django.conf import settings
from django.middleware.csrf import get_token
from django.utils import timezone
from django.utils.decorators import method_decorator
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders.cart.cart_contents import units_in_cart
from orders.models import OrderLine, OrderStatus
from orders.problem_codes import refusals
from seckill.items import holdings
from seckill.line import line_ledger
from seckill.models import published_items
from seckill.store.client import StoreUnreachable
from shop.accounts.address_book import lacks_address
from shop.databases.prepared import Prepared
from shop.http.compression import uncompressed
from shop.http.problem_codes import TOKEN_REFUSALS
from shop.http.serializers import QueryParameters, TimeField
from shop.languages.buyer_language import stored_language
from shop.times.timestamps import EPOCH, rfc3339, to_ms

# A page only says that orders await payment; the list of orders shows all of them.
HOLDS_MAX = 20


class HoldSerializer(serializers.Serializer[Any]):
    order = serializers.UUIDField()
    reservation = serializers.UUIDField(allow_null=True)
    item = serializers.IntegerField(allow_null=True, help_text="The sale item.")
    units = serializers.IntegerField()
    expires_at = TimeField()


class ItemUnitsSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    units = serializers.IntegerField(help_text="What the buyer has of the item, held and bought.")
    waiting = serializers.UUIDField(
        allow_null=True, required=False, help_text="The buyer's place in the waiting list; only where there is one."
    )


class MeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    language = serializers.CharField(allow_null=True, help_text="Of mails to the buyer; null if not known yet.")
    holds = HoldSerializer(many=True, help_text="Orders that await payment, the first to expire first; at most 20.")
    cart_units = serializers.IntegerField(help_text="Units in the cart.")
    needs_address = serializers.BooleanField(
        help_text="Whether no address is saved, so that the web asks for one before an order of a sale is paid."
    )
    items = ItemUnitsSerializer(
        many=True, required=False, help_text="Of the sale asked for; not there while the store does not answer."
    )


class MeParameters(QueryParameters):
    sale = serializers.IntegerField(
        min_value=0, max_value=10**18, required=False, help_text="Also what the buyer has of each item of this sale."
    )


@method_decorator(uncompressed, name="dispatch")
class MeView(APIView):
    """The signed-in buyer, and what they hold. A web page asks only if somebody seems to be signed in."""

    @extend_schema(
        parameters=[MeParameters],
        responses={200: MeSerializer, **refusals("invalid", *TOKEN_REFUSALS)},
    )
    def get(self, request: Request) -> Response:
        sale_id = MeParameters.of(request).get("sale")
        buyer_id = cast(int, request.user.pk)
        language = stored_language(user_id=buyer_id)
        body = me_body(buyer_id=buyer_id, name=request.user.get_username(), language=language, sale_id=sale_id)
        if request.auth is None and "CSRF_COOKIE" not in request.META:
            # A public page has no token for the calls that its scripts make with the session.
            get_token(request._request)
        return Response(body, headers={"Cache-Control": "no-store"})


def me_body(*, buyer_id: int, name: str, language: str | None, sale_id: int | None) -> dict[str, Any]:
    """In the form of the API. `language` is the stored one. With `sale_id`, also the buyer's units of its items."""
    body: dict[str, Any] = {
        "name": name,
        "language": language if language in dict(settings.LANGUAGES) else None,
        "holds": open_holds(buyer_id),
        "cart_units": units_in_cart(buyer_id),
        "needs_address": lacks_address(buyer_id),
    }
    if sale_id is not None and (items := units_of(buyer_id, sale_id)) is not None:
        body["items"] = items
    return body


def open_holds(buyer_id: int) -> list[dict[str, Any]]:
    """In one query: a buyer has few orders that await payment, since each has a deadline."""
    lines = sorted(prepared_lines().all(buyer_id, OrderStatus.AWAITING_PAYMENT.value, timezone.now()))
    shown = list(dict.fromkeys(line[1] for line in lines))[:HOLDS_MAX]
    return [
        {
            "order": str(number),
            "reservation": str(reservation_id) if reservation_id else None,
            "item": item_id,
            "units": units,
            "expires_at": rfc3339(to_ms(expires_at)),
        }
        for expires_at, order_id, _line_id, number, reservation_id, item_id, units in lines
        if order_id in shown
    ]


@lru_cache(maxsize=1)
def prepared_lines() -> Prepared:
    lines = OrderLine.objects.filter(order__buyer_id=0).filter(order__status="").filter(order__expires_at__gt=EPOCH)
    of_order = ("order__number", "order__reservation_id")
    return Prepared(lines.values_list("order__expires_at", "order_id", "pk", *of_order, "sale_item_id", "units"))


def units_of(buyer_id: int, sale_id: int) -> list[dict[str, Any]] | None:
    """What the buyer has of each item of the sale, and their places in waiting lists; None if the reservation store
    does not answer.
    """
    has_line = dict(prepared_items().all(sale_id))
    item_ids, with_line = sorted(has_line), [item_id for item_id in has_line if has_line[item_id]]
    try:
        units = holdings.units_of_buyer(item_ids=item_ids, buyer_id=buyer_id) if item_ids else {}
        places = line_ledger.places_of(item_ids=with_line, buyer_id=buyer_id) if with_line else {}
    except StoreUnreachable:
        return None
    waiting = {item_id: {"waiting": place and str(place)} for item_id, place in places.items()}
    return [{"id": item_id, "units": had} | waiting.get(item_id, {}) for item_id, had in units.items()]


@lru_cache(maxsize=1)
def prepared_items() -> Prepared:
    return Prepared(published_items().filter(sale_id=0).values_list("pk", "sale__waiting_list"))
