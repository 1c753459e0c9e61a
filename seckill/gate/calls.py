"""Which calls the gate can answer: ordinary ones, with nothing unusual about them. All others are for the views."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.http import parse_cookie

from seckill import passes
from seckill.models import UNITS_MAX

PATH = re.compile(r"/api/v1/(sale-items|sales)/([1-9][0-9]{0,14})/(live|reservations)/")
# What a program writes for `{}` and `{"units": 1}`. Any other valid JSON is for the view.
BODY = re.compile(rb'[ \t\r\n]*\{[ \t\r\n]*(?:"units"[ \t\r\n]*:[ \t\r\n]*([1-9][0-9]{0,8})[ \t\r\n]*)?\}[ \t\r\n]*')
CONTENT_TYPES = {"application/json", "application/json; charset=utf-8", "application/json;charset=utf-8"}
# Headers on which a view or the middleware may act in ways that the gate does not know.
UNUSUAL = {"transfer-encoding", "if-match", "if-modified-since", "if-unmodified-since", "range", "expect", "upgrade"}
# Clients choose the headers that make a context, and contexts are remembered. Longer ones go to the view.
CONTEXT_LENGTH_MAX = 300


class Kind(StrEnum):
    ITEM_LIVE = "item_live"
    SALE_LIVE = "sale_live"
    RESERVATION = "reservation"


KINDS = {
    ("GET", "sale-items", "live"): Kind.ITEM_LIVE,
    ("GET", "sales", "live"): Kind.SALE_LIVE,
    ("POST", "sale-items", "reservations"): Kind.RESERVATION,
}


@dataclass(slots=True)
class Call:
    """A call that the gate understands. `object_id` is the item, or the sale for SALE_LIVE.

    `context` is all that the middleware looks at: calls with the same context get the same headers and language.
    """

    kind: Kind
    object_id: int
    context: tuple[str | None, ...]
    if_none_match: str | None = None
    pass_: passes.Pass | None = None


def read_call(scope: Any, body: bytes) -> Call | None:
    """The call, or None if it is not for the gate. `scope` is that of RSGI."""
    match = PATH.fullmatch(scope.path)
    kind = KINDS.get((scope.method, match[1], match[3])) if match else None
    if match is None or kind is None or scope.query_string:
        return None
    items = scope.headers.items()
    headers: dict[str, str] = dict(items)
    # A header that came twice is joined for the views, which is not worth doing here.
    if len(headers) != len(items) or not UNUSUAL.isdisjoint(headers):
        return None
    # `Accept: application/json; indent=4` gives another body.
    if "indent" in headers.get("accept", ""):
        return None
    cookies, object_id = headers.get("cookie"), int(match[2])
    context = context_of(scope, headers, cookies)
    if sum(len(text) for text in context if text) > CONTEXT_LENGTH_MAX:
        return None
    if kind is not Kind.RESERVATION:
        return None if body else Call(kind, object_id, context, headers.get("if-none-match"))
    # The view compares the pass with the session.
    if cookies is not None and settings.SESSION_COOKIE_NAME in cookies:
        return None
    pass_ = read_pass(headers.get("authorization", ""))
    if pass_ is None or pass_.item_id != object_id or not is_valid_body(headers, body):
        return None
    return Call(kind, object_id, context, pass_=pass_)


def context_of(scope: Any, headers: dict[str, str], cookies: str | None) -> tuple[str | None, ...]:
    name = settings.LANGUAGE_COOKIE_NAME
    return (
        headers.get("host") or scope.authority,
        headers.get("accept"),
        headers.get("accept-language"),
        headers.get("x-forwarded-proto"),
        parse_cookie(cookies).get(name) if cookies is not None and name in cookies else None,
    )


def read_pass(authorization: str) -> passes.Pass | None:
    """The pass in the header, if it is valid."""
    scheme, _space, text = authorization.partition(" ")
    if scheme != "Pass":
        return None
    try:
        return passes.read(text)
    except (passes.PassInvalid, passes.PassExpired):
        return None


def is_valid_body(headers: dict[str, str], body: bytes) -> bool:
    """Whether the view would take the body. False also where it might."""
    if not body:
        return (
            headers.get("content-length", "0") == "0"
            and headers.get("content-type", "application/json") in CONTENT_TYPES
        )
    match = BODY.fullmatch(body)
    return (
        match is not None
        and (match[1] is None or int(match[1]) <= UNITS_MAX)
        and headers.get("content-type") in CONTENT_TYPES
        and headers.get("content-length") == str(len(body))
    )
