"""The language of a page is part of its address: English at `/`, Chinese at `/zh-hans/`.

The API, the admin and the addresses for machines have one address for all languages; there the language is the
choice of the visitor (a cookie), or the one that the browser asks for.
"""

import re
from typing import cast

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation
from django.utils.cache import patch_vary_headers

# Everything else is a page. `shop/urls.py` has the same division.
PICTURES = (settings.MEDIA_URL,) if settings.MEDIA_URL.startswith("/") else ()
ONE_ADDRESS = ("/api/", "/admin/", "/static/", "/i18n/", "/healthz", "/readyz", "/metrics", *PICTURES)
OTHER_LANGUAGES = [code for code, _name in settings.LANGUAGES if code != settings.LANGUAGE_CODE]
PREFIX = re.compile(rf"/({'|'.join(OTHER_LANGUAGES)})(?=/|$)")


def is_page(path: str) -> bool:
    """Whether the address says the language. `path` is from the root and has no query."""
    return not path.startswith(ONE_ADDRESS)


def language_of_path(path: str) -> str:
    """The language of the page at `path`."""
    match = PREFIX.match(path)
    return match[1] if match else settings.LANGUAGE_CODE


def path_in(language: str, path: str) -> str:
    """The address of the same page in another language, with its query and fragment. Others stay as they are."""
    if not is_page(path):
        return path
    match = PREFIX.match(path)
    # A browser takes the text behind two slashes for a host, and a backslash for a slash.
    bare = re.sub(r"\A[/\\]+", "/", path[match.end() :] if match else path) or "/"
    return bare if language == settings.LANGUAGE_CODE else f"/{language}{bare}"


class PageLanguageMiddleware(LocaleMiddleware):
    """Django's own would answer the API and the admin in English, since they have no prefix.

    Its thread keeps the language afterwards, since it may still write links.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with translation.override(settings.LANGUAGE_CODE):
            return cast(HttpResponseBase, super().__call__(request))

    def process_request(self, request: HttpRequest) -> None:
        path = request.path_info
        language = language_of_path(path) if is_page(path) else translation.get_language_from_request(request)
        translation.activate(language)
        request.LANGUAGE_CODE = translation.get_language() or language

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not is_page(request.path_info):
            patch_vary_headers(response, ("Accept-Language",))
        response.headers.setdefault("Content-Language", translation.get_language() or settings.LANGUAGE_CODE)
        return response
