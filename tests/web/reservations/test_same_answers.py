"""What the gate answers, and that it answers like the view (which `shadow` compares)."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from seckill import ledger
from seckill.ledger_words import ReleaseReason
from seckill.live.opening import waiting_pages
from seckill.models import SaleItem
from seckill.passes import passes
from seckill.store.keys import keys_of
from shop.models import Product
from tests.steps.buying import reserve_by_api
from tests.steps.cast import PassFor
from tests.steps.shop import make_item
from tests.steps.store import store_away
from tests.web.reservations.lane import asks_units
from tests.web.reservations.shadow import Scope, Shadow, read_call, read_question, scope_of
from web.reservations.calls import OrdinaryCall
from web.reservations.gate import OFFERED_REMEMBERED_SECONDS, RENDERED_SECONDS, SALE_REMEMBERED_SECONDS
from web.reservations.snapshots import ASKED_SECONDS

pytestmark = pytest.mark.django_db


Make = Callable[[SaleItem, Any], None]
LANGUAGES: dict[str, dict[str, Any]] = {"en": {}, "zh-hans": {"HTTP_ACCEPT_LANGUAGE": "zh-CN,zh;q=0.9"}}


def unavailable(item: SaleItem, store: Any) -> None:
    store.hdel(keys_of(item.pk).item, "incarnation")


def lost(item: SaleItem, store: Any) -> None:
    store.flushdb()


def paused(item: SaleItem, store: Any) -> None:
    store.hset(keys_of(item.pk).item, "state", "paused")


def closed(item: SaleItem, store: Any) -> None:
    store.hset(keys_of(item.pk).item, "closes_ms", "1")


def not_open(item: SaleItem, store: Any) -> None:
    store.hset(keys_of(item.pk).item, mapping={"opens_ms": "4000000000000", "closes_ms": "4000000000001"})


def held_by_others(item: SaleItem, store: Any) -> None:
    for number in range(5):
        new_id = passes.new_reservation_id(item.pk)
        ledger.reserve(item_id=item.pk, reservation_id=new_id, buyer_id=1000 + number, units=1)


def sold_out(item: SaleItem, store: Any) -> None:
    ids = [passes.new_reservation_id(item.pk) for _ in range(5)]
    for number, new_id in enumerate(ids):
        ledger.reserve(item_id=item.pk, reservation_id=new_id, buyer_id=1000 + number, units=1)
    ledger.confirm(item_id=item.pk, reservation_ids=ids)


STATES = [unavailable, lost, paused, closed, not_open, held_by_others, sold_out]


@pytest.mark.parametrize("make", STATES)
def test_each_certain_no_is_the_views(
    make: Make, item: SaleItem, rival: User, pass_for: PassFor, store: Any, shadow: Shadow
) -> None:
    make(item, store)
    for language, headers in LANGUAGES.items():
        for body in (None, {}, {"units": 1}):
            answer = reserve_by_api(item.pk, pass_for(rival, item), body, **headers)
            assert answer.json()["code"] == ("unavailable" if make is lost else make.__name__)
            assert answer["Content-Language"] == language
    assert shadow.answered == [True] * 6


@pytest.mark.parametrize(("language", "make"), [("en", None), *(("zh-hans", make) for make in [None, *STATES[2:]])])
def test_live_figures_are_the_views(
    language: str, make: Make | None, item: SaleItem, store: Any, shadow: Shadow
) -> None:
    if make:
        make(item, store)
    headers = LANGUAGES[language]
    for path in (f"/api/v1/sale-items/{item.pk}/live/", f"/api/v1/sales/{item.sale_id}/live/"):
        first = APIClient().get(path, **headers)
        assert first.status_code == 200
        etag = first["ETag"]
        # Also the weak tag of a proxy.
        for known, status in ((etag, 304), (f"W/{etag}", 304), (f'W/"{"0" * 24}"', 200)):
            assert APIClient().get(path, HTTP_IF_NONE_MATCH=known, **headers).status_code == status
        # A list of tags is for the view.
        assert APIClient().get(path, HTTP_IF_NONE_MATCH=f'"x", {etag}', **headers).status_code == 304
    assert shadow.answered == [True, True, True, True, False] * 2


def test_a_full_backlog_shows_in_live_and_only_the_script_refuses_for_it(
    item: SaleItem, buyer: User, rival: User, pass_for: PassFor, shadow: Shadow, settings: LazySettings
) -> None:
    settings.SECKILL_BACKLOG_MAX = 1
    had = pass_for(buyer, item)
    assert reserve_by_api(item.pk, had).status_code == 201
    for path in (f"/api/v1/sale-items/{item.pk}/live/", f"/api/v1/sales/{item.sale_id}/live/"):
        assert b'"availability":"unavailable"' in APIClient().get(path).content
    answers = [reserve_by_api(item.pk, text) for text in (had, pass_for(rival, item))]
    assert [answer.status_code for answer in answers] == [201, 503]
    assert answers[1]["Retry-After"]
    # The backlog may be shorter in the next millisecond.
    assert shadow.answered == [False, True, True, False, False]


def test_a_buyer_who_had_a_yes_or_an_end_is_left_to_the_view(
    product: Product, buyer: User, rival: User, stranger: User, pass_for: PassFor, store: Any, shadow: Shadow
) -> None:
    item = make_item(product, quantity=1)
    mine, theirs = pass_for(buyer, item), pass_for(rival, item)
    assert reserve_by_api(item.pk, mine).status_code == 201
    assert [reserve_by_api(item.pk, text).status_code for text in (mine, theirs, mine)] == [201, 409, 201]
    assert shadow.answered == [False, False, True, False]
    for make in (paused, closed):
        make(item, store)
        assert reserve_by_api(item.pk, mine).status_code == 201
        assert shadow.answered[-1] is False
    store.hset(keys_of(item.pk).item, mapping={"state": "open", "closes_ms": "4000000000000"})
    ids = [passes.read(mine).reservation_id]
    ledger.release(item_id=item.pk, reservation_ids=ids, reason=ReleaseReason.EXPIRED)
    assert reserve_by_api(item.pk, theirs).status_code == 201
    assert [reserve_by_api(item.pk, text).status_code for text in (mine, theirs)] == [409, 201]
    assert shadow.answered[-3:] == [False] * 3
    assert reserve_by_api(item.pk, pass_for(stranger, item)).json()["code"] == "held_by_others"
    assert shadow.answered[-1] is True


def test_an_answer_that_depends_on_the_buyer_is_left_to_the_view(
    item: SaleItem, buyer: User, pass_for: PassFor, shadow: Shadow
) -> None:
    assert reserve_by_api(item.pk, pass_for(buyer, item)).status_code == 201
    assert reserve_by_api(item.pk, pass_for(buyer, item)).json()["code"] == "limit_reached"
    assert shadow.answered == [False, False]


def test_an_unusual_call_is_left_to_the_view(
    item: SaleItem, buyer: User, rival: User, pass_for: PassFor, store: Any, shadow: Shadow
) -> None:
    paused(item, store)
    text = pass_for(buyer, item)
    assert reserve_by_api(item.pk, text).json()["code"] == "paused"
    shadow.answered.clear()
    path = f"/api/v1/sale-items/{item.pk}/reservations/"
    authorized: Any = {"HTTP_AUTHORIZATION": f"Pass {text}"}
    client = APIClient()
    answers = [
        client.options(path, **authorized),
        client.put(path, {"units": 1}, **authorized),
        client.get(path, **authorized),
        client.post(path + "?format=json", {"units": 1}, **authorized),
        client.post(path, {"units": 0}, **authorized),
        client.post(path, {"units": 10**9}, **authorized),
        client.post(path, b'{"units": 1, "units": 2}', content_type="application/json", **authorized),
        client.post(path, {"units": 1}, HTTP_ACCEPT="text/html", **authorized),
        client.post(path, {"units": 1}, HTTP_ACCEPT="application/json; indent=4", **authorized),
        client.post(path, {"units": 1}, HTTP_ACCEPT_LANGUAGE="en;q=0.1," * 100, **authorized),
        client.post(path, {"units": 1}, HTTP_AUTHORIZATION=f"Pass {text[:-1]}"),
        client.post(path, {"units": 1}, HTTP_AUTHORIZATION=f"Pass {pass_for(buyer, item, expires_in_seconds=-1)}"),
        client.post(path, {"units": 1}),
        client.head(f"/api/v1/sale-items/{item.pk}/live/"),
        client.options(f"/api/v1/sale-items/{item.pk}/live/"),
        client.get(f"/api/v1/sale-items/{item.pk}/live/?x=1"),
        client.get(f"/api/v1/sale-items/{item.pk + 1000}/live/"),
        client.get(f"/api/v1/sales/{item.sale_id + 1000}/live/"),
    ]
    client.force_login(rival)
    answers.append(client.post(path, {"units": 1}, **authorized))
    statuses = [200, 405, 405, 409, 400, 400, 409, 406, 409, 409, 401, 401, 401, 200, 200, 200, 404, 404, 403]
    assert [answer.status_code for answer in answers] == statuses
    assert shadow.answered == [False] * len(statuses)


def test_a_sale_is_shown_in_one_call(product: Product, shadow: Shadow) -> None:
    item = make_item(product)
    path = f"/api/v1/sales/{item.sale_id}/live/"
    body = APIClient().get(path).json()
    (figures,) = body["items"]
    alone = APIClient().get(f"/api/v1/sale-items/{item.pk}/live/").json()
    assert figures == {"id": item.pk, **{name: alone[name] for name in figures if name != "id"}}
    assert set(body) == {"items", "server_time", "poll_after_ms", "opening_spread_ms"}
    assert set(alone) == {*figures, "server_time", "poll_after_ms"} - {"id"}
    assert shadow.answered == [True, True]


def unsold_units_leave(item: SaleItem, store: Any) -> None:
    """One of five units is sold, and after the end the others go back to the stock."""
    sold = passes.new_reservation_id(item.pk)
    ledger.reserve(item_id=item.pk, reservation_id=sold, buyer_id=1000, units=1)
    ledger.confirm(item_id=item.pk, reservation_ids=[sold])
    closed(item, store)
    ledger.adjust(item_id=item.pk, operation_id=uuid4(), adjustment=ledger.Adjustment(units=-4))
    SaleItem.objects.filter(pk=item.pk).update(quantity=1, returned=4)


@pytest.mark.parametrize("path", ["/api/v1/sale-items/{item.pk}/live/", "/api/v1/sales/{item.sale_id}/live/"])
@pytest.mark.parametrize("seen_open", [True, False])
def test_after_the_end_the_quantity_is_what_the_sale_had(
    path: str, seen_open: bool, item: SaleItem, store: Any, shadow: Shadow
) -> None:
    path = path.format(item=item)
    if seen_open:
        assert APIClient().get(path).status_code == 200
    unsold_units_leave(item, store)
    if seen_open:
        # Pages that were open at the end cost PostgreSQL nothing.
        shadow.snapshots.refresh_all()
        call = read_call(Scope("GET", path))
        answer = shadow.gate.answer(call) if call else None
        assert answer is not None
        assert b'"quantity":5,' in answer[2]
    body = APIClient().get(path).json()
    [figures] = body.get("items", [body])
    assert (figures["phase"], figures["quantity"], figures["left"]) == ("ended", 5, 0)
    assert shadow.answered[-1] is True


def test_units_added_while_nobody_asked_for_figures_are_counted_a_minute_after_the_end(
    item: SaleItem, store: Any, shadow: Shadow
) -> None:
    path = f"/api/v1/sale-items/{item.pk}/live/"
    assert APIClient().get(path).json()["quantity"] == 5
    of_sale = known_call(item)
    ledger.adjust(item_id=item.pk, operation_id=uuid4(), adjustment=ledger.Adjustment(units=3))
    closed(item, store)
    ledger.adjust(item_id=item.pk, operation_id=uuid4(), adjustment=ledger.Adjustment(units=-8))
    SaleItem.objects.filter(pk=item.pk).update(quantity=0, returned=8)
    shadow.snapshots.clock.now_s += OFFERED_REMEMBERED_SECONDS
    shadow.snapshots.refresh_all()
    call = read_call(Scope("GET", path))
    assert call is not None
    assert shadow.gate.answer(call) is None
    assert shadow.gate.must_ask(of_sale)
    for whole in (f"/api/v1/sales/{item.sale_id}/live/", path):
        body = APIClient().get(whole).json()
        assert body.get("items", [body])[0]["quantity"] == 8
        assert shadow.answered[-1] is True


def known_call(item: SaleItem) -> OrdinaryCall:
    """For the figures of a sale, which the view has answered once."""
    path = f"/api/v1/sales/{item.sale_id}/live/"
    assert APIClient().get(path).status_code == 200
    call = read_call(Scope("GET", path))
    assert call is not None
    return call


def test_the_same_question_gets_the_same_figures_for_a_hundredth_of_a_second(product: Product, shadow: Shadow) -> None:
    call = known_call(make_item(product))
    scope = Scope("GET", f"/api/v1/sales/{call.object_id}/live/")
    question = read_question(scope)
    assert question is not None
    shadow.snapshots.refresh_all()
    assert shadow.gate.at_once(question) is None
    answer = shadow.gate.answer(call)
    counted = waiting_pages._second(call.object_id).calls
    assert shadow.gate.at_once(question) is answer is not None
    # Pages that wait for the opening are still counted.
    assert waiting_pages._second(call.object_id).calls == counted + 1
    # Other questions: with a body, in another language, with figures that the caller has, by another host.
    others: list[dict[str, Any]] = [
        {"headers": {"accept-language": "zh-hans"}},
        {"headers": {"if-none-match": dict(answer[1])["ETag"]}},
        {"headers": {"host": "other.example"}},
        {"scheme": "https"},
    ]
    for other in others:
        asked = read_question(replace(scope, **other))
        assert asked is not None
        assert shadow.gate.at_once(asked) is None
    unusual = ({"content-length": "1"}, {"range": "bytes=0-1"}, {"accept": "application/json; indent=4"})
    assert not any(read_question(replace(scope, headers=headers)) for headers in unusual)
    assert read_question(replace(scope, query_string="a=1")) is None
    assert read_question(replace(scope, method="POST")) is None
    shadow.snapshots.clock.now_s += RENDERED_SECONDS
    assert shadow.gate.at_once(question) is None


def test_the_figures_of_a_sale_go_on_for_ten_minutes_without_a_view(product: Product, shadow: Shadow) -> None:
    call = known_call(make_item(product))
    asked = 0
    for _look in range(590 // 5):
        # Five seconds later each time.
        shadow.snapshots.clock.now_s += 4
        shadow.snapshots.refresh_all()
        answer = shadow.gate.answer(call)
        assert answer is not None
        assert answer[0] == 200
        asked += shadow.gate.must_ask(call)
        assert not shadow.gate.must_ask(call)
    assert 50 < asked < 60
    shadow.snapshots.clock.now_s += SALE_REMEMBERED_SECONDS
    shadow.snapshots.refresh_all()
    assert shadow.gate.answer(call) is None


def test_the_figures_of_a_sale_that_ends_sold_out_go_on_as_long(item: SaleItem, store: Any, shadow: Shadow) -> None:
    call = known_call(item)
    sold_out(item, store)
    closed(item, store)
    shadow.snapshots.clock.now_s += 2 * OFFERED_REMEMBERED_SECONDS
    shadow.snapshots.refresh_all()
    answer = shadow.gate.answer(call)
    assert answer is not None
    assert b'"quantity":5,' in answer[2]
    shadow.snapshots.clock.now_s += SALE_REMEMBERED_SECONDS
    shadow.snapshots.refresh_all()
    assert shadow.gate.answer(call) is None


def test_figures_are_shown_for_half_a_second_where_the_reader_is_late(product: Product, shadow: Shadow) -> None:
    """The view of a sale's figures asks PostgreSQL, and would hold its thread while that is away."""
    item = make_item(product)
    call = known_call(item)
    shadow.snapshots.clock.now_s += 0.4
    assert shadow.snapshots.find(item.pk) is None
    assert shadow.gate.answer(call) is not None
    shadow.snapshots.clock.now_s += 0.2
    assert shadow.gate.answer(call) is None


