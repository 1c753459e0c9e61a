"""Sessions in the cache, whose absence is an outage and no sign-out."""

from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.cache import SessionStore as CacheSessionStore
from django.core.cache import caches


class SessionStore(CacheSessionStore):
    """Django takes every fault of the cache for a session that does not exist, and deletes the buyer's cookie.

    Here the fault comes through: the visitor hears 503 (shop/http/problems.py) and is signed in when the cache is back.
    """

    def load(self) -> dict[str, Any]:
        """The session's data. Raises what the cache raises."""
        data: dict[str, Any] | None = caches[settings.SESSION_CACHE_ALIAS].get(self.cache_key)
        if data is not None:
            return data
        # Not there, or over: Django makes it a new one when something is written to it.
        self._session_key = None
        return {}
