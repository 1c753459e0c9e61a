"""Passes and the status of reservations: the hot lane answers as the views do, and with the same checks of who asks."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from itertools import product as product_of
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.translation import override

from orders.life import lifecycle
from orders.models import Order, OrderStatus, Payment
from orders.payments import sessions
from orders.tasks import move_waiting_rooms
from seckill import ledger
from seckill.ledger_words import ReleaseReason
from seckill.line.waiting_list import sweep_lines
from seckill.models import Sale, SaleChange, SaleItem, WaitingRoom
from seckill.passes import passes
from seckill.waiting_room.room_ledger import arrive
from shop.accounts.sign_in_hint import hint_of
from shop.models import ApiToken, BuyerLanguage
from shop.wsgi import application as django
from tests.steps import staff
from tests.steps.buying import drained, reserve, reserve_often
from tests.steps.shop import make_item, make_product
from tests.steps.store import store_away
from tests.steps.waiting import join
from tests.web.reservations.lane import Answer, Environ, Lane, call, environ
from web.reservations import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_connection_stays_open")]

LANGUAGES = [None, "en-GB,en;q=0.8", "zh-CN,zh;q=0.9"]
OF_ONE_PASS = re.compile(rb'"(pass|expires_at)": ?"[^"]*"')


def session_of(user: User) -> dict[str, Any]:
    """What the browser of somebody who is signed in sends with the shop's calls."""
    client = Client()
    client.force_login(user)
    cookies = {"sessionid": client.cookies["sessionid"].value}
    me = call(django, environ("GET", "/api/v1/me/", **with_cookies(cookies)))
    for name, value in me.headers:
        if name == "Set-Cookie":
            cookies |= dict([value.strip().split(";")[0].split("=", 1)])
    assert set(cookies) == {"sessionid", "signed_in", "csrftoken"}
    return with_cookies(cookies)


def with_cookies(cookies: dict[str, str]) -> dict[str, Any]:
    text = "; ".join(f"{name}={value}" for name, value in cookies.items())
    return {"HTTP_COOKIE": text, "HTTP_X_CSRFTOKEN": cookies.get("csrftoken")}


def cookies_in(environ: dict[str, Any]) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in environ["HTTP_COOKIE"].split("; "))


def token_of(user: User, **fields: Any) -> dict[str, Any]:
    _row, token = ApiToken.objects.create(user=user, **fields)
    return {"HTTP_AUTHORIZATION": f"Bearer {token}"}


WHO: dict[str, Callable[[User], dict[str, Any]]] = {"session": session_of, "token": token_of}


def asks_pass(item: SaleItem, **more: Any) -> Environ:
    return environ("POST", f"/api/v1/sale-items/{item.pk}/passes/", **{"body": b"{}", **more})


def asks_status(reservation_id: UUID, **more: Any) -> Environ:
    return environ("GET", f"/api/v1/reservations/{reservation_id}/", **more)


def without_pass(answer: Answer) -> tuple[str, list[tuple[str, str]], bytes]:
    return answer.status, answer.headers, OF_ONE_PASS.sub(rb'"\1":""', answer.body)


def test_a_sale_with_a_waiting_room_gives_passes_to_those_who_were_called(
    lane: Lane, item: SaleItem, buyer: User, rival: User
) -> None:
    Sale.objects.update(admission=Sale.Admission.WAITING_ROOM)
    WaitingRoom.objects.create(sale=item.sale, key="ab" * 32)
    move_waiting_rooms()
    arrive(sale_id=item.sale_id, account_id=buyer.pk)
    asked = token_of(buyer)
    assert b"place_not_called" in lane.ask(asks_pass(item, **asked)).body
    move_waiting_rooms()
    of_the_view = lane.ask(asks_pass(item, **asked))
    calls = lane.view.calls
    of_the_lane = lane.ask(asks_pass(item, **asked))
    assert lane.view.calls == calls
    assert of_the_view.status == "201 Created"
    assert without_pass(of_the_lane) == without_pass(of_the_view)
    assert b"place_needed" in lane.ask(asks_pass(item, **token_of(rival))).body


