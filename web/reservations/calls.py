"""Recognizes ordinary calls, which the gate and the hot lane can answer. All other calls are for the views.

A call is ordinary if it contains nothing that a view or the middleware could treat in a special way: a reservation has
a valid pass, a small JSON body or none, and no session. For a pass, the status of a reservation or what is personal, a
thread finds out later whether the caller is signed in (shop/accounts/caller.py).
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import parse_cookie

from seckill.models import UNITS_MAX
from seckill.passes import passes
from seckill.passes.passes import item_id_of
from seckill.waiting_room import place_tokens
from seckill.waiting_room.place_tokens import PlaceToken
from web.addresses import ITEM_CALL, ME, STATUS

# `{}` and `{"units": 1}` as programs write them. Any other valid JSON is for the view.
BODY = re.compile(rb'[ \t\r\n]*\{[ \t\r\n]*(?:"units"[ \t\r\n]*:[ \t\r\n]*([1-9][0-9]{0,8})[ \t\r\n]*)?\}[ \t\r\n]*')
BODY_BYTES_MAX = 100
CONTENT_TYPES = {"application/json", "application/json; charset=utf-8", "application/json;charset=utf-8"}
# What a page of a sale asks besides, and other pages do not.
ME_QUERY = re.compile(r"(?:sale=([1-9][0-9]{0,14}))?")
# The values of clients that want JSON or take any type. Other values may ask for a type that the views refuse.
ACCEPT = {None, "*/*", "application/json", "application/json, text/plain, */*"}
# Headers on which a view or the middleware may act in ways that the gate does not know.
UNUSUAL = {"transfer-encoding", "if-match", "if-modified-since", "if-unmodified-since", "range", "expect", "upgrade"}
# Clients choose the headers that make a context, and contexts are remembered. Longer ones go to the view.
CONTEXT_LENGTH_MAX = 300


class Kind(StrEnum):
    ITEM_LIVE = "item_live"
    SALE_LIVE = "sale_live"
    RESERVATION = "reservation"
    PASS = "pass"
    STATUS = "status"
    ME = "me"
    PLACE = "place"


# Calls of people who are signed in.
OF_SIGNED_IN = (Kind.PASS, Kind.STATUS, Kind.ME)
KINDS = {
    ("GET", "sale-items", "live"): Kind.ITEM_LIVE,
    ("GET", "sales", "live"): Kind.SALE_LIVE,
    ("POST", "sale-items", "reservations"): Kind.RESERVATION,
    ("POST", "sale-items", "passes"): Kind.PASS,
    ("GET", "sales", "queue"): Kind.PLACE,
}


# The names of their routes.
ENDPOINTS = {
    Kind.ITEM_LIVE: "api-live",
    Kind.SALE_LIVE: "api-sale-live",
    Kind.RESERVATION: "api-reserve",
    Kind.PASS: "api-passes",
    Kind.STATUS: "api-reservation",
    Kind.ME: "api-me",
    Kind.PLACE: "api-queue",
}


@dataclass(slots=True)
class OrdinaryCall:
    """An ordinary call. `object_id` is the item, or the sale for SALE_LIVE, PLACE and ME, 0 for no sale.

    A reservation has `pass_` and `units`, a question for a place in a waiting room its token.
    `context` has all values that the middleware reads: calls with the same context get the same headers and language.
    Calls that need a signed-in caller have the `scope`, whose headers identify the caller.
    """

    kind: Kind
    object_id: int
    context: tuple[str | None, ...]
    if_none_match: str | None = None
    pass_: passes.Pass | None = None
    units: int = 0
    reservation_id: UUID | None = None
    scope: Any = None
    place: PlaceToken | None = None


def read_call(scope: Any, body: bytes) -> OrdinaryCall | None:
    """The call, or None if it is not an ordinary one. `scope` is that of RSGI."""
    match = ITEM_CALL.fullmatch(scope.path)
    if match is None:
        return read_me_call(scope, body) if scope.path == ME else read_status_call(scope, body)
    kind = KINDS.get((scope.method, match[1], match[3]))
    headers = ordinary_headers(scope) if kind else None
    if kind is None or headers is None:
        return None
    context, object_id = context_of(scope, headers), int(match[2])
    if context is None:
        return None
    if kind is Kind.RESERVATION:
        return read_reservation_call(object_id, headers, context, body)
    if kind is Kind.PASS:
        who = ordinary_sign_in(headers)
        fine = who and is_json(headers, body) and read_units(body) == 0
        return OrdinaryCall(kind, object_id, (*context, who), scope=scope) if fine else None
    if kind is Kind.PLACE:
        place = None if body else read_place(headers)
        fits = place is not None and place.sale_id == object_id
        return OrdinaryCall(kind, object_id, context, place=place) if fits else None
    return None if body else OrdinaryCall(kind, object_id, context, headers.get("if-none-match"))


def read_reservation_call(
    item_id: int, headers: dict[str, str], context: tuple[str | None, ...], body: bytes
) -> OrdinaryCall | None:
    # The view compares the pass with the session.
    if headers.get("accept") not in ACCEPT or settings.SESSION_COOKIE_NAME in headers.get("cookie", ""):
        return None
    units = read_units(body) if is_json(headers, body) else None
    if units is None:
        return None
    pass_ = read_pass(headers.get("authorization", ""))
    if pass_ is None or pass_.item_id != item_id:
        return None
    return OrdinaryCall(Kind.RESERVATION, item_id, context, pass_=pass_, units=units or 1)


def read_status_call(scope: Any, body: bytes) -> OrdinaryCall | None:
    match = STATUS.fullmatch(scope.path)
    headers = ordinary_headers(scope) if match and scope.method == "GET" and not body else None
    context = context_of(scope, headers) if headers is not None else None
    who = ordinary_sign_in(headers) if headers is not None else None
    if match is None or context is None or who is None:
        return None
    reservation_id = UUID(match[1])
    return OrdinaryCall(
        Kind.STATUS, item_id_of(reservation_id), (*context, who), reservation_id=reservation_id, scope=scope
    )


def read_me_call(scope: Any, body: bytes) -> OrdinaryCall | None:
    query = ME_QUERY.fullmatch(scope.query_string)
    headers = ordinary_headers(scope, has_query=True) if query and scope.method == "GET" and not body else None
    context = context_of(scope, headers) if headers is not None else None
    who = ordinary_sign_in(headers) if headers is not None else None
    if query is None or context is None or who is None:
        return None
    return OrdinaryCall(Kind.ME, int(query[1] or 0), (*context, who), scope=scope)


def ordinary_headers(scope: Any, *, has_query: bool = False) -> dict[str, str] | None:
    """The headers; None if a view must read them. `has_query`: the call has a query, and the caller reads it."""
    items = scope.headers.items()
    headers: dict[str, str] = dict(items)
    # A header that came twice is joined for the views, which is not worth doing here.
    if (scope.query_string and not has_query) or len(headers) != len(items) or not UNUSUAL.isdisjoint(headers):
        return None
    # `Accept: application/json; indent=4` gives another body.
    return None if "indent" in headers.get("accept", "") else headers


def ordinary_sign_in(headers: dict[str, str]) -> str | None:
    """The kind of sign-in. None with both kinds or neither, and for headers that only the views can read."""
    cookies, authorization = headers.get("cookie"), headers.get("authorization")
    if headers.get("accept") not in ACCEPT or not (cookies or authorization or "").isascii():
        return None
    if cookies is None:
        return None if authorization is None else "token"
    return "session" if authorization is None else None


def context_of(scope: Any, headers: dict[str, str]) -> tuple[str | None, ...] | None:
    """The call's context; None if it is too long to be remembered."""
    cookies = headers.get("cookie")
    context = (
        headers.get("host") or scope.authority,
        headers.get("accept"),
        headers.get("accept-language"),
        headers.get("x-forwarded-proto"),
        scope.scheme,
        chosen_language(cookies) if cookies else None,
    )
    return context if len("".join(filter(None, context))) <= CONTEXT_LENGTH_MAX else None


