"""The JSON of the flash sale's API."""

import hashlib
from typing import Any

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from seckill.guards.proof_of_work import ALGORITHM, LENGTH_MAX
from seckill.models import UNITS_MAX, Sale, SaleItem
from seckill.phase import Phase
from seckill.waiting_room.place_answer import PlaceState
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
        help_text="For a sale with proof of work: the solved challenge, as base64 of ALTCHA's payload. With a waiting "
        "room it is sent for the place alone.",
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
    receipt = serializers.CharField(
        help_text="Keep it until the reservation has an order: POST /api/v1/receipts/ brings the reservation back, if "
        "the shop has lost it."
    )


class PassSerializer(serializers.Serializer[Any]):
    expires_at = TimeField()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        # `pass` is a keyword of Python, so it cannot be a class attribute.
        return {"pass": serializers.CharField(), **super().get_fields()}


class PlaceRequestSerializer(PassRequestSerializer):
    place_token = serializers.CharField(
        max_length=200, default="", help_text="That of an earlier answer: it brings the place back if the shop lost it."
    )


class WaitSerializer(serializers.Serializer[Any]):
    to = serializers.IntegerField(allow_null=True, help_text="Null while the line stands still.")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        # `from` is a keyword of Python.
        return {"from": serializers.IntegerField(), **super().get_fields()}


class PlaceSerializer(serializers.Serializer[Any]):
    state = serializers.ChoiceField(
        list(PlaceState),
        help_text="`called`: get a pass now. `lapsed`: the place was called and nobody came; a POST gives a new one. "
        "`sold_out` and `closed`: nothing is left for anybody in the room.",
    )
    arrival = serializers.IntegerField(
        help_text="The number of the arrival, from 0. The place follows from it and from the key of the sale."
    )
    place = serializers.IntegerField(allow_null=True, help_text="From 1. Null before the opening: it is drawn then.")
    ahead = serializers.IntegerField(allow_null=True, help_text="Places before this one that are not called yet.")
    admitted = serializers.IntegerField(help_text="Places called so far.")
    people = serializers.IntegerField(help_text="How many have come so far.")
    pace = serializers.IntegerField(allow_null=True, help_text="People let in a minute, at present.")
    wait_seconds = WaitSerializer(allow_null=True, help_text="An estimate, from the shortest to the longest time.")
    units_left = serializers.IntegerField(
        allow_null=True,
        help_text="Of the items that can be bought now, so without one that is paused alone; during a pause, of all "
        "items. Null without a limit, or if it is not known now.",
    )
    opens_at = TimeField()
    server_time = TimeField()
    poll_after_ms = serializers.IntegerField(help_text="When to ask again. It differs from answer to answer.")


class PlaceWithTokenSerializer(PlaceSerializer):
    place_token = serializers.CharField(help_text="Send it as `Authorization: Place …` to ask for the place.")


class FiguresSerializer(serializers.Serializer[Any]):
    phase = serializers.ChoiceField(list(Phase), allow_null=True)
    availability = serializers.ChoiceField(["available", "held_by_others", "sold_out", "unlimited", "unavailable"])
    quantity = serializers.IntegerField(
        allow_null=True,
        help_text="Units in the sale. After its end, how many it had: the unsold ones are in the ordinary stock then.",
    )
    per_buyer_max = serializers.IntegerField(allow_null=True)
    left = serializers.IntegerField(allow_null=True)
    held = serializers.IntegerField(allow_null=True)
    sold = serializers.IntegerField(allow_null=True)
    opens_at = TimeField(allow_null=True)
    closes_at = TimeField(allow_null=True)
    pause_note = serializers.DictField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="What the shop says about a pause, by the code of its language; null while there is none.",
    )


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
        first = item.product.first_picture
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


class RoomSerializer(serializers.Serializer[Any]):
    key_sha256 = serializers.CharField(help_text="SHA-256 of the key, published with the sale.")
    key = serializers.CharField(allow_null=True, help_text="32 bytes in hexadecimal; null until the sale has ended.")
    early = serializers.IntegerField(allow_null=True, help_text="How many came before the opening; null until then.")


class SaleSerializer(serializers.ModelSerializer[Sale]):
    name = serializers.CharField(source="__str__")
    phase = serializers.SerializerMethodField()
    opens_at = TimeField()
    closes_at = TimeField()
    server_time = serializers.SerializerMethodField()
    items = SaleItemSerializer(many=True)
    waiting_room = serializers.SerializerMethodField(
        help_text="What is published of the draw of the places; null for a sale without a waiting room."
    )

    class Meta:
        model = Sale
        fields = (
            *("id", "name", "phase", "opens_at", "closes_at", "hold_seconds", "waiting_list", "server_time"),
            *("admission", "waiting_room", "items"),
        )
        read_only_fields = fields

    @extend_schema_field(RoomSerializer(allow_null=True))
    def get_waiting_room(self, sale: Sale) -> dict[str, Any] | None:
        # So that anybody can check the draw of the places (docs/fairness.md).
        if not sale.has_room:
            return None
        room = sale.waiting_room
        # A web server whose clock is fast must not show the key before the places are fixed.
        is_shown = room.early is not None and timezone.now() >= sale.closes_at
        key_sha256 = hashlib.sha256(bytes.fromhex(room.key)).hexdigest()
        return {"key_sha256": key_sha256, "key": room.key if is_shown else None, "early": room.early}

    @extend_schema_field(serializers.ChoiceField(list(Phase)))
    def get_phase(self, sale: Sale) -> str:
        return sale.phase_at(timezone.now())

    @extend_schema_field(TimeField())
    def get_server_time(self, sale: Sale) -> str:
        return rfc3339(now_ms())
