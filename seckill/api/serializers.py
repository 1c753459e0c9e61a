"""The JSON of the flash sale's API."""

from datetime import UTC
from typing import Any

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from seckill.models import UNITS_MAX, Sale, SaleItem
from seckill.phase import Phase
from shop.http.serializers import StrictSerializer, WholeNumberField
from shop.prices.money import to_text


class ReservationRequestSerializer(StrictSerializer):
    units = WholeNumberField(min_value=1, max_value=UNITS_MAX, default=1)


class ReservationSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    units = serializers.IntegerField()
    amount = serializers.CharField(help_text="A decimal string.")
    currency = serializers.CharField()
    expires_at = serializers.DateTimeField(help_text="Pay by then; unpaid units go back on sale.")
    status_url = serializers.CharField()


class PassSerializer(serializers.Serializer[Any]):
    expires_at = serializers.DateTimeField()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        # `pass` is a keyword of Python, so it cannot be a class attribute.
        return {"pass": serializers.CharField(), **super().get_fields()}


class FiguresSerializer(serializers.Serializer[Any]):
    phase = serializers.ChoiceField(list(Phase), allow_null=True)
    availability = serializers.ChoiceField(["available", "held_by_others", "sold_out", "unlimited", "unavailable"])
    quantity = serializers.IntegerField(
        allow_null=True,
        help_text="Units in the sale now. After its end the unsold ones leave it; `sales/{id}/` says how many it had.",
    )
    left = serializers.IntegerField(allow_null=True)
    held = serializers.IntegerField(allow_null=True)
    sold = serializers.IntegerField(allow_null=True)
    opens_at = serializers.DateTimeField(allow_null=True)
    closes_at = serializers.DateTimeField(allow_null=True)


class LiveSerializer(FiguresSerializer):
    server_time = serializers.DateTimeField()
    poll_after_ms = serializers.IntegerField(help_text="When to ask again. It differs from answer to answer.")


class ItemFiguresSerializer(FiguresSerializer):
    id = serializers.IntegerField()


class SaleLiveSerializer(serializers.Serializer[Any]):
    items = ItemFiguresSerializer(many=True)
    server_time = serializers.DateTimeField()
    poll_after_ms = serializers.IntegerField(help_text="When to ask again. It differs from answer to answer.")
    opening_spread_ms = serializers.IntegerField(
        help_text="A page that waits for the opening reserves at a moment by chance within this time after it."
    )


class SaleItemSerializer(serializers.ModelSerializer[SaleItem]):
    product = serializers.CharField(source="product.slug")
    name = serializers.CharField(source="variant.__str__")
    price = serializers.SerializerMethodField()
    ordinary_price = serializers.SerializerMethodField()
    currency = serializers.SerializerMethodField()
    quantity = serializers.IntegerField(
        source="offered",
        allow_null=True,
        read_only=True,
        help_text="How many units the sale has, or had before its end; null means unlimited.",
    )

    class Meta:
        model = SaleItem
        fields = ("id", "product", "name", "price", "ordinary_price", "currency", "quantity", "per_buyer_max")

    def get_price(self, item: SaleItem) -> str:
        return to_text(minor=item.price_minor, currency=settings.CURRENCY)

    def get_ordinary_price(self, item: SaleItem) -> str:
        return to_text(minor=item.variant.price_minor, currency=settings.CURRENCY)

    def get_currency(self, item: SaleItem) -> str:
        return settings.CURRENCY


class SaleSerializer(serializers.ModelSerializer[Sale]):
    name = serializers.CharField(source="__str__")
    phase = serializers.SerializerMethodField()
    opens_at = serializers.DateTimeField(default_timezone=UTC)
    closes_at = serializers.DateTimeField(default_timezone=UTC)
    server_time = serializers.SerializerMethodField()
    items = SaleItemSerializer(many=True)

    class Meta:
        model = Sale
        fields = ("id", "name", "phase", "opens_at", "closes_at", "hold_seconds", "server_time", "items")

    @extend_schema_field(serializers.ChoiceField(list(Phase)))
    def get_phase(self, sale: Sale) -> str:
        return sale.phase_at(timezone.now())

    @extend_schema_field(serializers.DateTimeField())
    def get_server_time(self, sale: Sale) -> str:
        return timezone.now().isoformat()
