"""Which calls the gate and the hot lane can answer: ordinary ones. All others are for the views.

A call is ordinary if there is nothing in it on which a view or the middleware could act in another way: for a
reservation a valid pass, a small JSON body or none, and no session.
"""

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
BODY_BYTES_MAX = 100
CONTENT_TYPES = {"application/json", "application/json; charset=utf-8", "application/json;charset=utf-8"}
# What clients send who want JSON or do not care. Others may want something that the view of reservations refuses.
ACCEPT = {None, "*/*", "application/json", "application/json, text/plain, */*"}
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
    """An ordinary call. `object_id` is the item, or the sale for SALE_LIVE; a reservation has `pass_` and `units`.

    `context` is all that the middleware looks at: calls with the same context get the same headers and language.
    """

    kind: Kind
    object_id: int
    context: tuple[str | None, ...]
    if_none_match: str | None = None
    pass_: passes.Pass | None = None
    units: int = 0


def read_call(scope: Any, body: bytes) -> Call | None:
    """The call, or None if it is not an ordinary one. `scope` is that of RSGI."""
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
    if headers.get("accept") not in ACCEPT or (cookies is not None and settings.SESSION_COOKIE_NAME in cookies):
        return None
    units = read_units(headers, body)
    if units is None:
        return None
    pass_ = read_pass(headers.get("authorization", ""))
    if pass_ is None or pass_.item_id != object_id:
        return None
    return Call(kind, object_id, context, pass_=pass_, units=units)


def context_of(scope: Any, headers: dict[str, str], cookies: str | None) -> tuple[str | None, ...]:
    name = settings.LANGUAGE_COOKIE_NAME
    return (
        headers.get("host") or scope.authority,
        headers.get("accept"),
        headers.get("accept-language"),
        headers.get("x-forwarded-proto"),
        scope.scheme,
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


def read_units(headers: dict[str, str], body: bytes) -> int | None:
    """The units asked for, 1 if there is no body; None where the view would refuse the body, or might."""
    if not body:
        no_body = headers.get("content-length", "0") == "0"
        return 1 if no_body and headers.get("content-type", "application/json") in CONTENT_TYPES else None
    if len(body) > BODY_BYTES_MAX or headers.get("content-length") != str(len(body)):
        return None
    match = BODY.fullmatch(body)
    if match is None or headers.get("content-type") not in CONTENT_TYPES:
        return None
    units = int(match[1] or 1)
    return units if units <= UNITS_MAX else None
