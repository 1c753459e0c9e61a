"""join_line.lua: each word, each precedence between words, and what a place leaves behind."""

import pytest

from seckill.ledger_words import Joined
from seckill.line import line_ledger
from seckill.line.line_ledger import JoinAnswer, Place
from seckill.outcomes import Outcome
from seckill.store import scripts
from seckill.store.client import StoreUnreachable
from tests.seckill.checked_item import HOUR_MS, ITEM_ID, CheckedItem, says


def sold_out(item: CheckedItem, *, quantity: int = 1, per_buyer_max: int = 3) -> None:
    """An item with a line, all of whose units buyer 1 holds."""
    item.publish_with_line(quantity=quantity, per_buyer_max=per_buyer_max)
    item.held(buyer=1, units=quantity)


def test_places_are_in_the_order_of_arrival_whatever_their_units(item: CheckedItem) -> None:
    sold_out(item)
    first = item.new_id()
    assert item.join(first, buyer=8, units=3) == JoinAnswer(Joined.JOINED, reservation_id=first, units=3)
    for buyer, units in ((9, 1), (10, 2), (11, 1)):
        item.waiting(buyer=buyer, units=units)
    assert item.line() == ["8", "9", "10", "11"]
    found = [line_ledger.find_place(item_id=ITEM_ID, buyer_id=buyer) for buyer in (8, 9, 10, 11, 12)]
    assert [place and (place.units, place.ahead) for place in found] == [(3, 0), (1, 1), (2, 2), (1, 3), None]
    assert found[0] == Place(first, units=3, ahead=0)
    assert item.client.hget(item.keys.places, "arrivals") == b"4"


def test_a_second_call_gets_the_place_that_is_there(item: CheckedItem) -> None:
    sold_out(item)
    first = item.waiting(buyer=8, units=2)
    same = JoinAnswer(Joined.ALREADY_WAITING, reservation_id=first, units=2)
    assert item.join(first, buyer=8, units=2) == same
    assert item.join(buyer=8, units=1) == same
    # In each state of the sale.
    for field, value in (("state", "paused"), ("closes_ms", "1"), ("opens_ms", str(9 * 10**12))):
        with item.damaged(**{field: value}):
            assert item.join(first, buyer=8) == same


def test_a_pass_that_has_reserved_has_no_place_even_where_the_buyer_has_another(item: CheckedItem) -> None:
    item.publish_with_line(quantity=2, per_buyer_max=3)
    held, sold = item.held(buyer=8), item.sold(buyer=9)
    assert item.join(held, buyer=8).word is Joined.ALREADY_RESERVED
    assert item.join(sold, buyer=9).word is Joined.ALREADY_RESERVED
    item.release(held)
    item.held(buyer=1)
    assert item.join(held, buyer=8).word is Joined.HOLD_ENDED
    item.waiting(buyer=8)
    assert item.join(held, buyer=8).word is Joined.HOLD_ENDED


def test_an_item_without_a_line_says_so_before_all_else(item: CheckedItem) -> None:
    item.publish(paused=True)
    assert item.join().word is Joined.NO_LINE


@pytest.mark.parametrize(
    ("terms", "word"),
    [
        ({"paused": True, "opens_in_ms": HOUR_MS}, Joined.PAUSED),
        ({"paused": True, "closes_in_ms": -1}, Joined.PAUSED),
        ({"opens_in_ms": HOUR_MS, "closes_in_ms": 2 * HOUR_MS}, Joined.NOT_OPEN),
        ({"closes_in_ms": -1}, Joined.CLOSED),
        ({}, Joined.UNITS_LEFT),
    ],
)
def test_a_sale_that_does_not_sell_has_no_places(item: CheckedItem, terms: dict[str, int], word: Joined) -> None:
    item.publish_with_line(per_buyer_max=1, **terms)
    assert item.join().word is word
    # Before what depends on the buyer, but for units that are left.
    expected = Joined.LIMIT_REACHED if word is Joined.UNITS_LEFT else word
    assert item.join(units=2).word is expected