def chosen_language(cookies: str | None) -> str | None:
    """What the cookie of the language says, which may be anything."""
    name = settings.LANGUAGE_COOKIE_NAME
    return parse_cookie(cookies).get(name) if cookies is not None and name in cookies else None


def read_pass(authorization: str) -> passes.Pass | None:
    """The pass in the header, if it is valid."""
    scheme, _space, text = authorization.partition(" ")
    if scheme != "Pass":
        return None
    try:
        return passes.read(text)
    except (passes.PassInvalid, passes.PassExpired):
        return None


def read_place(headers: dict[str, str]) -> PlaceToken | None:
    """The token of a place in a waiting room, if it is valid."""
    scheme, _space, text = headers.get("authorization", "").partition(" ")
    return known_place(text) if scheme == "Place" and headers.get("accept") in ACCEPT else None


# A page asks for its place again and again, and a signature takes longer than all the rest of reading the call.
known_place = lru_cache(maxsize=20_000)(place_tokens.read)


def is_json(headers: dict[str, str], body: bytes) -> bool:
    """Whether the view would take the body for JSON, or for none."""
    if not body:
        return headers.get("content-length", "0") == "0" and (
            headers.get("content-type", "application/json") in CONTENT_TYPES
        )
    return headers.get("content-length") == str(len(body)) and headers.get("content-type") in CONTENT_TYPES


# Most bodies are the same few.
@lru_cache(maxsize=100)
def read_units(body: bytes) -> int | None:
    """The requested units, 0 if the body does not say; None where the view would refuse the body, or might."""
    if not body:
        return 0
    match = BODY.fullmatch(body) if len(body) <= BODY_BYTES_MAX else None
    units = int(match[1] or 0) if match else None
    return units if units is not None and units <= UNITS_MAX else None