def test_the_figures_of_a_sale_that_nobody_looked_at_come_back_without_a_view(product: Product, shadow: Shadow) -> None:
    call = known_call(make_item(product))
    shadow.snapshots.clock.now_s += ASKED_SECONDS + 1
    assert shadow.snapshots._asked_lately() == []
    assert shadow.gate.answer(call) is None
    shadow.snapshots.refresh_all()
    answer = shadow.gate.answer(call)
    assert answer is not None
    assert answer[0] == 200
    # A sale that the view does not find is forgotten at once.
    shadow.gate.learn(call, (404, [], b""))
    shadow.snapshots.refresh_all()
    assert shadow.gate.answer(call) is None


def test_calls_for_ids_that_no_item_has_let_the_gate_watch_nothing(
    item: SaleItem, shadow: Shadow, settings: LazySettings
) -> None:
    def get(item_id: int, **headers: str) -> Any:
        return APIClient().get(f"/api/v1/sale-items/{item_id}/live/", headers=headers)

    assert get(item.pk + 1).status_code == 404
    with_stores = store_away(settings)
    # Then the view knows no item.
    unknown = get(item.pk + 1)
    assert (unknown.status_code, unknown.json()["phase"]) == (200, None)
    assert get(item.pk + 2, if_none_match=unknown["ETag"]).status_code == 304
    call = read_call(Scope("GET", f"/api/v1/sale-items/{item.pk + 3}/live/"))
    assert call is not None
    # Its lane was full.
    shadow.gate.learn(call, (503, [], b""))
    assert not shadow.snapshots._asked_s
    settings.CACHES = with_stores
    known = get(item.pk)
    assert known.status_code == 200
    assert list(shadow.snapshots._asked_s) == [item.pk]
    shadow.snapshots._asked_s.clear()
    assert get(item.pk, if_none_match=known["ETag"]).status_code == 304
    assert list(shadow.snapshots._asked_s) == [item.pk]


