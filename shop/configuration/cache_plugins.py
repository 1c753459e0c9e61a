"""Classes that django-redis loads by name for the caches of the shop: the form of values, and a way to a primary.

Settings name them and cannot import them, since django-redis needs settings.
"""

import json
from typing import Any

import structlog
from django.core.exceptions import ImproperlyConfigured
from django_redis.pool import SentinelConnectionFactory
from django_redis.serializers.json import JSONSerializer

log = structlog.get_logger(__name__)


class PlainJSONSerializer(JSONSerializer):  # type: ignore[misc]
    """Values in the cache, sessions among them, are JSON. With pickle, access to the cache server would run code here.

    Like Django's own serializer of sessions, it refuses other types. django-redis would write a date as text and
    return the text.
    """

    encoder_class = json.JSONEncoder

    def loads(self, value: bytes) -> Any:
        """The value. One that is not JSON counts as missing, as after an eviction: None."""
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            log.warning("cache_value_unreadable", size_bytes=len(value))
            return None


class SentinelFactory(SentinelConnectionFactory):  # type: ignore[misc]
    """A client for a primary behind sentinels, with a pool of its own for each group of sentinels.

    `LOCATION` is redis://name/database, with the sentinels' name of the primary as its host.
    """

    # django-redis finds a pool by its address alone, in which the sentinels are not named.
    _pools: dict[str, Any] = {}

    def get_or_create_connection_pool(self, params: dict[str, Any]) -> Any:
        key = f"{self.options['SENTINELS']} {params['url']} {params.get('username')}"
        if key not in self._pools:
            self._pools[key] = self.get_connection_pool(params)
        return self._pools[key]

    def get_connection_pool(self, params: dict[str, Any]) -> Any:
        if params["url"] != params["url"].lower():
            # The host of an address is read in lower case.
            raise ImproperlyConfigured(f"The sentinels' name of the primary must be in lower case: {params['url']}")
        return super().get_connection_pool(params)
