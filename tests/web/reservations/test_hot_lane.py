"""The hot lane answers byte for byte as the view does, and leaves to the view whatever is not ordinary."""

import json
import logging
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import connection

from seckill import ledger
from seckill.ledger_words import ReleaseReason
from seckill.models import SaleItem
from seckill.outcomes import Outcome
from seckill.passes.passes import read
from shop.models import Product
from shop.wsgi import application as django
from tests.steps.buying import new_buyers
from tests.steps.cast import PassFor
from tests.steps.shop import make_item
from tests.steps.store import left_held_sold, store_away
from tests.web.reservations.lane import Answer, CountedView, Environ, Lane, asks_units, call
from web.reservations.hot_lane import REQUEST_LOG

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_connection_stays_open")]

Reserve = Callable[..., Answer]
MakeLane = Callable[..., Lane]

LANGUAGES = [None, "en-GB,en;q=0.8", "zh-CN,zh;q=0.9"]
BODIES_OF_A_YES = [b"", b"{}", b'{"units": 1}', b' {"units":2} ']


@pytest.fixture
def people(db: None) -> list[User]:
    return new_buyers(12)


Arrange = Callable[[Any, SaleItem, str], object]


def terms(**fields: object) -> Arrange:
    """An item with these fields in the store."""
    return lambda store, item, _pass: store.hset(f"seckill:{{{item.pk}}}:item", mapping=fields)


def hold(_store: Any, item: SaleItem, pass_text: str) -> None:
    pass_ = read(pass_text)
    ledger.reserve(item_id=item.pk, reservation_id=pass_.reservation_id, buyer_id=pass_.buyer_id, units=1)


def end(store: Any, item: SaleItem, pass_text: str) -> None:
    hold(store, item, pass_text)
    ledger.release(item_id=item.pk, reservation_ids=[read(pass_text).reservation_id], reason=ReleaseReason.EXPIRED)


REFUSED_OR_REPEATED: dict[Outcome, Arrange] = {
    Outcome.UNAVAILABLE: lambda store, item, _pass: store.delete(f"seckill:{{{item.pk}}}:item"),
    Outcome.ALREADY_RESERVED: hold,
    Outcome.HOLD_ENDED: end,
    Outcome.PAUSED: terms(state="paused"),
    Outcome.NOT_OPEN: terms(opens_ms=9_999_999_999_999),
    Outcome.CLOSED: terms(closes_ms=1),
    Outcome.SOLD_OUT: terms(left=0, held=0, sold=9),
    Outcome.HELD_BY_OTHERS: terms(left=0, held=9),
    Outcome.LIMIT_REACHED: terms(per_buyer_max=0),
    Outcome.TOO_FEW_LEFT: terms(left=1, held=8),
}


def test_every_outcome_but_the_yes_is_arranged() -> None:
    assert {*REFUSED_OR_REPEATED, Outcome.RESERVED} == set(Outcome)


@pytest.mark.parametrize("outcome", REFUSED_OR_REPEATED)
def test_an_answer_is_that_of_the_view(
    lane: Lane, product: Product, people: list[User], pass_for: PassFor, store: Any, outcome: Outcome
) -> None:
    item = make_item(product, quantity=9, per_buyer_max=2)
    contexts = [{"HTTP_ACCEPT_LANGUAGE": language, "body": b'{"units": 2}'} for language in LANGUAGES[1:]]
    for asked, buyer in zip(contexts, people, strict=False):
        lane.reserve(item, pass_for(buyer, item), **asked)
    pass_text = pass_for(people[2], item)
    REFUSED_OR_REPEATED[outcome](store, item, pass_text)
    for asked in contexts:
        of_the_view = call(django, asks_units(item, pass_text, **asked))
        lane.reserve(item, pass_text, **asked)
        calls = lane.view.calls
        answer = lane.reserve(item, pass_text, **asked)
        assert lane.view.calls == calls, "the view was asked again"
        word = "already_reserved" if answer.status == "201 Created" else json.loads(answer.body)["code"]
        assert word == outcome
        assert answer.without_ids_and_times() == of_the_view.without_ids_and_times()
        if outcome is Outcome.ALREADY_RESERVED:
            assert answer == of_the_view


