"""What a live board knows: each part from its server, and of when, while that server is away or silent."""

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from orders.life import lifecycle
from orders.models import Order
from orders.tasks import move_waiting_rooms
from seckill.live import answer_counts
from seckill.live.answer_groups import GROUPS
from seckill.models import SaleItem
from seckill.outcomes import Outcome
from seckill.waiting_room.room_ledger import remove_room
from shop.models import Product
from tests.processes import wait_until
from tests.steps.buying import order_of, reserve
from tests.steps.drawing import drawn, entered, in_order, make_draw, swept
from tests.steps.shop import make_item, server_away
from tests.steps.waiting_room import joined, open_now
from web.board import figures
from web.board.figures import SHOWN_SECONDS, WRITTEN_AFTER_SECONDS, Board

pytestmark = pytest.mark.django_db(transaction=True)


FIGURES = {"cache": "words", "reservation_store": "left", "database": "orders"}
READERS = {"cache": "read_answers", "reservation_store": "read_units", "database": "read_orders"}


@pytest.fixture(autouse=True)
def _always_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr("web.board.source.REST_SECONDS_MAX", 0.0)


@pytest.fixture
def board(item: SaleItem) -> Board:
    return Board(sale_id=item.sale_id, item_ids=[item.pk])


def shown(board: Board) -> Any:
    return json.loads(board.json())


def away(content: Any) -> set[str]:
    return {name for name, source in content["sources"].items() if not source["up"]}


def seconds_shown_at(moment_s: float) -> range:
    last = int(moment_s) - WRITTEN_AFTER_SECONDS
    return range(last - SHOWN_SECONDS + 1, last + 1)


def test_every_answer_has_one_place_in_the_chart() -> None:
    words = [word for group in GROUPS.values() for word in group]
    assert sorted(words) == sorted(answer_counts.WORDS)


def test_it_shows_answers_units_and_orders(board: Board, item: SaleItem, buyer: User, rival: User) -> None:
    second = int(time.time()) - WRITTEN_AFTER_SECONDS
    counts = {(item.pk, Outcome.RESERVED): 2, (item.pk, Outcome.NOT_OPEN): 7, (item.pk, "error"): 1}
    answer_counts.add_to_sums(counts, second=second)
    lifecycle.pay(order_id=order_of(item, buyer).pk)
    reserve(item, rival)
    content = shown(board)
    assert away(content) == set()
    assert {group: sum(values) for group, values in content["seconds"].items()} == {
        **dict.fromkeys(GROUPS, 0),
        "yes": 2,
        "not_on_sale": 7,
        "failed": 1,
    }
    assert {len(values) for values in content["seconds"].values()} == {SHOWN_SECONDS}
    assert content["minute"] == {"reserved": 2, "not_open": 7, "error": 1}
    of_item = content["items"][str(item.pk)]
    assert of_item.pop("lag_ms") >= 0
    assert of_item == {
        **{"left": 3, "held": 1, "sold": 1, "waiting": 1, "in_line": 0, "orders": 1, "paid": 1},
        "words": {"reserved": 2, "not_open": 7, "error": 1},
    }


def test_a_draw_shows_its_stage_its_entries_and_what_became_of_its_winners(product: Product) -> None:
    item = make_draw(product, quantity=3)
    board = Board(sale_id=item.sale_id, item_ids=[item.pk])
    entered(item, 4)
    nobody = dict.fromkeys(("draw_won", "draw_unreserved", "draw_passed_on", "draw_paid", "draw_asked"), 0)
    assert shown(board)["more"] == {"draw_stage": "open", "draw_entries": 4, "draw_units": 4, **nobody}
    drawn(item)
    first, second, _third, _fourth = in_order(item)
    assert lifecycle.pay(order_id=Order.objects.get(reservation_id=first.reservation_id).pk)
    assert lifecycle.cancel(order_id=Order.objects.get(reservation_id=second.reservation_id).pk)
    swept(item)
    found = shown(board)["more"]
    assert found | {"draw_stage": "drawn", "draw_won": 3, "draw_paid": 1, "draw_asked": 2, "draw_passed_on": 1} == found


