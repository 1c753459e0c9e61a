"""`PUT /api/v1/orders/{number}/shipping-address/`: where the order goes, until it was sent."""

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
from orders.shipping.address_serializers import NewAddressSerializer
from orders.shipping.order_address import only_country, store_address
from shop.http.base_view import JsonAPIView
from shop.http.problem_codes import TOKEN_REFUSALS
from shop.http.problems import problem


class OrderAddressView(JsonAPIView):
    """Set or replace the delivery address of one of the buyer's orders that was not sent yet."""

    @extend_schema(
        request=NewAddressSerializer,
        responses={
            200: OrderSerializer,
            **refusals(
                *TOKEN_REFUSALS,
                *("csrf_failed", "not_found", "invalid", "parse_error", "body_too_large", "unsupported_media_type"),
                "address_fixed",
            ),
        },
    )
    def put(self, request: Request, number: UUID) -> HttpResponse:
        order = get_object_or_404(orders_of(request), number=number)
        body = NewAddressSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        country = only_country(order)
        if country and body.validated_data["country"] != country:
            raise serializers.ValidationError({"country": _("Delivery was paid for another country.")})
        if not store_address(order_id=order.pk, values=body.validated_data):
            return problem(
                status=409,
                code="address_fixed",
                title=_("The address can no longer be changed"),
                detail=_("The order has been sent, or it has ended."),
                order_status=order.status,
            )
        stored = orders_of(request).get(pk=order.pk)
        return Response(OrderSerializer(stored).data, headers={"Cache-Control": "no-store"})
