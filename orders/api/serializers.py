"""The shapes of the orders' JSON."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from orders.invoices.included_taxes import taxes_of
from orders.models import Order, OrderLine, OrderStatus, Payment
from orders.shipping.address_serializers import ShippingAddressSerializer
from orders.shipping.carriers import tracking_url
from shop.catalogue.options import OptionSerializer, options_of
from shop.http.serializers import AmountField, AmountText, CurrencyText, StrictSerializer, StringField, TimeField
from shop.prices.money import to_text

RESERVED = "reserved"
# A place in a waiting list, while the sale lasts and after its end.
WAITING, LINE_ENDED = "waiting", "line_ended"


class OrderLineSerializer(serializers.ModelSerializer[OrderLine]):
    product = serializers.CharField(source="product.slug")
    sku = serializers.CharField(help_text="As it was when this was ordered, like the options and the name.")
    options = serializers.SerializerMethodField()
    name = serializers.CharField(source="title")
    refunded_units = serializers.IntegerField(help_text="Of the units, those that were refunded.")
    unit_price = serializers.SerializerMethodField()

    class Meta:
        model = OrderLine
        fields = ("product", "sku", "options", "name", "sale_item", "units", "refunded_units", "unit_price")
        read_only_fields = fields

    @extend_schema_field(OptionSerializer(many=True))
    def get_options(self, line: OrderLine) -> list[dict[str, str]]:
        return options_of(line.option_names, line.options)

    @extend_schema_field(AmountText())
    def get_unit_price(self, line: OrderLine) -> str:
        return to_text(minor=line.unit_price_minor, currency=line.order.currency)


class ShippingSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    amount = AmountText()


class TaxSerializer(serializers.Serializer[Any]):
    percent = serializers.CharField()
    amount = AmountText(help_text="Included in the order's amount; rounded once for each rate.")


class TrackingSerializer(serializers.Serializer[Any]):
    carrier = serializers.CharField(allow_blank=True)
    number = serializers.CharField(allow_blank=True)
    url = serializers.CharField(allow_null=True, help_text="The carrier's page about the parcel, where we know one.")
    shipped_at = TimeField()


class OrderSerializer(serializers.ModelSerializer[Order]):
    reservation = serializers.UUIDField(source="reservation_id", allow_null=True)
    currency = CurrencyText()
    amount = serializers.SerializerMethodField()
    created_at = TimeField()
    expires_at = TimeField()
    lines = OrderLineSerializer(many=True)
    shipping = serializers.SerializerMethodField()
    shipping_address = serializers.SerializerMethodField()
    taxes = serializers.SerializerMethodField()
    tracking = serializers.SerializerMethodField()
    refunded = serializers.SerializerMethodField()
    url = serializers.SerializerMethodField()

    class Meta:
        model = Order
        fields = (
            "number",
            "code",
            "status",
            "reservation",
            "amount",
            "currency",
            "created_at",
            "expires_at",
            "lines",
            "shipping",
            "shipping_address",
            "billing_address",
            "vat_number",
            "taxes",
            "tracking",
            "refunded",
            "url",
        )
        read_only_fields = fields

    @extend_schema_field(AmountText())
    def get_amount(self, order: Order) -> str:
        return to_text(minor=order.amount_minor, currency=order.currency)

    @extend_schema_field(ShippingSerializer(allow_null=True))
    def get_shipping(self, order: Order) -> dict[str, str] | None:
        """Null for orders of a flash sale whose delivery was not chosen, or is included in their price."""
        if not order.shipping_name:
            return None
        return {
            "name": order.shipping_name,
            "amount": to_text(minor=order.shipping_minor, currency=order.currency),
        }

    @extend_schema_field(ShippingAddressSerializer(allow_null=True))
    def get_shipping_address(self, order: Order) -> dict[str, str] | None:
        address = getattr(order, "shipping_address", None)
        return dict(ShippingAddressSerializer(address).data) if address else None

    @extend_schema_field(TaxSerializer(many=True))
    def get_taxes(self, order: Order) -> list[dict[str, str]]:
        return [
            {
                "percent": share.percent_text,
                "amount": to_text(minor=share.tax_minor, currency=order.currency),
            }
            for share in taxes_of(order)
        ]

    @extend_schema_field(TrackingSerializer(allow_null=True))
    def get_tracking(self, order: Order) -> dict[str, Any] | None:
        """Null until the order was sent."""
        if order.shipped_at is None:
            return None
        url = tracking_url(carrier=order.carrier, tracking_number=order.tracking_number) or None
        shown = {"carrier": order.carrier, "number": order.tracking_number, "url": url, "shipped_at": order.shipped_at}
        return dict(TrackingSerializer(shown).data)

    @extend_schema_field(AmountText(help_text="The part of the amount that the shop has refunded or is refunding."))
    def get_refunded(self, order: Order) -> str:
        return to_text(minor=order.refunded_minor, currency=order.currency)

    def get_url(self, order: Order) -> str:
        """The page of the order, where it is paid and cancelled. The link to a guest's order is as good as a key."""
        return order.full_url


class ReservationStatusSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField([WAITING, LINE_ENDED, RESERVED, *OrderStatus.values])
    units = serializers.IntegerField()
    expires_at = TimeField(allow_null=True, help_text="Null in a waiting list.")
    order = serializers.UUIDField(allow_null=True, help_text="The order's number; null until the order is created.")
    poll_after_ms = serializers.IntegerField(
        allow_null=True, help_text="How long to wait before asking again; null when nothing will change any more."
    )
    place = serializers.IntegerField(required=False, help_text="In the waiting list. 1 is the first.")
    ahead = serializers.IntegerField(required=False, help_text="How many came before, in the waiting list.")
    note = serializers.CharField(required=False, help_text="What a place in the waiting list means, for the buyer.")


class PayRequestSerializer(StrictSerializer):
    provider = StringField(
        required=False, max_length=20, help_text="Which provider to pay with, if the shop offers several."
    )
    expected_total = AmountField(
        required=False,
        help_text="The order's amount that the buyer was shown, delivery included. With any other amount no payment "
        "page is opened: `price_changed`. Without it, a call that adds the price of a delivery is refused once.",
    )


class PaymentSerializer(serializers.Serializer[Any]):
    payment = serializers.UUIDField()
    status = serializers.ChoiceField(Payment.Status.values)
    url = serializers.CharField(
        allow_blank=True, help_text="The buyer's payment page; empty once the payment has ended."
    )
    expires_at = TimeField(help_text="The order must be paid by then.")
