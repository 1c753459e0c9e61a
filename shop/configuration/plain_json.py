"""The form of values in the cache, sessions among them: JSON and nothing else."""

import json
from typing import Any

import structlog
from django_redis.serializers.json import JSONSerializer

log = structlog.get_logger(__name__)


class PlainJSONSerializer(JSONSerializer):  # type: ignore[misc]
    """Whoever can write to the cache server must not be able to run code here, which pickle would let them.

    As Django's own serializer of sessions, it refuses what JSON does not know. django-redis would write a date as text
    and return the text.
    """

    encoder_class = json.JSONEncoder

    def loads(self, value: bytes) -> Any:
        """The value. What is not JSON counts as missing, as after an eviction: None."""
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            log.warning("cache_value_unreadable", size_bytes=len(value))
            return None
