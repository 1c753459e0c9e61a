"""The chosen options of a variant, in the one form that all answers of the API have."""

from typing import Any

from rest_framework import serializers

from shop.models.catalogue import split_options


class OptionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="For example “Size”.")
    value = serializers.CharField(help_text="For example “M”.")


def options_of(names: str | None, values: str | None) -> list[dict[str, str]]:
    """Of "Size / Colour" and "M / Red", in that order."""
    pairs = zip(split_options(names), split_options(values), strict=False)
    return [{"name": name, "value": value} for name, value in pairs]
