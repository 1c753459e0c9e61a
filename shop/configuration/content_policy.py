"""The Content-Security-Policy: where pages may load things from, and where their forms may lead."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from csp.constants import NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE


def content_policy(*, providers: Sequence[str], media_url: str) -> dict[str, Any]:
    """`media_url` is the setting: where product pictures are, here or at another host."""
    media = urlsplit(media_url)
    return {
        "DIRECTIVES": {
            "default-src": [SELF],
            "img-src": [SELF, "data:", *([f"{media.scheme or 'https'}://{media.netloc}"] if media.netloc else [])],
            "object-src": [NONE],
            "base-uri": [NONE],
            "frame-ancestors": [NONE],
            # The button that leads to a payment page is a form, and browsers check its redirect too.
            "form-action": [SELF, *(["https://checkout.stripe.com"] if "stripe" in providers else [])],
        },
    }


# More for the admin's pages. Its theme has inline scripts and evaluates expressions in attributes (Alpine.js). What is
# injected there can run, but loads nothing from elsewhere, sends nothing there, and is in nobody's frame.
ADMIN_MORE = {"script-src": [SELF, UNSAFE_INLINE, UNSAFE_EVAL], "style-src": [SELF, UNSAFE_INLINE]}