@pytest.mark.parametrize("who", WHO)
def test_a_pass_is_given_as_the_view_gives_it(lane: Lane, item: SaleItem, buyer: User, who: str) -> None:
    caller = WHO[who](buyer)
    for language, body in zip(LANGUAGES, [b"", b"{}", b" { } "], strict=True):
        asked, lane.view.calls = {**caller, "HTTP_ACCEPT_LANGUAGE": language, "body": body}, 0
        of_the_view = lane.ask(asks_pass(item, **asked))
        assert (lane.view.calls, of_the_view.status) == (1, "201 Created"), language
        answer = lane.ask(asks_pass(item, **asked))
        assert lane.view.calls == 1, "the view was asked again"
        assert without_pass(answer) == without_pass(of_the_view), language
        first, second = (passes.read(json.loads(one.body)["pass"]) for one in (of_the_view, answer))
        assert (second.item_id, second.buyer_id) == (item.pk, buyer.pk)
        assert first.reservation_id != second.reservation_id


@pytest.mark.parametrize("who", WHO)
def test_a_limit_of_passes_is_counted_once_by_both_and_refused_by_the_view(
    lane: Lane, item: SaleItem, buyer: User, who: str, settings: LazySettings
) -> None:
    settings.PASS_LIMIT = "3/minute"
    asked = WHO[who](buyer)
    assert [lane.ask(asks_pass(item, **asked)).status for _ in range(3)] == ["201 Created"] * 3
    assert lane.view.calls == 1
    answer = lane.ask(asks_pass(item, **asked))
    assert lane.view.calls == 2
    assert answer.status == "429 Too Many Requests"
    assert json.loads(answer.body)["code"] == "too_many_attempts"
    assert "Retry-After" in dict(answer.headers)


def rejected(item: SaleItem, user: User) -> UUID:
    reservation_id = reserve(item, user)
    ledger.release(item_id=item.pk, reservation_ids=[reservation_id], reason=ReleaseReason.EXPIRED)
    return reservation_id


def awaiting(item: SaleItem, user: User) -> UUID:
    reservation_id = reserve(item, user)
    drained(item)
    return reservation_id


def cancelled(item: SaleItem, user: User) -> UUID:
    reservation_id = awaiting(item, user)
    assert lifecycle.cancel(order_id=Order.objects.get(reservation_id=reservation_id).pk)
    return reservation_id


def expired_on_the_payment_page(item: SaleItem, user: User) -> UUID:
    """The page goes on asking: the buyer may have paid."""
    reservation_id = awaiting(item, user)
    order = Order.objects.get(reservation_id=reservation_id)
    sessions.start(order_id=order.pk, idempotency_key="one")
    assert Payment.objects.get().page_open
    Order.objects.filter(pk=order.pk).update(status=OrderStatus.EXPIRED, ended_at=timezone.now())
    return reservation_id


def waiting(item: SaleItem, user: User) -> UUID:
    Sale.objects.update(waiting_list=True)
    sweep_lines()
    reserve_often(item, 5)
    return join(item, user)


def line_ended(item: SaleItem, user: User) -> UUID:
    place = waiting(item, user)
    staff.change(item, SaleChange.Kind.END_NOW)
    return place


STATES: dict[str, tuple[Callable[[SaleItem, User], UUID], int | None]] = {
    "reserved": (reserve, 500),
    "rejected": (rejected, None),
    "awaiting_payment": (awaiting, 3000),
    "cancelled": (cancelled, None),
    "expired": (expired_on_the_payment_page, 3000),
    "waiting": (waiting, 5000),
    "line_ended": (line_ended, None),
}