def test_the_figures_of_a_draw_are_as_many_statements_with_few_entries_as_with_many(
    product: Product, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    item = make_draw(product)
    with CaptureQueriesContext(connection) as few:
        figures.read_orders(item.sale_id)
    count = len(few)
    entered(item, 9)
    # The count of entries is kept for a second at least; here it is counted anew.
    cache.clear()
    with django_assert_num_queries(count):
        figures.read_orders(item.sale_id)


def test_a_waiting_room_shows_its_line_and_nothing_while_the_store_is_away(
    product: Product, buyer: User, rival: User
) -> None:
    item = make_item(product, opens_in_seconds=300, has_room=True)
    move_waiting_rooms()
    board = Board(sale_id=item.sale_id, item_ids=[item.pk])
    for user in (buyer, rival):
        joined(item, user)
    # PostgreSQL is asked first whether there is a room.
    shown(board)
    found = shown(board)["more"]
    assert (found["room_people"], found["room_waiting"], found["room_state"]) == (2, 2, "open")
    open_now(item)
    move_waiting_rooms()
    found = shown(board)["more"]
    assert (found["room_waiting"], found["room_called"], found["room_inside"]) == (0, 2, 2)
    remove_room(sale_id=item.sale_id)
    assert set(shown(board)["more"].values()) == {None}


def test_counts_that_are_written_late_are_still_read(board: Board, item: SaleItem) -> None:
    second = int(time.time()) - WRITTEN_AFTER_SECONDS
    shown(board)
    answer_counts.add_to_sums({(item.pk, Outcome.RESERVED): 1}, second=second)
    assert sum(shown(board)["seconds"]["yes"]) == 1


def test_twenty_viewers_are_one_question(item: SaleItem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "FRESH_SECONDS", 60.0)
    asked: list[int] = []
    read = figures.read_orders

    def noted(sale_id: int) -> figures.Orders:
        asked.append(sale_id)
        return read(sale_id)

    monkeypatch.setattr(figures, "read_orders", noted)
    board = Board(sale_id=item.sale_id, item_ids=[item.pk])
    viewers = [threading.Thread(target=board.json) for _ in range(20)]
    for viewer in viewers:
        viewer.start()
    for viewer in viewers:
        viewer.join()
    assert asked == [item.sale_id]


def test_figures_that_one_process_made_are_shown_by_the_others_while_fresh(
    item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "FRESH_SECONDS", 60.0)
    maker, other, late = (Board(sale_id=item.sale_id, item_ids=[item.pk]) for _ in range(3))
    made = maker.json()
    wait_until(lambda: figures.read_shared(item.sale_id) is not None, seconds_max=5)
    time.sleep(0.1)
    asked_s = time.monotonic()
    assert other.json() == made
    # It is as old for the others as for its maker.
    assert other._made_s < asked_s - 0.05
    cache.delete(figures.key_of(item.sale_id))
    assert late.json() != made


def test_without_the_cache_each_process_makes_its_own(item: SaleItem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "FRESH_SECONDS", 60.0)
    maker, other = (Board(sale_id=item.sale_id, item_ids=[item.pk]) for _ in range(2))
    made = maker.json()
    wait_until(lambda: figures.read_shared(item.sale_id) is not None, seconds_max=5)
    written: list[int] = []
    monkeypatch.setattr(figures, "share", lambda sale_id, _body: written.append(sale_id))
    with server_away("cache"):
        own = other.json()
    assert own != made
    # What waits for a silent cache would pile up, and be shown by the others afterwards.
    assert not written
    assert away(json.loads(own)) == {"cache"}


@pytest.mark.parametrize("name", ["cache", "reservation_store", "database"])
def test_while_a_server_is_away_it_shows_what_it_knew_and_of_when(name: str, board: Board, running: SaleItem) -> None:
    before = shown(board)
    late = Board(sale_id=running.sale_id, item_ids=[running.pk])
    with server_away(name):
        during, begun_late = shown(board), shown(late)
    wait_until(lambda: not away(shown(board)), seconds_max=30)
    assert (away(before), away(during), away(begun_late)) == (set(), {name}, {name})
    known, of_late = during["items"][str(running.pk)], begun_late["items"][str(running.pk)]
    assert known.keys() == before["items"][str(running.pk)].keys()
    assert during["sources"][name]["as_of_ms"] == before["sources"][name]["as_of_ms"]
    # A board that begins now knows of the others.
    assert begun_late["sources"][name]["as_of_ms"] is None
    assert {figure: figure in of_late for figure in FIGURES.values()} == {
        figure: source != name for source, figure in FIGURES.items()
    }
    # What was asked while nobody could count it stays unknown.
    if name == "cache":
        assert None in shown(board)["seconds"]["yes"]
    else:
        wait_until(lambda: None not in shown(board)["seconds"]["yes"], seconds_max=30)


def test_a_second_that_ends_while_the_answer_is_made_is_not_shown_as_unknown(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun_s = time.time()
    later = iter(range(1000))
    # Each look at the clock is a second later than the one before.
    monkeypatch.setattr(figures, "shown_seconds", lambda: seconds_shown_at(begun_s + next(later)))
    assert None not in shown(board)["seconds"]["yes"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "read"), READERS.items())
def test_a_silent_server_is_waited_for_once(
    name: str, read: str, board: Board, item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert away(shown(board)) == set()
    answers_again, patience_seconds = threading.Event(), 1.0
    answer: Callable[..., Any] = getattr(figures, read)

    def silent(*arguments: Any) -> Any:
        answers_again.wait()
        return answer(*arguments)

    def silent_about_others(_sale_id: int) -> None:
        answers_again.wait()

    with monkeypatch.context() as frozen:
        frozen.setattr(figures, read, silent)
        if name == "cache":
            frozen.setattr(figures, "read_shared", silent_about_others)
        frozen.setattr(figures, "ANSWER_SECONDS", patience_seconds)
        began_s = time.monotonic()
        states = [away(shown(board)) for _ in range(20)]
        # Twenty times the patience would be twenty seconds.
        assert time.monotonic() - began_s < 10
        answers_again.set()
    # On a busy machine, others may have been late too.
    assert all(name in state for state in states)
    wait_until(lambda: not away(shown(board)), seconds_max=30)