@pytest.mark.parametrize(
    ("language", "body"), [(None, b""), (LANGUAGES[1], b"{}"), *((LANGUAGES[2], body) for body in BODIES_OF_A_YES)]
)
def test_a_yes_is_that_of_the_view(
    lane: Lane, product: Product, people: list[User], pass_for: PassFor, language: str, body: bytes
) -> None:
    item = make_item(product, quantity=9, per_buyer_max=2)
    asked: dict[str, Any] = {"HTTP_ACCEPT_LANGUAGE": language, "body": body}
    of_the_view = lane.reserve(item, pass_for(people[0], item), **asked)
    assert lane.view.calls == 1
    pass_text = pass_for(people[1], item)
    answer = lane.reserve(item, pass_text, **asked)
    assert lane.view.calls == 1
    assert answer.status == "201 Created"
    assert "Idempotent-Replayed" not in dict(answer.headers)
    assert answer.without_ids_and_times() == of_the_view.without_ids_and_times()
    content = json.loads(answer.body)
    assert content["id"] == str(read(pass_text).reservation_id)
    assert dict(answer.headers)["Location"] == content["status_url"] == f"/api/v1/reservations/{content['id']}/"
    assert content["units"] == (2 if b"2" in body else 1)


def test_the_yes_of_one_context_is_not_used_in_another(
    lane: Lane, item: SaleItem, people: list[User], pass_for: PassFor
) -> None:
    contexts: list[dict[str, Any]] = [
        {},
        {"HTTP_ACCEPT_LANGUAGE": "zh-CN"},
        {"HTTP_COOKIE": "django_language=zh-hans"},
        {"HTTP_HOST": "127.0.0.1"},
    ]
    for number, context in enumerate(contexts):
        lane.reserve(item, pass_for(people[number], item), **context)
        assert lane.view.calls == number + 1
    refused = lane.reserve(item, pass_for(people[1], item), HTTP_COOKIE="django_language=zh-hans")
    assert dict(refused.headers)["Content-Language"] == "zh-hans"


@pytest.fixture
def warm(lane: Lane, item: SaleItem, people: list[User], pass_for: PassFor) -> Lane:
    """A lane that knows the headers of a yes, and of a repeated one."""
    text = pass_for(people[0], item)
    lane.reserve(item, text)
    lane.reserve(item, text)
    lane.view.calls = 0
    assert lane.reserve(item, text).status == "201 Created"
    assert lane.view.calls == 0
    return lane


NOT_ORDINARY: dict[str, dict[str, Any]] = {
    "get": {"REQUEST_METHOD": "GET"},
    "head": {"REQUEST_METHOD": "HEAD"},
    "options": {"REQUEST_METHOD": "OPTIONS"},
    "put": {"REQUEST_METHOD": "PUT"},
    "query": {"QUERY_STRING": "format=json"},
    "another scheme": {"HTTP_AUTHORIZATION": "Bearer x"},
    "no pass": {"HTTP_AUTHORIZATION": None},
    "no text": {"HTTP_AUTHORIZATION": "Pass "},
    "a bad pass": {"HTTP_AUTHORIZATION": "Pass p1.1.1.1.x"},
    "another item": {"PATH_INFO": "/api/v1/sale-items/999/reservations/"},
    "a large id": {"PATH_INFO": f"/api/v1/sale-items/{'9' * 40}/reservations/"},
    "no slash": {"PATH_INFO": "/api/v1/sale-items/1/reservations"},
    "html wanted": {"HTTP_ACCEPT": "text/html"},
    "a session": {"HTTP_COOKIE": "sessionid=abc"},
    "a long header": {"HTTP_ACCEPT_LANGUAGE": "en," * 100},
    "an unknown host": {"HTTP_HOST": "evil.example"},
    "text": {"CONTENT_TYPE": "text/plain", "body": b"{}"},
    "a form": {"CONTENT_TYPE": "application/x-www-form-urlencoded", "body": b"units=1"},
    "no type": {"CONTENT_TYPE": None, "body": b'{"units": 1}'},
    "another charset": {"CONTENT_TYPE": "application/json; charset=latin-1", "body": b"{}"},
    "no length": {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": None},
    "a wrong length": {"CONTENT_LENGTH": "-1"},
    "a longer length": {"CONTENT_LENGTH": "13", "body": b'{"units": 1}'},
    "a large body": {"body": b'{"units": 1' + b" " * 70_000 + b"}"},
}
BODIES = [
    *(b'{"units": %b}' % value for value in (b"0", b"-1", b"1.5", b"1.0", b'"1"', b"1e400", b"NaN", b"true", b"null")),
    *(b'{"units": %b}' % value for value in (b"[1]", b"01", b"+1", b"1000000001", b"999999999", b"1" * 50)),
    *(b'{"unit": 1}', b'{"units": 1, "price": 0}', b'{"units": 1, "units": 2}', b'[{"units": 1}]', b"null", b"{"),
    *(b'{"units": 1}x', b"\xff\xfe", b'\xef\xbb\xbf{"units": 1}', '{"units": １}'.encode(), b"[" * 99, b" "),
]
NOT_ORDINARY |= {f"the body {body!r}": {"body": body} for body in BODIES}


def test_an_unusual_call_is_answered_by_the_view(
    warm: Lane, item: SaleItem, people: list[User], pass_for: PassFor, settings: LazySettings
) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]
    text = pass_for(people[0], item)
    for kind, asked in NOT_ORDINARY.items():
        of_the_view = call(django, asks_units(item, text, **asked))
        warm.view.calls = 0
        answer = warm.reserve(item, text, **asked)
        assert warm.view.calls == 1, kind
        assert answer.without_ids_and_times() == of_the_view.without_ids_and_times(), kind