@pytest.mark.parametrize("who", WHO)
def test_a_status_is_that_of_the_view(lane: Lane, item: SaleItem, buyer: User, rival: User, who: str) -> None:
    callers = [WHO[who](buyer), WHO[who](rival)]
    known = reserve(item, buyer)
    # Each for an item of its own, since some states are those of its sale.
    found: list[tuple[UUID, str, int | None]] = []
    for state, (arrange, poll_after_ms) in STATES.items():
        one = make_item(make_product(name=state, slug=state.replace("_", "-"), price_minor=9900))
        found.append((arrange(one, buyer), state, poll_after_ms))
    for language in LANGUAGES:
        mine, theirs = ({**caller, "HTTP_ACCEPT_LANGUAGE": language} for caller in callers)
        assert lane.ask(asks_status(known, **mine)).status == "200 OK"
        for reservation_id, state, poll_after_ms in found:
            lane.view.calls = 0
            # A thread of the hot lane has no language, where that of a view has the client's.
            with override("en" if language == LANGUAGES[-1] else "zh-hans"):
                answer = lane.ask(asks_status(reservation_id, **mine))
            assert lane.view.calls == 0, f"{state}: the view was asked"
            assert answer == call(django, asks_status(reservation_id, **mine)), state
            body = json.loads(answer.body)
            assert (body["status"], body["units"], body["poll_after_ms"]) == (state, 1, poll_after_ms)
        # For anybody else there is no such reservation.
        refused = lane.ask(asks_status(known, **theirs))
        assert (lane.view.calls, refused.status) == (1, "404 Not Found")
        assert refused == call(django, asks_status(known, **theirs))


@pytest.mark.parametrize("who", WHO)
def test_personal_answers_are_those_of_the_view(lane: Lane, item: SaleItem, buyer: User, rival: User, who: str) -> None:
    # With a charset in which no query can be read.
    caller = WHO[who](buyer) | {"CONTENT_TYPE": "text/html; charset=zlib"}
    calls = [
        environ("GET", "/api/v1/me/", QUERY_STRING=query, **caller, HTTP_ACCEPT_LANGUAGE=language)
        for language, query in zip(LANGUAGES, ["", *[f"sale={item.sale_id}"] * 2], strict=True)
    ]
    assert {lane.ask(asks).status for asks in calls} == {"200 OK"}
    awaiting(item, buyer)
    BuyerLanguage.objects.create(user=buyer, language="zh-hans")
    lane.view.calls = 0
    for asks in calls:
        answer = lane.ask(asks)
        assert answer == call(django, asks)
        body = json.loads(answer.body)
        assert (body["name"], body["language"], len(body["holds"])) == ("buyer", "zh-hans", 1)
        assert body.get("items") == ([{"id": item.pk, "units": 1}] if asks["QUERY_STRING"] else None)
    assert lane.view.calls == 0, "the view was asked"
    of_rival = json.loads(lane.ask({**calls[0], **WHO[who](rival)}).body)
    assert (of_rival["name"], of_rival["holds"]) == ("rival", [])


def test_other_calls_about_oneself_are_for_the_view(lane: Lane, buyer: User) -> None:
    asked = session_of(buyer)
    lane.ask(environ("GET", "/api/v1/me/", **asked))
    lane.view.calls = 0
    queries = ["sale=x", "sale=0", "sale=1&sale=2", "page=1"]
    for query in queries:
        asks = environ("GET", "/api/v1/me/", QUERY_STRING=query, **asked)
        assert lane.ask(asks) == call(django, asks), query
    # A browser without the token of forms gets it.
    answer = lane.ask(environ("GET", "/api/v1/me/", **cookie("csrftoken", None)(asked)))
    assert lane.view.calls == len(queries) + 1
    assert any(name == "Set-Cookie" and "csrftoken=" in value for name, value in answer.headers)


Change = Callable[[dict[str, Any]], dict[str, Any]]