def test_before_the_opening_the_answer_says_in_how_many_milliseconds_it_is(item: CheckedItem) -> None:
    item.publish_with_line(opens_in_ms=HOUR_MS, closes_in_ms=2 * HOUR_MS)
    answer = item.join()
    opens_ms, now_ms = int(item.item()["opens_ms"]), item.now_ms()
    assert answer.word is Joined.NOT_OPEN
    assert opens_ms - now_ms <= answer.opens_in_ms <= HOUR_MS


def test_the_limit_counts_what_the_buyer_has_and_waits_for(item: CheckedItem) -> None:
    item.publish_with_line(quantity=2, per_buyer_max=3)
    item.held(buyer=8, units=2)
    refused = JoinAnswer(Joined.LIMIT_REACHED, remaining=1, per_buyer_max=3)
    assert item.join(buyer=8, units=2) == refused
    assert item.join(buyer=8, units=1).word is Joined.JOINED
    item.adjust(per_buyer_max=1)
    assert item.join(buyer=9, units=2) == JoinAnswer(Joined.LIMIT_REACHED, remaining=1, per_buyer_max=1)
    item.leave(line_ledger.find_place(item_id=ITEM_ID, buyer_id=8).reservation_id, buyer=8)  # type: ignore[union-attr]
    assert item.join(buyer=8) == JoinAnswer(Joined.LIMIT_REACHED, remaining=0, per_buyer_max=1)


def test_one_waits_for_more_than_are_left(item: CheckedItem) -> None:
    item.publish_with_line(quantity=2, per_buyer_max=3)
    assert item.join(buyer=8, units=2).word is Joined.UNITS_LEFT
    assert item.join(buyer=8, units=3).word is Joined.JOINED
    assert item.join(buyer=9, units=2).word is Joined.UNITS_LEFT
    assert item.join(buyer=9, units=1).word is Joined.UNITS_LEFT


@pytest.mark.parametrize("waits_for", [1, 2])
def test_units_on_their_way_to_somebody_in_line_are_not_left(item: CheckedItem, waits_for: int) -> None:
    sold_out(item, quantity=2)
    item.waiting(buyer=8, units=waits_for)
    # By a process of an older release, which does not hand on.
    item.release(next(iter(item.holds_of(1))))
    assert item.reserve(buyer=9).outcome == Outcome.HELD_BY_OTHERS
    assert item.join(buyer=9).word is Joined.JOINED


def test_an_unlimited_item_has_always_units_left(item: CheckedItem) -> None:
    item.publish_with_line(quantity=None)
    assert item.join().word is Joined.UNITS_LEFT


def test_a_line_has_so_many_places(item: CheckedItem) -> None:
    sold_out(item)
    item.waiting(buyer=8)
    item.waiting(buyer=9)
    keys = item.keys
    slots = [keys.item, keys.buyers, keys.holds, keys.line, keys.places]
    assert scripts.JOIN_LINE.run(item.client, keys=slots, args=["x", 10, 1, 2]) == ["line_full"]
    assert scripts.JOIN_LINE.run(item.client, keys=slots, args=["x", 10, 1, 3]) == ["joined", "x", "1"]


def test_ten_units_are_possible(item: CheckedItem) -> None:
    sold_out(item, per_buyer_max=10)
    assert item.join(buyer=8, units=10).word is Joined.JOINED
    assert line_ledger.find_place(item_id=ITEM_ID, buyer_id=8) is not None


def test_a_damaged_place_is_a_fault(item: CheckedItem) -> None:
    sold_out(item)
    for place in ("", "x", "x:1", "x:1:", "x:many:1", ":1:1", "x:1:2:3"):
        item.client.hset(item.keys.places, "8", place)
        with pytest.raises(StoreUnreachable, match=says("the place is malformed")):
            item.join(buyer=8)
