"""The JSON of the flash sale's API."""

from typing import Any

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from seckill.guards.proof_of_work import ALGORITHM, LENGTH_MAX
from seckill.models import UNITS_MAX, Sale, SaleItem
from seckill.phase import Phase
from shop.catalogue.options import OptionSerializer, options_of
from shop.catalogue.serializers import PictureSerializer
from shop.http.serializers import AmountText, CurrencyText, StrictSerializer, TimeField, WholeNumberField
from shop.prices.money import to_text
from shop.times.timestamps import now_ms, rfc3339


class ReservationRequestSerializer(StrictSerializer):
    units = WholeNumberField(min_value=1, max_value=UNITS_MAX, default=1)


class PassRequestSerializer(StrictSerializer):
    proof = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=LENGTH_MAX,
        help_text="For a sale with proof of work: the solved challenge, as base64 of ALTCHA's payload.",
    )


class ChallengeParametersSerializer(serializers.Serializer[Any]):
    algorithm = serializers.ChoiceField([ALGORITHM])
    nonce = serializers.CharField()
    salt = serializers.CharField()
    cost = serializers.IntegerField(help_text="Iterations of PBKDF2.")
    keyLength = serializers.IntegerField(help_text="Bytes of the derived key.")
    keyPrefix = serializers.CharField(help_text="Hexadecimal digits with which the derived key must begin.")
    keySignature = serializers.CharField()
    expiresAt = serializers.IntegerField(help_text="Seconds since 1970.")
    data = serializers.DictField(child=serializers.IntegerField())  # type: ignore[assignment]


class ChallengeSerializer(serializers.Serializer[Any]):
    """A challenge of ALTCHA, version 2. Its parameters go back as they came."""

    parameters = ChallengeParametersSerializer()
    signature = serializers.CharField()


class ReservationSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    units = serializers.IntegerField()
    amount = AmountText()
    currency = CurrencyText()
    expires_at = TimeField(help_text="Pay by then; unpaid units go back on sale.")
    status_url = serializers.CharField()


class PassSerializer(serializers.Serializer[Any]):
    expires_at = TimeField()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        # `pass` is a keyword of Python, so it cannot be a class attribute.
        return {"pass": serializers.CharField(), **super().get_fields()}


class FiguresSerializer(serializers.Serializer[Any]):
    phase = serializers.ChoiceField(list(Phase), allow_null=True)
    availability = serializers.ChoiceField(["available", "held_by_others", "sold_out", "unlimited", "unavailable"])
    quantity = serializers.IntegerField(
        allow_null=True,
        help_text="Units in the sale. After its end, how many it had: the unsold ones are in the ordinary stock then.",
    )
    left = serializers.IntegerField(allow_null=True)
    held = serializers.IntegerField(allow_null=True)
    sold = serializers.IntegerField(allow_null=True)
    opens_at = TimeField(allow_null=True)
    closes_at = TimeField(allow_null=True)


class LiveSerializer(FiguresSerializer):
    server_time = TimeField()
    poll_after_ms = serializers.IntegerField(help_text="When to ask again. It differs from answer to answer.")


class ItemFiguresSerializer(FiguresSerializer):
    id = serializers.IntegerField()


class SaleLiveSerializer(serializers.Serializer[Any]):
    items = ItemFiguresSerializer(many=True)
    server_time = TimeField()
    poll_after_ms = serializers.IntegerField(help_text="When to ask again. It differs from answer to answer.")
    opening_spread_ms = serializers.IntegerField(
        help_text="A page that waits for the opening reserves at a moment by chance within the first half of this "
        "time after it; a press in this time within the second half."
    )


class SaleItemSerializer(serializers.ModelSerializer[SaleItem]):
    product = serializers.CharField(source="product.slug")
    sku = serializers.CharField(source="variant.sku")
    options = serializers.SerializerMethodField()
    name = serializers.CharField(source="variant.__str__")
    image = serializers.SerializerMethodField(help_text="The product's first picture; null if it has none.")
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
        fields = (
            "id",
            "product",
            "sku",
            "options",
            "name",
            "image",
            "price",
            "ordinary_price",
            "currency",
            "quantity",
            "per_buyer_max",
        )
        read_only_fields = fields

    @extend_schema_field(OptionSerializer(many=True))
    def get_options(self, item: SaleItem) -> list[dict[str, str]]:
        return options_of(item.product.option_names, item.variant.options)

    @extend_schema_field(PictureSerializer(allow_null=True))
    def get_image(self, item: SaleItem) -> Any:
        first = next(iter(item.product.pictures.all()), None)
        return PictureSerializer(first, context={"product": item.product}).data if first else None

    @extend_schema_field(AmountText())
    def get_price(self, item: SaleItem) -> str:
        return to_text(minor=item.price_minor, currency=settings.CURRENCY)

    @extend_schema_field(AmountText())
    def get_ordinary_price(self, item: SaleItem) -> str:
        return to_text(minor=item.variant.price_minor, currency=settings.CURRENCY)

    @extend_schema_field(CurrencyText())
    def get_currency(self, item: SaleItem) -> str:
        return settings.CURRENCY


class SaleSerializer(serializers.ModelSerializer[Sale]):
    name = serializers.CharField(source="__str__")
    phase = serializers.SerializerMethodField()
    opens_at = TimeField()
    closes_at = TimeField()
    server_time = serializers.SerializerMethodField()
    items = SaleItemSerializer(many=True)

    class Meta:
        model = Sale
        fields = ("id", "name", "phase", "opens_at", "closes_at", "hold_seconds", "server_time", "items")
        read_only_fields = fields

    @extend_schema_field(serializers.ChoiceField(list(Phase)))
    def get_phase(self, sale: Sale) -> str:
        return sale.phase_at(timezone.now())

    @extend_schema_field(TimeField())
    def get_server_time(self, sale: Sale) -> str:
        return rfc3339(now_ms())