def cookie(name: str, value: str | None) -> Change:
    """The session's headers with this cookie changed, or without it."""

    def changed(asked: dict[str, Any]) -> dict[str, Any]:
        cookies = {**cookies_in(asked), name: value}
        rest = {key: text for key, text in cookies.items() if text is not None}
        return {**asked, "HTTP_COOKIE": "; ".join(f"{key}={text}" for key, text in rest.items())}

    return changed


def plus(**more: Any) -> Change:
    return lambda asked: {**asked, **more}


OF_A_SESSION: dict[str, Change] = {
    "not signed in": plus(HTTP_COOKIE=None),
    "an empty cookie": plus(HTTP_COOKIE=""),
    "no session": cookie("sessionid", None),
    "an unknown session": cookie("sessionid", "x" * 32),
    "a short session": cookie("sessionid", "x"),
    "a session with strange letters": cookie("sessionid", "\u00e9" * 32),
    "a quoted session": cookie("sessionid", '"\\073"'),
    "two cookies of one name": lambda asked: {**asked, "HTTP_COOKIE": asked["HTTP_COOKIE"] + "; sessionid=" + "y" * 32},
    "no hint": cookie("signed_in", None),
    "the hint of somebody else": cookie("signed_in", hint_of("0")),
    "a damaged token of forms": cookie("csrftoken", "x"),
    "also a token": plus(HTTP_AUTHORIZATION="Bearer " + "0" * 64),
    "also a pass": plus(HTTP_AUTHORIZATION="Pass x"),
    "a query": plus(QUERY_STRING="a=b"),
    "html wanted": plus(HTTP_ACCEPT="text/html"),
    "indented": plus(HTTP_ACCEPT="application/json; indent=4"),
    "an unknown host": plus(HTTP_HOST="evil.example"),
    "a long header": plus(HTTP_ACCEPT_LANGUAGE="en," * 200),
    "a method that is not there": plus(REQUEST_METHOD="PUT"),
    "options": plus(REQUEST_METHOD="OPTIONS"),
    "head": plus(REQUEST_METHOD="HEAD"),
    "conditional": plus(HTTP_IF_MATCH="x"),
}
OF_A_SESSION_THAT_CHANGES: dict[str, Change] = {
    "no token of forms": plus(HTTP_X_CSRFTOKEN=None),
    "a wrong token of forms": plus(HTTP_X_CSRFTOKEN="x" * 64),
    "the token of another form": plus(HTTP_X_CSRFTOKEN="a" * 32),
    "no cookie for forms": cookie("csrftoken", None),
    "another origin": plus(HTTP_ORIGIN="https://evil.example"),
    "no referer over TLS": plus(**{"wsgi.url_scheme": "https"}),
    "an unknown field": plus(body=b'{"units": 1}'),
    "a list": plus(body=b"[]"),
    "no JSON": plus(body=b"{"),
    "a form": plus(CONTENT_TYPE="application/x-www-form-urlencoded", body=b"csrfmiddlewaretoken=x"),
    "text": plus(CONTENT_TYPE="text/plain"),
    "a long body": plus(body=b" " * 70_000 + b"{}"),
    "no length": plus(HTTP_TRANSFER_ENCODING="chunked", CONTENT_LENGTH=None),
    "get": plus(REQUEST_METHOD="GET"),
}
OF_A_TOKEN: dict[str, Change] = {
    "small letters": lambda asked: {"HTTP_AUTHORIZATION": asked["HTTP_AUTHORIZATION"].replace("Bearer", "bearer")},
    "two spaces": lambda asked: {"HTTP_AUTHORIZATION": asked["HTTP_AUTHORIZATION"].replace(" ", "  ")},
    "an unknown token": plus(HTTP_AUTHORIZATION="Bearer " + "0" * 64),
    "the right beginning": lambda asked: {"HTTP_AUTHORIZATION": asked["HTTP_AUTHORIZATION"][:30] + "0" * 41},
    "no token": plus(HTTP_AUTHORIZATION="Bearer "),
    "strange letters": plus(HTTP_AUTHORIZATION="Bearer \u00e9\u00ff"),
    "a long token": plus(HTTP_AUTHORIZATION="Bearer " + "a" * 5000),
    "also cookies": plus(HTTP_COOKIE="a=b"),
}
KINDS: dict[str, Callable[..., Environ]] = {
    "pass": lambda item, reservation_id, **more: asks_pass(item, **more),
    "status": lambda item, reservation_id, **more: asks_status(reservation_id, **more),
}


