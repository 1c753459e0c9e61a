"""`/api/v1/cart/`: the cart of the signed-in buyer, or of a guest by the header Cart-Token."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from orders.cart.cart_contents import contents_of, mark_prices_seen
from orders.cart.cart_holder import Holder, carts_to_read, open_cart, uuid_in
from orders.cart.cart_lines import UNITS_MAX, replace_lines
from orders.cart.serializers import CartSerializer, WantedCartSerializer, shown_cart
from orders.models import Cart
from orders.problem_codes import refusals
from shop.http.base_view import JsonAPIView
from shop.http.client_address import client_network
from shop.http.problem_codes import BODY_REFUSALS
from shop.http.rate_limits import take
from shop.models import Variant

TOKEN_HEADER = "Cart-Token"

CART_TOKEN = OpenApiParameter(
    TOKEN_HEADER, str, OpenApiParameter.HEADER, description="Of a guest's cart, as an earlier answer gave it."
)


class CartView(JsonAPIView):
    """The cart of the buyer or guest, with current prices and the changes since it was last read."""

    permission_classes = (AllowAny,)

    @extend_schema(
        parameters=[CART_TOKEN],
        responses={200: CartSerializer, **refusals("authentication_failed", "not_acceptable")},
    )
    def get(self, request: Request) -> Response:
        """Read the cart. It holds no units; only the checkout does. Each change is reported once.

        With the tokens of an account and of a guest's cart the answer has the lines of both. They become one cart with
        the next PUT or checkout; reading changes neither.
        """
        holder = holder_of(request)
        return answer(holder, carts_to_read(holder))

    @extend_schema(
        parameters=[CART_TOKEN],
        request=WantedCartSerializer,
        responses={
            200: CartSerializer,
            **refusals(
                *BODY_REFUSALS,
                *("authentication_failed", "csrf_failed", "too_many_attempts"),
            ),
        },
    )
    def put(self, request: Request) -> Response:
        """Replace all lines of the cart. A guest's first call gives the token that the next ones send."""
        count_cart_change(request._request)
        body = WantedCartSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        with transaction.atomic():
            holder = holder_of(request)
            cart = open_cart(holder)
            replace_lines(cart=cart, units_of=variants_of(body.validated_data["lines"], cart=cart))
        return answer(holder, [cart])


def count_cart_change(request: HttpRequest) -> None:
    """Bounds how often people and programs change carts from one client address. Raises LimitReached."""
    take(action="cart", rate=settings.CART_LIMIT, key=client_network(request))


def holder_of(request: Request) -> Holder:
    return Holder(buyer_id=request.user.pk, token=uuid_in(request.headers.get(TOKEN_HEADER, "")))


def variants_of(lines: list[dict[str, Any]], *, cart: Cart) -> dict[Variant, int]:
    """The wanted units of each variant; two lines of one variant are added up. Raises ValidationError.

    A variant that is no longer sold may stay in the cart, but cannot be added.
    """
    skus = {line["sku"] for line in lines}
    found = {variant.sku: variant for variant in Variant.objects.select_related("product").filter(sku__in=skus)}
    in_cart = set(cart.lines.values_list("variant_id", flat=True))
    units_of: dict[Variant, int] = {}
    errors: dict[str, Any] = {}
    for number, line in enumerate(lines):
        variant = found.get(line["sku"])
        is_sold = variant is not None and variant.is_active and variant.product.is_active
        if variant is None or not (is_sold or variant.pk in in_cart):
            errors[str(number)] = {"sku": [ErrorDetail(_("The shop does not sell this."), code="not_sold")]}
            continue
        units_of[variant] = min(units_of.get(variant, 0) + line["units"], UNITS_MAX)
    if errors:
        raise ValidationError({"lines": errors})
    return units_of


def answer(holder: Holder, carts: Sequence[Cart]) -> Response:
    contents = contents_of(*carts)
    token = next((str(cart.token) for cart in carts if holder.buyer_id is None), None)
    body = shown_cart(contents, token=token)
    mark_prices_seen(carts, contents.lines)
    headers = {"Cache-Control": "no-store"}
    if token is not None:
        headers[TOKEN_HEADER] = token
    return Response(body, headers=headers)
