"""A cookie that tells the scripts of public pages that the browser is signed in. It proves nothing and opens nothing.

Public pages are the same for everybody, and the session's cookie cannot be read by scripts. So a second one stands
beside it, and only where it is there does a page ask `GET /api/v1/me/`. Its value tells the buyers of one browser
apart, so that one of them does not go on with what another has begun.
"""

import hmac
from collections.abc import Callable
from hashlib import sha256

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponseBase

COOKIE = "signed_in"


class SignInHintMiddleware:
    """Stands outside SessionMiddleware: the hint is set, changed and deleted together with the session's cookie."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        # A session that was not read, or could not be read, is not read here: that would be a call for every request.
        session = getattr(request, "session", None)
        if session is None or "_session_cache" not in vars(session) or response.status_code >= 500:
            return response
        hint = hint_for(request)
        if hint is None:
            if COOKIE in request.COOKIES:
                response.delete_cookie(COOKIE, samesite=settings.SESSION_COOKIE_SAMESITE)
        elif request.COOKIES.get(COOKIE) != hint or settings.SESSION_COOKIE_NAME in response.cookies:
            response.set_cookie(
                COOKIE,
                hint,
                max_age=None if session.get_expire_at_browser_close() else session.get_expiry_age(),
                secure=settings.SESSION_COOKIE_SECURE,
                samesite=settings.SESSION_COOKIE_SAMESITE,
            )
        return response


def hint_for(request: HttpRequest) -> str | None:
    """The cookie's value; None if the browser is not signed in."""
    user_id = request.session.get(SESSION_KEY)
    return hint_of(str(user_id)) if user_id is not None else None


def hint_of(user_id: str) -> str:
    """Short, the same for a user at any time, and without any use to others."""
    return hmac.digest(b"shop.sign_in_hint:" + settings.SECRET_KEY.encode(), user_id.encode(), sha256).hex()[:12]
