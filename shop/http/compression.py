"""Compressed answers of Django: pages and JSON that web processes do not keep in memory (web/shell_forms.py has those).

The length of a compressed answer may tell a secret in it to somebody who can put words into the same answer (BREACH).
Django adds a random number of bytes to each one, and masks CSRF tokens anew in each page.
"""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware

# Pictures, PDF files and workbooks are compressed already.
COMPRESSIBLE = ("text/", "application/json", "application/problem+json", "application/vnd.oai.openapi")
UNCOMPRESSED = "stampede.uncompressed"
# A weight of nothing is a refusal (RFC 9110, 12.4.2).
GZIP_REFUSED = re.compile(r"gzip[ \t]*;[ \t]*q=0(?:\.0*)?[ \t]*(?:,|$)", re.IGNORECASE)


class Compression(GZipMiddleware):
    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if UNCOMPRESSED in request.META or not response.get("Content-Type", "").startswith(COMPRESSIBLE):
            return response
        if not takes_gzip(request.META.get("HTTP_ACCEPT_ENCODING")):
            # Django looks for the name alone.
            request.META["HTTP_ACCEPT_ENCODING"] = ""
        return super().process_response(request, response)


def takes_gzip(accepted: str | None) -> bool:
    """Whether the client that sent this Accept-Encoding takes compressed answers."""
    return accepted is not None and "gzip" in accepted and not (";" in accepted and GZIP_REFUSED.search(accepted))


def uncompressed(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """For the small answers of a stampede: a web process learns their headers, and gives the same to all clients."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        request.META[UNCOMPRESSED] = True
        return view(request, *args, **kwargs)

    return answered
