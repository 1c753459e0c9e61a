"""Base classes of the API's serializers: input must be exactly as documented."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from shop.times.timestamps import rfc3339, to_ms


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses unknown fields: a misspelt field must not be silently ignored."""

    def to_internal_value(self, data: Any) -> Any:
        # DRF refuses a body that is not an object.
        if isinstance(data, Mapping) and (unknown := set(data) - set(self.fields)):
            raise serializers.ValidationError({name: self.unknown(name) for name in sorted(unknown)})
        return super().to_internal_value(data)

    def unknown(self, name: str) -> list[Any]:
        return [serializers.ErrorDetail(str(_("Unknown field.")), code="unknown_field")]


class QueryParameters(StrictSerializer):
    """The query of an address. Each parameter may be there once."""

    @classmethod
    def of(cls, request: Request) -> dict[str, Any]:
        """The values. Raises ValidationError."""
        asked = cls(data=dict(request.query_params.lists()))
        asked.is_valid(raise_exception=True)
        found: dict[str, Any] = asked.validated_data
        return found

    def to_internal_value(self, data: Any) -> Any:
        """`data` is that of the address, by name all values that were given."""
        if repeated := [name for name, values in data.items() if len(values) > 1]:
            raise serializers.ValidationError({name: [_("Give this once.")] for name in repeated})
        return super().to_internal_value({name: values[0] for name, values in data.items()})


# Three digits of a second everywhere, so that times can be compared as texts.
TIME = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$"


@extend_schema_field({"type": "string", "format": "date-time", "pattern": TIME, "example": "2026-11-11T12:00:00.000Z"})
class TimeField(serializers.DateTimeField):
    """A time as the API says all of them: RFC 3339 in UTC, to the millisecond."""

    def to_representation(self, value: Any) -> Any:
        return rfc3339(to_ms(value)) if isinstance(value, datetime) else value


class WholeNumberField(serializers.IntegerField):
    """A JSON integer: not "1", not 1.0, not true."""

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            self.fail("invalid")
        return data


@extend_schema_field({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$", "example": "19.90"})
class AmountText(serializers.CharField):
    """Money in an answer: a decimal string."""


@extend_schema_field({"type": "string", "pattern": "^[A-Z]{3}$", "example": "CNY"})
class CurrencyText(serializers.CharField):
    """Three letters of ISO 4217, in an answer."""


@extend_schema_field({"type": "string", "pattern": "^[A-Z]{2}$", "example": "CN"})
class CountryText(serializers.CharField):
    """Two letters of ISO 3166, in an answer."""


class StringField(serializers.CharField):
    """A JSON string: not 5, which DRF would turn into one."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class FieldErrorSerializer(serializers.Serializer[Any]):
    field = serializers.CharField(allow_blank=True, help_text="For example `lines.0.sku`.")
    code = serializers.CharField()
    detail = serializers.CharField()


class AmountField(StringField):
    """Money in a call: a decimal string, as answers have it."""

    def __init__(self, **kwargs: Any) -> None:
        validators = [RegexValidator(r"^[0-9]{1,12}(\.[0-9]{1,4})?\Z")]
        super().__init__(validators=validators, trim_whitespace=False, **kwargs)


class ProblemSerializer(serializers.Serializer[Any]):
    """An error as RFC 9457, `application/problem+json`. Programs should act on `code`."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField()
    retry_after = serializers.IntegerField(required=False, help_text="Seconds to wait before trying again.")
    left = serializers.IntegerField(required=False)
    remaining = serializers.IntegerField(
        required=False, help_text="With `limit_reached`: how many of `per_buyer_max` units the buyer can still reserve."
    )
    per_buyer_max = serializers.IntegerField(required=False)
    challenge_url = serializers.CharField(
        required=False, help_text="Where to get a challenge, in a sale that asks for a proof of work."
    )
    server_time = TimeField(required=False)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        # `errors` is a property of every serializer, so it cannot be a class attribute.
        return {**super().get_fields(), "errors": FieldErrorSerializer(many=True, required=False)}
