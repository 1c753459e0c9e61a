"""`GET /api/v1/me/`: the personal parts of a public page, in one call."""

from typing import Any, cast

from django.middleware.csrf import get_token
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders.cart.cart_contents import units_in_cart
from orders.models import Order, OrderStatus
from orders.problem_codes import refusals
from seckill import ledger
from seckill.models import published_items
from seckill.store.client import StoreUnreachable
from shop.http.problem_codes import TOKEN_REFUSALS
from shop.languages.buyer_language import stored_language
from shop.times.timestamps import rfc3339, to_ms

# A page only says that orders await payment; the list of orders shows all of them.
HOLDS_MAX = 20


class HoldSerializer(serializers.Serializer[Any]):
    order = serializers.UUIDField()
    reservation = serializers.UUIDField(allow_null=True)
    item = serializers.IntegerField(allow_null=True, help_text="The sale item.")
    units = serializers.IntegerField()
    expires_at = serializers.DateTimeField()


class ItemUnitsSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    units = serializers.IntegerField(help_text="What the buyer has of the item, held and bought.")


class MeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    language = serializers.CharField(allow_null=True, help_text="Of mails to the buyer; null if not known yet.")
    holds = HoldSerializer(many=True, help_text="Orders that await payment, the first to expire first; at most 20.")
    cart_units = serializers.IntegerField(help_text="Units in the cart.")
    items = ItemUnitsSerializer(
        many=True, required=False, help_text="Of the sale asked for; not there while the store does not answer."
    )


class MeView(APIView):
    """The signed-in buyer, and what they hold. A web page asks only if somebody seems to be signed in."""

    @extend_schema(
        parameters=[OpenApiParameter("sale", int, description="Also what the buyer has of each item of this sale.")],
        responses={200: MeSerializer, **refusals("invalid", *TOKEN_REFUSALS)},
    )
    def get(self, request: Request) -> Response:
        buyer_id = cast(int, request.user.pk)
        body = {
            "name": request.user.get_username(),
            "language": stored_language(user_id=buyer_id),
            "holds": open_holds(buyer_id),
            "cart_units": units_in_cart(buyer_id),
        }
        sale_id = sale_asked_for(request)
        if sale_id is not None and (items := units_of(buyer_id, sale_id)) is not None:
            body["items"] = items
        if request.auth is None:
            # A public page has no token for the calls that its scripts make with the session.
            get_token(request._request)
        return Response(body, headers={"Cache-Control": "no-store"})


def sale_asked_for(request: Request) -> int | None:
    """The sale's id in the query; None if there is none. Raises ValidationError if it is not an id."""
    given = request.query_params.getlist("sale")
    if not given:
        return None
    if len(given) > 1 or not (given[0].isascii() and given[0].isdigit() and len(given[0]) < 19):
        raise ValidationError({"sale": _("A whole number is needed.")})
    return int(given[0])


def open_holds(buyer_id: int) -> list[dict[str, Any]]:
    orders = Order.objects.filter(
        buyer_id=buyer_id, status=OrderStatus.AWAITING_PAYMENT, expires_at__gt=timezone.now()
    ).order_by("expires_at", "pk")
    return [
        {
            "order": str(order.number),
            "reservation": str(order.reservation_id) if order.reservation_id else None,
            "item": line.sale_item_id,
            "units": line.units,
            "expires_at": rfc3339(to_ms(order.expires_at)),
        }
        for order in orders.prefetch_related("lines")[:HOLDS_MAX]
        for line in order.lines.all()
    ]


def units_of(buyer_id: int, sale_id: int) -> list[dict[str, int]] | None:
    """How many units of each item of the sale the buyer has; None if the reservation store does not answer."""
    item_ids = list(published_items().filter(sale_id=sale_id).order_by("pk").values_list("pk", flat=True))
    try:
        units = ledger.units_of_buyer(item_ids=item_ids, buyer_id=buyer_id) if item_ids else {}
    except StoreUnreachable:
        return None
    return [{"id": item_id, "units": had} for item_id, had in units.items()]
