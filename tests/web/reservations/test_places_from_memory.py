"""A place in a waiting room: what the gate tells is what the view tells (`shadow` compares)."""

import pytest
from django.contrib.auth.models import User

from orders.tasks import move_waiting_rooms
from seckill.models import SaleItem
from seckill.store.keys import keys_of, room_keys_of
from seckill.waiting_room import place_tokens
from seckill.waiting_room.presence import presence, read_present
from shop.times.timestamps import now_ms
from tests.steps.waiting_room import ask_place, joined, open_now, place_of
from tests.web.reservations.shadow import Scope, Shadow, read_call
from web.addresses import ITEM_CALL_LENGTH_MAX
from web.reservations.calls import item_call_at, known_place

pytestmark = pytest.mark.django_db


def test_before_the_opening_and_after_it(waiting: SaleItem, buyer: User, rival: User, shadow: Shadow) -> None:
    tokens = [joined(waiting, user)["place_token"] for user in (buyer, rival)]
    assert [place_of(waiting, token)["place"] for token in tokens] == [None, None]
    open_now(waiting)
    assert sorted(place_of(waiting, token)["place"] for token in tokens) == [1, 2]
    move_waiting_rooms()
    assert {place_of(waiting, token)["state"] for token in tokens} == {"called"}
    # Those who join are for the view.
    assert shadow.answered == [False] * 2 + [True] * 6


@pytest.mark.parametrize("state", ["paused", "closed", "sold_out"])
def test_a_line_that_stands_and_one_that_is_over(
    waiting: SaleItem, buyer: User, rival: User, shadow: Shadow, store: object, state: str
) -> None:
    token = joined(waiting, buyer)["place_token"]
    open_now(waiting)
    changed = {"paused": {"state": "paused"}, "closed": {"closes_ms": 1}, "sold_out": {"left": 0, "sold": 5}}[state]
    store.hset(keys_of(waiting.pk).item, mapping=changed)  # type: ignore[attr-defined]
    move_waiting_rooms()
    found = place_of(waiting, token)
    assert found["state"] == ("waiting" if state == "paused" else state)
    assert found["wait_seconds"] is None
    assert shadow.answered[-1]


def test_only_the_view_knows_whether_somebody_whose_time_is_over_has_entered(
    waiting: SaleItem, buyer: User, shadow: Shadow, store: object
) -> None:
    token = joined(waiting, buyer)["place_token"]
    open_now(waiting)
    store.hset(room_keys_of(waiting.sale_id).room, mapping={"early": 1, "called": 1, "lapsed": 1})  # type: ignore[attr-defined]
    assert place_of(waiting, token)["state"] == "lapsed"
    store.hset(room_keys_of(waiting.sale_id).arrivals, str(buyer.pk), "0*")  # type: ignore[attr-defined]
    assert place_of(waiting, token)["state"] == "called"
    assert shadow.answered == [False] * 3


def test_a_token_that_is_none_is_for_the_view(waiting: SaleItem, buyer: User, shadow: Shadow) -> None:
    token = joined(waiting, buyer)["place_token"]
    of_another_sale = place_tokens.issue(sale_id=waiting.sale_id + 1, account_id=buyer.pk, arrival=0)
    for text in (token[:-1] + "_", of_another_sale, ""):
        answer = ask_place(waiting, text)
        assert (answer.status_code, answer.json()["code"]) == (401, "place_invalid")
        assert answer["WWW-Authenticate"] == "Place"
    assert shadow.answered == [False] * 4


def test_a_question_that_memory_answers_is_noted_as_presence(waiting: SaleItem, buyer: User, shadow: Shadow) -> None:
    token = joined(waiting, buyer)["place_token"]
    presence._arrivals.clear()
    place_of(waiting, token)
    assert shadow.answered[-1]
    presence.write()
    is_present = read_present(sale_id=waiting.sale_id, now_ms=now_ms())
    assert (is_present(0), is_present(1), is_present(100_000)) == (True, False, False)


def asked_with(text: str) -> bool:
    """Whether memory reads the text as a token of sale 7."""
    headers = {"authorization": f"Place {text}"}
    return read_call(Scope("GET", "/api/v1/sales/7/queue/", headers=headers)) is not None


def test_a_process_remembers_valid_tokens_alone() -> None:
    known_place.cache_clear()
    token = place_tokens.issue(sale_id=7, account_id=1, arrival=0)
    for number in range(10):
        assert asked_with(token)
        assert not asked_with(f"{token[:-2]}{number:02}")
        assert not asked_with(token + "x" * 1000 * number + "x")
    assert known_place.cache_info().currsize == 1


def test_the_longest_token_is_read_from_memory() -> None:
    longest = place_tokens.issue(sale_id=10**15 - 1, account_id=10**19 - 1, arrival=10**10 - 1)
    assert len(longest) == place_tokens.LENGTH_MAX
    headers = {"authorization": f"Place {longest}"}
    assert read_call(Scope("GET", f"/api/v1/sales/{10**15 - 1}/queue/", headers=headers))


def test_a_process_remembers_no_long_paths() -> None:
    item_call_at.cache_clear()
    longest = f"/api/v1/sale-items/{10**15 - 1}/reservations/"
    assert len(longest) == ITEM_CALL_LENGTH_MAX
    for path in (longest, f"{longest}x", "/x" * 1000):
        read_call(Scope("POST", path))
    assert item_call_at.cache_info().currsize == 1