@pytest.mark.parametrize(
    ("who", "kind", "changes"),
    [
        ("session", "pass", OF_A_SESSION | OF_A_SESSION_THAT_CHANGES),
        ("session", "status", OF_A_SESSION),
        ("token", "pass", OF_A_TOKEN),
        ("token", "status", OF_A_TOKEN),
    ],
)
def test_an_unusual_call_is_answered_by_the_view(
    lane: Lane, item: SaleItem, buyer: User, settings: LazySettings, who: str, kind: str, changes: dict[str, Change]
) -> None:
    settings.ALLOWED_HOSTS, settings.PASS_LIMIT = ["localhost"], "1000/minute"
    asked, reservation_id = WHO[who](buyer), reserve(item, buyer)
    lane.ask(KINDS[kind](item, reservation_id, **asked))
    for name, change in changes.items():
        lane.view.calls = 0
        lane.ask(KINDS[kind](item, reservation_id, **asked))
        assert lane.view.calls == 0, "the lane knows an ordinary answer"
        answer = lane.ask(KINDS[kind](item, reservation_id, **change(asked)))
        assert lane.view.calls == 1, name
        of_the_view = call(django, KINDS[kind](item, reservation_id, **change(asked)))
        ignored = re.compile(r"csrftoken=[^;]+; expires=[^;]+|expires=[^;]+")
        for one in (answer, of_the_view):
            one.headers = [(header, ignored.sub("", value)) for header, value in one.headers]
        assert without_pass(answer) == without_pass(of_the_view), name


@pytest.mark.parametrize(
    ("who", "change"),
    [*product_of(WHO, ["password", "inactive", "signed out"]), ("token", "expired")],
)
def test_a_caller_who_may_no_longer_ask_is_refused_at_once(
    lane: Lane, item: SaleItem, buyer: User, who: str, change: str
) -> None:
    asked, reservation_id = WHO[who](buyer), reserve(item, buyer)
    calls = [ask(item, reservation_id, **asked) for ask in KINDS.values()]
    for one in calls * 2:
        lane.ask(one)
    assert lane.view.calls == 2
    if change == "password":
        buyer.set_password("another")
        buyer.save()
    elif change == "inactive":
        User.objects.update(is_active=False)
    elif who == "session":
        cache.clear()
    elif change == "signed out":
        ApiToken.objects.all().delete()
    else:
        ApiToken.objects.update(expiry=timezone.now() - timedelta(seconds=1))
    assert {lane.ask(one).status[:3] for one in calls} <= {"401", "403"}
    assert lane.view.calls == 4


def test_where_no_pass_is_given_the_view_says_why_after_a_second(
    lane: Lane, item: SaleItem, buyer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signed_in, "REMEMBERED_SECONDS", 0.0)
    asked, now = session_of(buyer), timezone.now()
    for _ in range(2):
        lane.ask(asks_pass(item, **asked))
    assert lane.view.calls == 1
    changes: list[tuple[dict[str, Any], str]] = [
        ({"opens_at": now + timedelta(hours=1), "closes_at": now + timedelta(hours=2)}, "409"),
        ({"opens_at": now - timedelta(hours=1), "closes_at": now}, "410"),
        ({"published_at": None}, "404"),
    ]
    for changed, status in changes:
        Sale.objects.update(**changed)
        assert lane.ask(asks_pass(item, **asked)).status[:3] == status
    assert lane.view.calls == 4


