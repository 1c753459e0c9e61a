"""Ways of sending, and the checkout, which makes an order of the cart."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders import idempotent_calls
from orders.api.serializers import OrderSerializer
from orders.cart.api import CART_TOKEN, holder_of
from orders.cart.cart_contents import ShownLine, contents_of
from orders.cart.cart_holder import carts_to_read
from orders.cart.serializers import shown_line
from orders.checkout.placement import CheckoutRequest, Placement, PlaceOutcome, place_once
from orders.checkout.serializers import CheckoutSerializer, ShippingMethodSerializer
from orders.idempotent_calls import IDEMPOTENCY_KEY, KEY_REFUSALS, REPLAYED_HEADER, CallState, KeyedCall
from orders.models import Order
from orders.problem_codes import refusals
from orders.shipping.address_serializers import CountryField
from orders.shipping.delivery_choice import offers_of
from orders.shipping.shipping_prices import offers_for
from shop.addresses.address_checks import address_errors, tidy
from shop.addresses.countries import country_choices
from shop.http.base_view import JsonAPIView
from shop.http.client_address import client_network
from shop.http.problem_codes import BODY_REFUSALS
from shop.http.problems import problem
from shop.http.rate_limits import take
from shop.http.serializers import QueryParameters
from shop.languages.buyer_language import remember_language
from shop.prices.money import to_text

# Unpaid orders of guests end after ten minutes; with several, one ends sooner.
GUESTS_RETRY_SECONDS = 120


class ShippingParameters(QueryParameters):
    country = CountryField(help_text="ISO 3166, two letters: CN.")
    order = serializers.UUIDField(required=False, help_text="An order of a flash sale, in the place of the cart.")


class ShippingMethodsView(APIView):
    """The ways of sending the cart to a country, with their prices."""

    permission_classes = (AllowAny,)

    @extend_schema(
        parameters=[
            ShippingParameters,
            CART_TOKEN,
        ],
        responses={
            200: ShippingMethodSerializer(many=True),
            **refusals("invalid", "authentication_failed", "not_found"),
        },
    )
    def get(self, request: Request) -> Response:
        """The ways of sending the cart to a country. An empty list means that the shop does not send it there."""
        asked = ShippingParameters.of(request)
        country = tidy("country", asked["country"])
        if country not in dict(country_choices()):
            raise ValidationError({"country": address_errors({"country": country})["country"]})
        if "order" in asked:
            offers = offers_of(order_in(request, asked["order"]), country=country)
        else:
            contents = contents_of(*carts_to_read(holder_of(request)))
            offers = offers_for(country=country, weight_grams=contents.weight_grams, total_minor=contents.total_minor)
        body = [
            {
                "code": offer.code,
                "name": offer.name,
                "price": to_text(minor=offer.price_minor, currency=settings.CURRENCY),
                "currency": settings.CURRENCY,
            }
            for offer in offers
        ]
        return Response(body, headers={"Cache-Control": "no-store"})


def order_in(request: Request, number: UUID) -> Order:
    """The buyer's order of a flash sale with this number."""
    mine = Order.objects.filter(buyer_id=request.user.pk, buyer__isnull=False, reservation_id__isnull=False)
    return get_object_or_404(mine, number=number)


class CheckoutView(JsonAPIView):
    """Order what is in the cart, once for each Idempotency-Key. The units are held until the order's deadline.

    All lines or none: where stock or a price changed since the cart was last read, or the total is not
    `expected_total`, nothing is ordered, and the answer lists the lines that changed. A guest pays and cancels at the
    page of the order's `url`.
    """

    permission_classes = (AllowAny,)

    @extend_schema(
        parameters=[IDEMPOTENCY_KEY, CART_TOKEN],
        request=CheckoutSerializer,
        responses={
            201: OrderSerializer,
            **refusals(
                *KEY_REFUSALS,
                *BODY_REFUSALS,
                *("authentication_failed", "permission_denied", "csrf_failed", "too_many_attempts"),
                *("cart_empty", "stock_changed", "price_changed", "shipping_not_offered", "too_many_unpaid"),
                *("guest_needs_account", "guests_wait"),
            ),
        },
    )
    def post(self, request: Request) -> HttpResponse:
        key = idempotent_calls.key_of(request)
        if key is None:
            return idempotent_calls.key_missing()
        body = CheckoutSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        holder = holder_of(request)
        if holder.buyer_id is None and not body.validated_data.get("email"):
            raise ValidationError({"email": [ErrorDetail(_("A guest needs an e-mail address."), code="required")]})
        if not holder.owner:
            return refusal(Placement(PlaceOutcome.CART_EMPTY))
        count_checkout(request._request, buyer_id=holder.buyer_id)
        remember_language(request)
        asked = CheckoutRequest(
            holder=holder,
            email=body.validated_data.get("email", ""),
            network=client_network(request._request),
            address=dict(body.validated_data["shipping_address"]),
            shipping_method=body.validated_data["shipping_method"],
            language=get_language() or settings.LANGUAGE_CODE,
            note=body.validated_data["note"],
            billing_address=body.validated_data["billing_address"],
            vat_number=body.validated_data["vat_number"],
            seen_amount=Decimal(seen) if (seen := body.validated_data.get("expected_total")) else None,
        )
        call = KeyedCall(owner=holder.owner, key=key, fingerprint=idempotent_calls.fingerprint_of(request))
        result = place_once(asked, call)
        if result.refusal is not None:
            return refusal(result.refusal)
        if result.state in (CallState.RUNNING, CallState.OTHER_PAYLOAD):
            return idempotent_calls.key_refused(result.state)
        headers = {"Cache-Control": "no-store"}
        if holder.buyer_id is not None:
            # A guest has no address in the API. The link to a guest's order is a key, and headers are written to logs.
            headers["Location"] = reverse("api-order", args=[result.answer["number"]])
        if result.state is CallState.REPLAYED:
            headers[REPLAYED_HEADER] = "true"
        return Response(result.answer, status=result.status, headers=headers)


