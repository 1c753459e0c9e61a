"""Answers of the API that are the same for everybody: an ETag, and caches may keep them for a second."""

from collections.abc import Callable
from functools import wraps
from hashlib import blake2b
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.response import SimpleTemplateResponse
from django.utils.cache import get_conditional_response
from django.utils.translation import get_language

from shop.http.public_page import CACHE_CONTROL


def public_answer(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """A 200 to GET or HEAD gets both, and is a 304 for who knows it. Names are in the language of the caller."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        if response.status_code != 200 or request.method not in ("GET", "HEAD"):
            return response
        assert isinstance(response, HttpResponse)
        if isinstance(response, SimpleTemplateResponse):
            response.render()
        # The addresses of other pages are in a header.
        content = response.content + f"{get_language()} {response.get('Link')}".encode()
        response["Cache-Control"] = CACHE_CONTROL
        response["ETag"] = f'"{blake2b(content, digest_size=12).hexdigest()}"'
        return get_conditional_response(request, etag=response["ETag"], response=response) or response

    return answered
