"""`PUT /api/v1/orders/{number}/shipping-address/`: where the order goes, until it was sent."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api.orders import orders_of
from orders.api.serializers import OrderSerializer
from orders.problem_codes import refusals
from orders.shipping.address_serializers import AddressSerializer
from orders.shipping.delivery_choice import DeliveryOutcome, choice_open, countries_of, store_delivery
from orders.shipping.order_address import only_country, store_address
from shop.http.base_view import JsonAPIView
from shop.http.problem_codes import BODY_REFUSALS, TOKEN_REFUSALS
from shop.http.problems import problem
from shop.http.serializers import StringField


class OrderDeliverySerializer(AddressSerializer):
    shipping_method = StringField(
        max_length=50,
        required=False,
        help_text="One of GET /api/v1/shipping-methods/?order=…, for an order of a flash sale that has no payment page "
        "yet. Its price is added to the order. Not needed where the shop has no shipping methods.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return {**super().validate(attrs), "shipping_method": attrs.get("shipping_method", "")}


class OrderAddressView(JsonAPIView):
    """Set or replace the delivery address of one of the buyer's orders that was not sent yet.

    Orders of a flash sale get their way of sending here too.
    """

    @extend_schema(
        request=OrderDeliverySerializer,
        responses={
            200: OrderSerializer,
            **refusals(
                *TOKEN_REFUSALS,
                *("csrf_failed", "not_found", *BODY_REFUSALS),
                *("address_fixed", "shipping_not_offered"),
            ),
        },
    )
    def put(self, request: Request, number: UUID) -> HttpResponse:
        order = get_object_or_404(orders_of(request), number=number)
        body = OrderDeliverySerializer(data=request.data)
        body.is_valid(raise_exception=True)
        values = dict(body.validated_data)
        method = values.pop("shipping_method")
        countries = countries_of(order)
        if countries is not None and values["country"] not in countries:
            paid_for = only_country(order) in countries
            text = _("Delivery was paid for another country.") if paid_for else _("The shop does not send there.")
            raise serializers.ValidationError({"country": text})
        if choice_open(order):
            outcome = store_delivery(order_id=order.pk, values=values, method=method)
        else:
            stored = store_address(order_id=order.pk, values=values)
            outcome = DeliveryOutcome.STORED if stored else DeliveryOutcome.FIXED
        if outcome is DeliveryOutcome.NOT_OFFERED:
            return problem(
                status=409,
                code="shipping_not_offered",
                title=_("Not sent this way"),
                detail=_("The shop does not send this order to this country in this way. Nothing was changed."),
            )
        if outcome is DeliveryOutcome.FIXED:
            return problem(
                status=409,
                code="address_fixed",
                title=_("The address can no longer be changed"),
                detail=_("The order has been sent, or it has ended."),
                order_status=order.status,
            )
        shown = orders_of(request).get(pk=order.pk)
        return Response(OrderSerializer(shown).data, headers={"Cache-Control": "no-store"})
