"""Public pages and answers of the API, the same for everybody: with an ETag, and caches may keep them for a second.

A public page must not look at cookies, the session, the user or messages; its scripts add the personal parts. A web
process keeps these documents in memory (web/shells.py) and seldom enters Django for them.
"""

import re
from collections.abc import Callable
from functools import wraps
from hashlib import blake2b
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.response import SimpleTemplateResponse
from django.utils.cache import get_conditional_response
from django.utils.translation import get_language
from django.views.decorators.http import require_safe
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

# No cache keeps an answer for longer, so that the stock on a page is never much older.
CACHE_CONTROL = "public, max-age=1"
# The moment of an answer is no part of its content: with it, no two answers would have the same ETag.
SERVER_TIME = re.compile(rb'"server_time":"[^"]*"')

# For the OpenAPI file.
IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match", location="header", description="The ETag of the last answer: 304 if nothing has changed since."
)
LANGUAGE = OpenApiParameter("Accept-Language", location="header", description="The language of names and texts.")
UNCHANGED = {304: OpenApiResponse(description="Nothing has changed.")}


def public_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponseBase]:
    """A 200 of the view gets an ETag and may be cached. Other answers stay as they are."""

    @require_safe
    @wraps(view)
    def shown(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        if response.status_code != 200:
            return response
        return with_tag(request, response, content=response.content)

    return shown


def public_answer(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """A 200 to GET or HEAD gets an ETag and may be cached. Names are in the language of the caller."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        if response.status_code != 200 or request.method not in ("GET", "HEAD"):
            return response
        assert isinstance(response, HttpResponse)
        if isinstance(response, SimpleTemplateResponse):
            response.render()
        # The addresses of other pages, and how many things there are, stand in headers.
        beside = get_language(), response.get("Link"), response.get("Total-Count")
        content = SERVER_TIME.sub(b"", response.content) + str(beside).encode()
        return with_tag(request, response, content=content)

    return answered


def with_tag(request: HttpRequest, response: HttpResponse, *, content: bytes) -> HttpResponseBase:
    """The response with an ETag of `content`; a 304 for a client that has it."""
    response["Cache-Control"] = CACHE_CONTROL
    response["ETag"] = f'"{blake2b(content, digest_size=12).hexdigest()}"'
    return get_conditional_response(request, etag=response["ETag"], response=response) or response
