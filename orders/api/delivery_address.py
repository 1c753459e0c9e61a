"""`PUT /api/v1/orders/{number}/shipping-address/`: where the order goes, until it was sent; and its invoice, until it
is paid.
"""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api.orders import orders_of
from orders.api.serializers import OrderSerializer
from orders.invoices.billing import BILLING_FIELDS, billing_address_field, store_billing, vat_number_field
from orders.models import Order
from orders.problem_codes import refusals
from orders.shipping.address_serializers import AddressSerializer
from orders.shipping.address_texts import address_kept_text, is_address_taken, other_country_text
from orders.shipping.delivery_choice import DeliveryOutcome, is_sent_otherwise, store_choice
from shop.http.base_view import JsonAPIView
from shop.http.problem_codes import BODY_REFUSALS, TOKEN_REFUSALS
from shop.http.problems import problem
from shop.http.serializers import StringField


class OrderDeliverySerializer(AddressSerializer):
    shipping_method = StringField(
        max_length=50,
        required=False,
        help_text="One of GET /api/v1/shipping-methods/?order=…, for an order of a flash sale that has no payment page "
        "yet. Its price is added to the order. Later only the same can be sent. Not needed where the shop has no "
        "shipping methods.",
    )

    billing_address = billing_address_field()
    vat_number = vat_number_field()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Parts of the invoice that are not given stay as they are."""
        billing = {name: attrs[name] for name in BILLING_FIELDS if name in attrs}
        return {**super().validate(attrs), "shipping_method": attrs.get("shipping_method", ""), **billing}


class OrderAddressView(JsonAPIView):
    """Set or replace the delivery address of one of the buyer's orders that was not sent yet.

    Orders of a flash sale get their way of sending here too, and every unpaid order what its invoice says.
    """

    @extend_schema(
        request=OrderDeliverySerializer,
        responses={
            200: OrderSerializer,
            **refusals(
                *TOKEN_REFUSALS,
                *("csrf_failed", "not_found", *BODY_REFUSALS),
                *("address_fixed", "address_taken", "shipping_not_offered"),
            ),
        },
    )
    def put(self, request: Request, number: UUID) -> HttpResponse:
        order = get_object_or_404(orders_of(request), number=number)
        body = OrderDeliverySerializer(data=request.data)
        body.is_valid(raise_exception=True)
        values = dict(body.validated_data)
        method = values.pop("shipping_method")
        billing = {name: values.pop(name) for name in BILLING_FIELDS if name in values}
        with transaction.atomic():
            outcome = stored(order, values, method=method, billing=billing)
        if outcome is DeliveryOutcome.OTHER_COUNTRY:
            raise serializers.ValidationError({"country": other_country_text(order)})
        if outcome is DeliveryOutcome.NOT_OFFERED:
            return problem(
                status=409,
                code="shipping_not_offered",
                title=_("Not sent this way"),
                detail=_("The shop does not send this order to this country in this way. Nothing was changed."),
            )
        if outcome is DeliveryOutcome.FIXED and is_address_taken(order):
            return problem(
                status=409,
                code="address_taken",
                title=_("Another order goes to this address"),
                detail=address_kept_text(),
                order_status=order.status,
            )
        if outcome is DeliveryOutcome.FIXED:
            return problem(
                status=409,
                code="address_fixed",
                title=_("This can no longer be changed"),
                detail=_(
                    "The order has been sent, or it has ended. The way of sending is fixed with the payment page, the "
                    "invoice with the payment. Nothing was changed."
                ),
                order_status=order.status,
            )
        shown = orders_of(request).get(pk=order.pk)
        return Response(OrderSerializer(shown).data, headers={"Cache-Control": "no-store"})


def stored(order: Order, values: dict[str, str], *, method: str, billing: dict[str, str]) -> DeliveryOutcome:
    """All of it or nothing. Call it in a transaction."""
    outcome = store_choice(order, values=values, method=method)
    if outcome is DeliveryOutcome.STORED and method:
        order.refresh_from_db(fields=["shipping_name", "shipping_minor"])
        if is_sent_otherwise(order, method=method):
            outcome = DeliveryOutcome.FIXED if order.payments.exists() else DeliveryOutcome.NOT_OFFERED
    # The order is locked by now: a payment writes the invoice under the same lock.
    if outcome is DeliveryOutcome.STORED and not store_billing(order_id=order.pk, values=billing):
        outcome = DeliveryOutcome.FIXED
    if outcome is not DeliveryOutcome.STORED:
        transaction.set_rollback(True)
    return outcome
