"""Recognizes ordinary calls, which the gate and the hot lane can answer. All other calls are for the views.

A call is ordinary if it contains nothing that a view or the middleware could treat in a special way: a reservation has
a valid pass, a small JSON body or none, and no session. For a pass, the status of a reservation or what is personal, a
thread finds out later whether the caller is signed in (shop/accounts/caller.py).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.http import parse_cookie

from seckill.models import UNITS_MAX
from seckill.passes import passes
from seckill.passes.passes import item_id_of
from seckill.waiting_room import place_tokens
from seckill.waiting_room.place_tokens import PlaceToken
from shop.configuration.quick_setting import setting
from web.addresses import ITEM_CALL, ITEM_CALL_LENGTH_MAX, ME, STATUS
from web.wsgi_request import REPEATED

# `{}` and `{"units": 1}` as programs write them. Any other valid JSON is for the view.
BODY = re.compile(rb'[ \t\r\n]*\{[ \t\r\n]*(?:"units"[ \t\r\n]*:[ \t\r\n]*([1-9][0-9]{0,8})[ \t\r\n]*)?\}[ \t\r\n]*')
BODY_BYTES_MAX = 100
CONTENT_TYPES = {"application/json", "application/json; charset=utf-8", "application/json;charset=utf-8"}
# What a page of a sale asks besides, and other pages do not.
ME_QUERY = re.compile(r"(?:sale=([1-9][0-9]{0,14}))?")
# The values of clients that want JSON or take any type. Other values may ask for a type that the views refuse.
ACCEPT = {None, "*/*", "application/json", "application/json, text/plain, */*"}
# Headers on which a view or the middleware may act in ways that the gate does not know.
UNUSUAL = {
    *("transfer-encoding", "if-match", "if-modified-since", "if-unmodified-since", "range", "expect", "upgrade"),
    # Joining the values is not worth doing here.
    REPEATED,
}


class Kind(StrEnum):
    ITEM_LIVE = "item_live"
    SALE_LIVE = "sale_live"
    RESERVATION = "reservation"
    PASS = "pass"
    STATUS = "status"
    ME = "me"
    PLACE = "place"

    # That of enums is a function in Python, called each time a kind is looked for in a dict.
    __hash__ = str.__hash__


LIVE_KINDS = (Kind.ITEM_LIVE, Kind.SALE_LIVE)
# Calls of people who are signed in.
OF_SIGNED_IN = (Kind.PASS, Kind.STATUS, Kind.ME)
# Calls with GET, which have no body.
QUESTIONS = {*LIVE_KINDS, Kind.STATUS, Kind.ME, Kind.PLACE}
# By the parts of the path, then by method.
KINDS = {
    ("sale-items", "live"): {"GET": Kind.ITEM_LIVE},
    ("sales", "live"): {"GET": Kind.SALE_LIVE},
    ("sale-items", "reservations"): {"POST": Kind.RESERVATION},
    ("sale-items", "passes"): {"POST": Kind.PASS},
    ("sales", "queue"): {"GET": Kind.PLACE},
}
NO_KINDS: Mapping[str, Kind] = MappingProxyType({})

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


# The values on which headers and language of an answer depend (`context_of`).
Context = tuple[str | None, ...]
# A question for live figures or for a place: its kind, the item or sale, the context, and the ETag of the figures that
# the caller has, or the token.
Question = tuple[Kind, int, Context, str | PlaceToken | None]


@dataclass(slots=True)
class OrdinaryCall:
    """An ordinary call. `object_id` is the item, or the sale for SALE_LIVE, PLACE and ME, 0 for no sale.

    A reservation has `pass_` and `units`.
    `context` has all values that the middleware reads: calls with the same context get the same headers and language.
    Calls that need a signed-in caller have the `scope`, whose headers identify the caller.
    """

    kind: Kind
    object_id: int
    context: Context
    if_none_match: str | None = None
    pass_: passes.Pass | None = None
    units: int = 0
    reservation_id: UUID | None = None
    scope: Any = None


def read_call(scope: Any, path: str, headers: dict[str, str], body: bytes) -> OrdinaryCall | None:
    """The call, or None if it is not an ordinary one. `scope` is that of RSGI."""
    asked = item_call_at(path) if len(path) <= ITEM_CALL_LENGTH_MAX else None
    if asked is None:
        if path == ME:
            return read_me_call(scope, headers, body)
        return read_status_call(scope, path, headers, body)
    kinds, object_id = asked
    kind = kinds.get(scope.method)
    if kind is None or not is_ordinary(scope, headers):
        return None
    context = context_of(scope, headers)
    if kind is Kind.RESERVATION:
        return read_reservation_call(object_id, headers, context, body)
    if kind is Kind.PASS:
        who = ordinary_sign_in(headers)
        fine = who and is_json(headers, body) and read_units(body) == 0
        return OrdinaryCall(kind, object_id, (*context, who), scope=scope) if fine else None
    if kind is Kind.PLACE:
        place = None if body else read_place(headers, sale_id=object_id)
        return OrdinaryCall(kind, object_id, context) if place else None
    return None if body else OrdinaryCall(kind, object_id, context, headers.get("if-none-match"))


def read_question(scope: Any, path: str, headers: dict[str, str]) -> Question | None:
    """What an ordinary call without a body asks; None if it asks neither for live figures nor for a place."""
    asked = item_call_at(path) if len(path) <= ITEM_CALL_LENGTH_MAX else None
    kind = asked[0].get(scope.method) if asked else None
    if asked is None or kind is None or "content-length" in headers or not is_ordinary(scope, headers):
        return None
    object_id = asked[1]
    if kind in LIVE_KINDS:
        return kind, object_id, context_of(scope, headers), headers.get("if-none-match")
    place = read_place(headers, sale_id=object_id) if kind is Kind.PLACE else None
    return (kind, object_id, context_of(scope, headers), place) if place else None


def read_reservation_call(item_id: int, headers: dict[str, str], context: Context, body: bytes) -> OrdinaryCall | None:
    # The view compares the pass with the session.
    if headers.get("accept") not in ACCEPT or setting("SESSION_COOKIE_NAME") in headers.get("cookie", ""):
        return None
    units = read_units(body) if is_json(headers, body) else None
    if units is None:
        return None
    pass_ = read_pass(headers.get("authorization", ""))
    if pass_ is None or pass_.item_id != item_id:
        return None
    return OrdinaryCall(Kind.RESERVATION, item_id, context, pass_=pass_, units=units or 1)


def read_status_call(scope: Any, path: str, headers: dict[str, str], body: bytes) -> OrdinaryCall | None:
    match = STATUS.fullmatch(path)
    if match is None or scope.method != "GET" or body or not is_ordinary(scope, headers):
        return None
    who, reservation_id = ordinary_sign_in(headers), UUID(match[1])
    if who is None:
        return None
    context, item_id = (*context_of(scope, headers), who), item_id_of(reservation_id)
    return OrdinaryCall(Kind.STATUS, item_id, context, reservation_id=reservation_id, scope=scope)


def read_me_call(scope: Any, headers: dict[str, str], body: bytes) -> OrdinaryCall | None:
    query = ME_QUERY.fullmatch(scope.query_string)
    if query is None or scope.method != "GET" or body or not is_ordinary(scope, headers, has_query=True):
        return None
    who = ordinary_sign_in(headers)
    if who is None:
        return None
    return OrdinaryCall(Kind.ME, int(query[1] or 0), (*context_of(scope, headers), who), scope=scope)


# Paths of any length would be remembered, so callers compare the length first.
@lru_cache(maxsize=1_000)
def item_call_at(path: str) -> tuple[Mapping[str, Kind], int] | None:
    """The kinds of calls at the path of an item or a sale, by method; and its id. None for other paths."""
    match = ITEM_CALL.fullmatch(path)
    return (KINDS.get((match[1], match[3]), NO_KINDS), int(match[2])) if match else None


def is_ordinary(scope: Any, headers: dict[str, str], *, has_query: bool = False) -> bool:
    """Whether no view need read the headers. `has_query`: the call has a query, and the caller reads it."""
    if (scope.query_string and not has_query) or not UNUSUAL.isdisjoint(headers):
        return False
    # `Accept: application/json; indent=4` gives another body.
    return "indent" not in headers.get("accept", "")


def ordinary_sign_in(headers: dict[str, str]) -> str | None:
    """The kind of sign-in. None with both kinds or neither, and for headers that only the views can read."""
    cookies, authorization = headers.get("cookie"), headers.get("authorization")
    if headers.get("accept") not in ACCEPT or not (cookies or authorization or "").isascii():
        return None
    if cookies is None:
        return None if authorization is None else "token"
    return "session" if authorization is None else None


def context_of(scope: Any, headers: dict[str, str]) -> Context:
    cookies = headers.get("cookie")
    return (
        headers.get("host"),
        headers.get("accept"),
        headers.get("accept-language"),
        headers.get("x-forwarded-proto"),
        scope.scheme,
        chosen_language(cookies) if cookies else None,
    )


def chosen_language(cookies: str | None) -> str | None:
    """What the cookie of the language says, which may be anything."""
    name = setting("LANGUAGE_COOKIE_NAME")
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


def read_place(headers: dict[str, str], *, sale_id: int) -> PlaceToken | None:
    """The token of a place in the sale's waiting room, if it is valid."""
    scheme, _space, text = headers.get("authorization", "").partition(" ")
    if scheme != "Place" or len(text) > place_tokens.LENGTH_MAX or headers.get("accept") not in ACCEPT:
        return None
    try:
        place = known_place(text)
    except PlaceInvalid:
        return None
    return place if place.sale_id == sale_id else None


class PlaceInvalid(Exception):
    """The text is not a token of this shop."""


# A page asks for its place again and again, and a signature takes longer than all the rest of reading the call.
@lru_cache(maxsize=20_000)
def known_place(text: str) -> PlaceToken:
    """Raises PlaceInvalid, which is not remembered: anybody can send such texts."""
    place = place_tokens.read(text)
    if place is None:
        raise PlaceInvalid
    return place


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
