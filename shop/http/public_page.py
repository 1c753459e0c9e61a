"""Public pages: one document for everybody, which caches may keep for a second.

Such a page must not look at cookies, the session, the user or messages; what is personal is added by its scripts. A web
process keeps these documents in memory (web/shells.py) and seldom enters Django for them.
"""

from collections.abc import Callable
from functools import wraps
from hashlib import blake2b
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

# No cache keeps a page for longer, so that a page is never much older than what it says about the stock.
CACHE_CONTROL = "public, max-age=1"


def public_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponseBase]:
    """A 200 of the view gets an ETag and may be cached. Other answers stay as they are."""

    @require_safe
    @wraps(view)
    def shown(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        if response.status_code != 200:
            return response
        response["Cache-Control"] = CACHE_CONTROL
        response["ETag"] = f'"{blake2b(response.content, digest_size=12).hexdigest()}"'
        return get_conditional_response(request, etag=response["ETag"], response=response) or response

    return shown
