"""Sessions in the cache, as JSON. When the cache is down, visitors get 503 and stay signed in."""

from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.cache import SessionStore as CacheSessionStore
from django.core.cache import caches


class SessionStore(CacheSessionStore):
    """Django treats every error of the cache as a missing session, and deletes the buyer's cookie.

    Here the error is raised, the visitor gets 503 (shop/http/problems.py), and is still signed in later.
    """

    def load(self) -> dict[str, Any]:
        """The session's data. Raises the errors of the cache."""
        data = caches[settings.SESSION_CACHE_ALIAS].get(self.cache_key)
        if isinstance(data, dict):
            return data
        # Missing, expired or unreadable: Django makes a new session when something is written to it.
        self._session_key = None
        return {}
