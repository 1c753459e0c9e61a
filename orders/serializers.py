"""The shapes of the orders' JSON."""

from datetime import UTC
from typing import Any

from rest_framework import serializers

from orders.models import Order, OrderLine, OrderStatus, Payment
from shop.money import to_text

RESERVED = "reserved"


class OrderLineSerializer(serializers.ModelSerializer[OrderLine]):
    product = serializers.CharField(source="product.slug")
    name = serializers.CharField(source="variant.__str__")
    unit_price = serializers.SerializerMethodField()

    class Meta:
        model = OrderLine
        fields = ("product", "name", "sale_item", "units", "unit_price")

    def get_unit_price(self, line: OrderLine) -> str:
        return to_text(minor=line.unit_price_minor, currency=line.order.currency)


class OrderSerializer(serializers.ModelSerializer[Order]):
    reservation = serializers.UUIDField(source="reservation_id", allow_null=True)
    amount = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField(default_timezone=UTC)
    expires_at = serializers.DateTimeField(default_timezone=UTC)
    lines = OrderLineSerializer(many=True)

    class Meta:
        model = Order
        fields = (
            "number",
            "status",
            "reservation",
            "amount",
            "currency",
            "created_at",
            "expires_at",
            "lines",
        )

    def get_amount(self, order: Order) -> str:
        return to_text(minor=order.amount_minor, currency=order.currency)


class ReservationStatusSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField([RESERVED, *OrderStatus.values])
    units = serializers.IntegerField()
    expires_at = serializers.DateTimeField()
    order = serializers.UUIDField(allow_null=True, help_text="The order's number; null until the order is created.")
    poll_after_ms = serializers.IntegerField(
        allow_null=True, help_text="How long to wait before asking again; null when nothing will change any more."
    )


class PayRequestSerializer(serializers.Serializer[Any]):
    provider = serializers.CharField(
        required=False, max_length=20, help_text="Which provider to pay with, if the shop offers several."
    )


class PaymentSerializer(serializers.Serializer[Any]):
    payment = serializers.UUIDField()
    status = serializers.ChoiceField(Payment.Status.values)
    url = serializers.CharField(
        allow_blank=True, help_text="The buyer's payment page; empty once the payment has ended."
    )
    expires_at = serializers.DateTimeField(help_text="The order must be paid by then.")