def test_the_etag_changes_with_the_figures_alone(item: SaleItem, store: Any, shadow: Shadow) -> None:
    path = f"/api/v1/sale-items/{item.pk}/live/"
    first, second = APIClient().get(path), APIClient().get(path)
    assert first["ETag"] == second["ETag"]
    held_by_others(item, store)
    third = APIClient().get(path, HTTP_IF_NONE_MATCH=first["ETag"])
    assert (third.status_code, json.loads(third.content)["left"]) == (200, 0)
    assert third["ETag"] != first["ETag"]


def test_only_a_new_yes_is_held_back_just_after_units_came_back(
    product: Product, buyer: User, rival: User, pass_for: PassFor, shadow: Shadow
) -> None:
    item = make_item(product, quantity=2)
    mine, theirs = pass_for(buyer, item), pass_for(rival, item)
    assert APIClient().get(f"/api/v1/sale-items/{item.pk}/live/").status_code == 200
    for text, status in ((mine, 201), (theirs, 201), (theirs, 201)):
        assert reserve_by_api(item.pk, text).status_code == status
        assert shadow.held_back_seconds == 0
    ids = [passes.read(mine).reservation_id]
    ledger.release(item_id=item.pk, reservation_ids=ids, reason=ReleaseReason.EXPIRED)
    again = pass_for(buyer, item)
    asked = asks_units(item, again)
    call = read_call(scope_of(asked))
    assert call is not None
    # Its answer was lost, and it may have got the units.
    assert shadow.gate.learn(call, (503, [], b"")) > 0
    assert reserve_by_api(item.pk, again).status_code == 201
    assert shadow.held_back_seconds > 0
    assert reserve_by_api(item.pk, again)["Idempotent-Replayed"] == "true"
    assert shadow.held_back_seconds == 0
