"""django-redis's client for a primary behind sentinels, with a pool of its own for each group of sentinels."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django_redis.pool import SentinelConnectionFactory


class SentinelFactory(SentinelConnectionFactory):  # type: ignore[misc]
    """`LOCATION` is redis://name/database, with the sentinels' name of the primary as its host."""

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