def count_checkout(request: HttpRequest, *, buyer_id: int | None) -> None:
    """Bounds how often an account, and a client address, may order. Call it before the cart is read.

    Raises LimitReached.
    """
    take(action="checkout_by_address", rate=settings.CHECKOUT_LIMIT_BY_ADDRESS, key=client_network(request))
    if buyer_id is not None:
        take(action="checkout", rate=settings.CHECKOUT_LIMIT, key=str(buyer_id))


def refusal(placement: Placement) -> HttpResponse:
    """The problem that says why nothing was ordered, with the lines that changed."""
    outcome = placement.outcome
    texts = {
        PlaceOutcome.CART_EMPTY: (_("The cart is empty"), _("There is nothing in the cart to order.")),
        PlaceOutcome.STOCK_CHANGED: (
            _("The stock has changed"),
            _("Some products have fewer units left than you want, or are no longer sold. Nothing was ordered."),
        ),
        PlaceOutcome.PRICE_CHANGED: (
            _("A price has changed"),
            _("A price has changed since you last saw it. Nothing was ordered."),
        ),
        PlaceOutcome.SHIPPING_NOT_OFFERED: (
            _("Not sent this way"),
            _("The shop does not send this cart to this country in this way. Nothing was ordered."),
        ),
        PlaceOutcome.TOO_MANY_UNPAID: (_("Too many unpaid orders"), too_many_unpaid_text()),
        PlaceOutcome.GUEST_NEEDS_ACCOUNT: (
            _("More than a guest may order"),
            guest_needs_account_text(placement.lines),
        ),
        PlaceOutcome.GUESTS_WAIT: (_("Guests must wait"), guests_wait_text()),
    }
    title, detail = texts[outcome]
    more: dict[str, Any] = {}
    if outcome in (PlaceOutcome.STOCK_CHANGED, PlaceOutcome.PRICE_CHANGED, PlaceOutcome.GUEST_NEEDS_ACCOUNT):
        more["lines"] = [shown_line(line) for line in placement.lines]
    if outcome is PlaceOutcome.GUESTS_WAIT:
        more["retry_after_seconds"] = GUESTS_RETRY_SECONDS
    return problem(status=409, code=outcome.value, title=title, detail=detail, **more)


def guest_needs_account_text(lines: Sequence[ShownLine]) -> str:
    """How many units a guest may order: of the first of these lines, or in all."""
    if not lines:
        text = _("Without an account you can order at most %(max)d units at a time. Sign in to order more.")
        return text % {"max": settings.GUEST_UNITS_BY_NETWORK_MAX}
    most = lines[0].left
    text = ngettext(
        "Without an account you can order at most %(max)d unit of “%(what)s”. Sign in to order more.",
        "Without an account you can order at most %(max)d units of “%(what)s”. Sign in to order more.",
        most,
    )
    return text % {"max": most, "what": lines[0].variant}


def guests_wait_text() -> str:
    return _(
        "Guests hold many units at the moment that are not paid yet, so nothing was ordered. "
        "Sign in to order now, or try again in some minutes."
    )


def too_many_unpaid_text() -> str:
    return _("You have %(count)d unpaid orders. Pay or cancel one of them before you order again.") % {
        "count": settings.CHECKOUT_UNPAID_MAX
    }