def test_an_expired_pass_and_a_session_of_another_buyer_are_for_the_view(
    warm: Lane, item: SaleItem, buyer: User, rival: User, pass_for: PassFor, client: Any
) -> None:
    answer = warm.reserve(item, pass_for(buyer, item, expires_in_seconds=0))
    assert (warm.view.calls, json.loads(answer.body)["code"]) == (1, "pass_expired")
    client.force_login(rival)
    cookie = f"sessionid={client.cookies['sessionid'].value}"
    answer = warm.reserve(item, pass_for(buyer, item), HTTP_COOKIE=cookie)
    assert json.loads(answer.body)["code"] == "pass_of_another_buyer"


def test_a_yes_asks_the_store_and_nobody_else_and_requests_a_drain(
    warm: Lane, item: SaleItem, people: list[User], pass_for: PassFor
) -> None:
    with (
        mock.patch("seckill.outbox.doorbell.request_drain") as request_drain,
        mock.patch.object(connection, "cursor") as sql,
    ):
        answer = warm.reserve(item, pass_for(people[1], item))
    assert answer.status == "201 Created"
    assert not sql.called
    request_drain.assert_called_once_with(item.pk)


def test_a_store_that_is_away_is_unavailable_as_the_view_says(
    warm: Lane, item: SaleItem, people: list[User], pass_for: PassFor, settings: LazySettings
) -> None:
    store_away(settings)
    text = pass_for(people[1], item)
    of_the_view, answer = warm.reserve(item, text), warm.reserve(item, text)
    assert warm.view.calls == 1
    assert json.loads(answer.body)["code"] == "unavailable"
    assert answer.without_ids_and_times() == of_the_view.without_ids_and_times()


def test_a_problem_of_another_server_is_not_taken_for_an_outcome(
    make_lane: MakeLane, item: SaleItem, people: list[User], pass_for: PassFor
) -> None:
    outage = {"type": "/", "title": "", "status": 503, "detail": "", "code": "unavailable", "retry_after": 5}
    headers = [("Content-Type", "application/problem+json"), ("Content-Language", "en"), ("Retry-After", "5")]

    def away(environ: Environ, start_response: Callable[..., Any]) -> list[bytes]:
        start_response("503 Service Unavailable", headers)
        return [json.dumps(outage).encode()]

    lane = make_lane(view=away)
    for _ in range(2):
        answer = lane.reserve(item, pass_for(people[0], item))
        assert json.loads(answer.body) == outage
    assert left_held_sold(item)[0] == 5


def test_an_answer_that_is_meant_for_one_client_is_not_kept(
    make_lane: MakeLane, item: SaleItem, people: list[User], pass_for: PassFor
) -> None:
    for header in (("Set-Cookie", "a=b"), ("Content-Encoding", "gzip")):
        view = CountedView()

        def marking(environ: Environ, start: Callable[..., Any], view: Any = view, header: Any = header) -> Any:
            return view(environ, lambda status, headers, *more: start(status, [*headers, header]))

        lane = make_lane(view=marking)
        for person in people[:2]:
            lane.reserve(item, pass_for(person, item))
        assert view.calls == 2, header


def test_where_requests_are_logged_the_view_answers_all_of_them(
    make_lane: MakeLane, item: SaleItem, people: list[User], pass_for: PassFor
) -> None:
    logger = logging.getLogger(REQUEST_LOG)
    before = logger.level
    logger.setLevel(logging.INFO)
    try:
        lane = make_lane()
    finally:
        logger.setLevel(before)
    for number in range(3):
        lane.reserve(item, pass_for(people[number], item))
    assert lane.view.calls == 3


def test_of_many_buyers_at_once_as_many_are_told_yes_as_there_are_units(
    warm: Lane, item: SaleItem, pass_for: PassFor
) -> None:
    # The first refusal of each kind is the view's.
    assert json.loads(warm.reserve(item, pass_for(User(pk=999), item), body=b'{"units": 2}').body)["code"]
    requests = [asks_units(item, pass_for(User(pk=1000 + number), item)) for number in range(100)]
    answers = warm.ask_at_once(requests)
    assert [status for status, _headers, _body in answers].count(201) == 4
    assert left_held_sold(item)[:2] == (0, 5)
