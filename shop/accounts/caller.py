"""Fast sign-in check, by one session or one token, in one query; `None` means that Django decides.

Django's and DRF's own code does more: it refuses, renews keys, deletes expired rows, sets cookies. So the check says
`None` wherever one of their conditions does not hold, and leaves none of them out.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIRequest
from django.db.models import OuterRef, Subquery
from django.http import HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from knox.crypto import hash_token
from rest_framework.authentication import CSRFCheck

from shop.accounts import sign_in_hint
from shop.accounts.session_store import SessionStore
from shop.databases.prepared import Prepared
from shop.models import ApiToken, BuyerLanguage

# Of any other, Django asks how it finds its users.
BACKEND = "django.contrib.auth.backends.ModelBackend"
BEARER = re.compile(r"Bearer ([0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Caller:
    """A person who is signed in. `language` is the one in which they last used the shop, None if it is not known."""

    user_id: int
    name: str
    language: str | None


def find_caller(request: WSGIRequest) -> Caller | None:
    """Raises the errors of the cache server's and of PostgreSQL's client."""
    authorization = request.META.get("HTTP_AUTHORIZATION")
    if authorization is None:
        return holder_of_session(request)
    # With both, the middleware looks at the session, and the view at the token.
    return None if request.COOKIES else holder_of_token(authorization)


def holder_of_session(request: WSGIRequest) -> Caller | None:
    """The buyer who is signed in with the session's cookie. A call that changes something needs the token of forms."""
    key, hint = request.COOKIES.get(settings.SESSION_COOKIE_NAME), request.COOKIES.get(sign_in_hint.COOKIE)
    if not key or not hint or not passes_csrf_check(request):
        return None
    session = SessionStore(key)
    user_id, auth_hash = session.get(SESSION_KEY), session.get(HASH_SESSION_KEY)
    if not user_id or not auth_hash or session.get(BACKEND_SESSION_KEY) != BACKEND:
        return None
    # Otherwise the middleware sets the cookie.
    if hint != sign_in_hint.hint_of(str(user_id)):
        return None
    row = user_by_id().first(int(user_id))
    if row is None:
        return None
    *values, language = row
    user = User.from_db(None, USER_FIELDS, values)
    if not user.is_active or not constant_time_compare(auth_hash, user.get_session_auth_hash()):
        return None
    return Caller(user_id=user.pk, name=user.get_username(), language=language)


def passes_csrf_check(request: WSGIRequest) -> bool:
    """DRF's own check for callers with a session, which lets reading through. False also if a cookie would be set."""
    check = CSRFCheck(lambda request: HttpResponse())
    check.process_request(request)
    refused = check.process_view(request, None, (), {})  # type: ignore[arg-type]
    return refused is None and "CSRF_COOKIE_NEEDS_UPDATE" not in request.META


def holder_of_token(authorization: str) -> Caller | None:
    """The user of the bearer token. Other tokens of theirs that have expired are deleted by the next sign-in."""
    match = BEARER.fullmatch(authorization)
    row = token_by_digest().first(hash_token(match[1])) if match else None
    if row is None:
        return None
    expiry, auth_hash, *values, language = row
    token = ApiToken(auth_hash=auth_hash, expiry=expiry, user=User.from_db(None, USER_FIELDS, values))
    if expiry is not None and expiry < timezone.now():
        return None
    if not token.user.is_active or not token.has_current_password():
        return None
    return Caller(user_id=token.user.pk, name=token.user.get_username(), language=language)


USER_FIELDS = ("id", "password", "username", "is_active")


@lru_cache(maxsize=1)
def user_by_id() -> Prepared:
    return Prepared(User.objects.filter(pk=0).values_list(*USER_FIELDS, language_of(OuterRef("pk"))))


@lru_cache(maxsize=1)
def token_by_digest() -> Prepared:
    of_user = [f"user__{name}" for name in USER_FIELDS]
    tokens = ApiToken.objects.filter(digest="")
    return Prepared(tokens.values_list("expiry", "auth_hash", *of_user, language_of(OuterRef("user_id"))))


def language_of(user_id: Any) -> Subquery:
    return Subquery(BuyerLanguage.objects.filter(user_id=user_id).values("language"))
