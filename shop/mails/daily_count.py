"""Counts how often something happened within a day, in the cache: for bounds that may be forgotten in an outage."""

from django.core.cache import cache

from shop.http.problems import is_outage

DAY_SECONDS = 24 * 3600


def count_of(name: str) -> int:
    """How often `add_one` was called within a day of its first call. 0 if the cache cannot be asked."""
    try:
        return int(cache.get(f"daily:{name}") or 0)
    except Exception as error:
        if not is_outage(error):
            raise
        return 0


def add_one(name: str) -> None:
    """Count one more, if the cache can be asked."""
    try:
        if not cache.add(f"daily:{name}", 1, timeout=DAY_SECONDS):
            cache.incr(f"daily:{name}")
    except Exception as error:
        # ValueError: the day ended between the two calls.
        if not is_outage(error) and not isinstance(error, ValueError):
            raise