def test_an_ordinary_call_costs_one_query_for_who_asks_and_none_for_the_sale(
    lane: Lane, item: SaleItem, buyer: User
) -> None:
    session, reservation_id = session_of(buyer), awaiting(item, buyer)
    calls = [
        asks_pass(item, body=b"", **session),
        asks_pass(item, body=b"", **token_of(buyer)),
        asks_status(reservation_id, **session),
    ]
    for asked in calls * 2:
        lane.ask(asked)
    counts = []
    for asked in calls:
        with CaptureQueriesContext(connection) as queries:
            lane.ask(asked)
        counts.append(len(queries))
    assert lane.view.calls == 3
    assert counts == [1, 1, 2]


def test_a_session_that_only_asks_is_not_written(lane: Lane, item: SaleItem, buyer: User) -> None:
    asked = session_of(buyer)
    key = "django.contrib.sessions.cache" + cookies_in(asked)["sessionid"]
    for _ in range(2):
        lane.ask(asks_pass(item, **asked))
    before, seconds_left = cache.get(key), cache.ttl(key)  # type: ignore[attr-defined]
    cache.expire(key, seconds_left - 100)  # type: ignore[attr-defined]
    answer = lane.ask(asks_pass(item, **asked))
    assert lane.view.calls == 1
    assert "Set-Cookie" not in dict(answer.headers)
    assert cache.get(key) == before
    assert cache.ttl(key) <= seconds_left - 100  # type: ignore[attr-defined]


def test_a_new_language_is_remembered_for_mails(lane: Lane, item: SaleItem, buyer: User) -> None:
    asked = session_of(buyer)
    for language in ("en", "zh-CN", "en", "zh-CN", "en"):
        lane.ask(asks_pass(item, **asked, HTTP_ACCEPT_LANGUAGE=language))
        assert BuyerLanguage.objects.get().language == {"en": "en", "zh-CN": "zh-hans"}[language]
    assert lane.view.calls == 5
    # A program that asks for no language changes nothing.
    for _ in range(2):
        lane.ask(asks_pass(item, **asked))
    assert lane.view.calls == 6
    assert BuyerLanguage.objects.get().language == "en"


def test_with_a_server_away_the_view_says_so(lane: Lane, item: SaleItem, buyer: User, settings: LazySettings) -> None:
    asked, reservation_id = session_of(buyer), reserve(item, buyer)
    calls = [ask(item, reservation_id, **asked) for ask in KINDS.values()]
    for one in calls * 2:
        lane.ask(one)
    assert lane.view.calls == 2
    former = store_away(settings, "default")
    assert {json.loads(lane.ask(one).body)["code"] for one in calls} == {"unavailable"}
    settings.CACHES = former
    store_away(settings)
    answer = lane.ask(asks_status(reservation_id, **asked))
    assert (lane.view.calls, json.loads(answer.body)["code"]) == (5, "unavailable")


def test_a_reservation_that_nobody_made_is_not_found(lane: Lane, item: SaleItem, buyer: User) -> None:
    asked = session_of(buyer)
    lane.ask(asks_status(reserve(item, buyer), **asked))
    for unknown in (uuid4(), UUID(int=0), UUID(int=2**128 - 1)):
        answer = lane.ask(asks_status(unknown, **asked))
        assert answer == call(django, asks_status(unknown, **asked))
        assert answer.status == "404 Not Found"


def test_a_connection_that_django_would_renew_is_left_to_the_view(
    lane: Lane, item: SaleItem, buyer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = session_of(buyer)
    for _ in range(2):
        lane.ask(asks_pass(item, **asked))
    assert lane.view.calls == 1
    monkeypatch.setattr(connection, "close_at", 0.0)
    lane.ask(asks_pass(item, **asked))
    assert lane.view.calls == 2
