"""join_line.lua: each word, each precedence between words, and what a place leaves behind."""

import pytest

from seckill.ledger_words import Departed, Joined
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


def test_places_are_in_the_order_of_arrival_whatever_their_units(checked_item: CheckedItem) -> None:
    sold_out(checked_item)
    first = checked_item.new_id()
    assert checked_item.join(first, buyer=8, units=3) == JoinAnswer(Joined.JOINED, reservation_id=first, units=3)
    for buyer, units in ((9, 1), (10, 2), (11, 1)):
        checked_item.waiting(buyer=buyer, units=units)
    assert checked_item.line() == ["8", "9", "10", "11"]
    found = [line_ledger.find_place(item_id=ITEM_ID, buyer_id=buyer) for buyer in (8, 9, 10, 11, 12)]
    assert [place and (place.units, place.ahead) for place in found] == [(3, 0), (1, 1), (2, 2), (1, 3), None]
    assert found[0] == Place(first, units=3, ahead=0)
    assert checked_item.client.hget(checked_item.keys.places, "arrivals") == b"4"


@pytest.mark.parametrize(("sizes", "least"), [((3, 2, 1), "1"), ((1, 2, 3), "1"), ((2, 3), "2"), ((3, 2), "2")])
def test_the_item_knows_for_how_few_units_somebody_waits(
    checked_item: CheckedItem, sizes: tuple[int, ...], least: str
) -> None:
    sold_out(checked_item)
    for buyer, units in enumerate(sizes, start=8):
        checked_item.waiting(buyer=buyer, units=units)
    assert checked_item.item()["smallest_waiting"] == least


def test_one_waits_for_sold_units_too(checked_item: CheckedItem) -> None:
    checked_item.publish_with_line(quantity=1)
    checked_item.sold(buyer=1)
    assert checked_item.join(buyer=8).word is Joined.JOINED


def test_a_second_call_gets_the_place_that_is_there(checked_item: CheckedItem) -> None:
    sold_out(checked_item)
    first = checked_item.waiting(buyer=8, units=2)
    same = JoinAnswer(Joined.ALREADY_WAITING, reservation_id=first, units=2)
    assert checked_item.join(first, buyer=8, units=2) == same
    assert checked_item.join(buyer=8, units=1) == same
    # In each state of the sale.
    for field, value in (("state", "paused"), ("closes_ms", "1"), ("opens_ms", str(9 * 10**12))):
        before = checked_item.item()[field]
        checked_item.client.hset(checked_item.keys.item, field, value)
        assert checked_item.join(first, buyer=8) == same
        checked_item.client.hset(checked_item.keys.item, field, before)


def test_a_pass_that_has_reserved_needs_no_place(checked_item: CheckedItem) -> None:
    checked_item.publish_with_line(quantity=2)
    held, sold = checked_item.held(buyer=8), checked_item.sold(buyer=9)
    assert checked_item.join(held, buyer=8).word is Joined.ALREADY_RESERVED
    assert checked_item.join(sold, buyer=9).word is Joined.ALREADY_RESERVED
    checked_item.release(held)
    checked_item.held(buyer=1)
    assert checked_item.join(held, buyer=8).word is Joined.HOLD_ENDED


def test_a_pass_whose_hold_has_ended_has_no_place_even_where_the_buyer_has_another(checked_item: CheckedItem) -> None:
    checked_item.publish_with_line(quantity=1)
    ended = checked_item.ended(buyer=8)
    checked_item.held(buyer=1)
    checked_item.waiting(buyer=8)
    assert checked_item.join(ended, buyer=8).word is Joined.HOLD_ENDED


@pytest.mark.parametrize("lost", ["state", "opens_ms", "closes_ms", "per_buyer_max", "incarnation"])
def test_an_item_that_lost_a_field_is_unavailable(checked_item: CheckedItem, lost: str) -> None:
    sold_out(checked_item)
    checked_item.client.hdel(checked_item.keys.item, lost)
    assert checked_item.join(buyer=8).word is Joined.UNAVAILABLE


@pytest.mark.parametrize("damaged", ["opens_ms", "closes_ms", "per_buyer_max"])
def test_an_item_with_a_field_that_is_no_number_is_unavailable(checked_item: CheckedItem, damaged: str) -> None:
    sold_out(checked_item)
    checked_item.client.hset(checked_item.keys.item, damaged, "soon")
    assert checked_item.join(buyer=8).word is Joined.UNAVAILABLE


def test_an_item_that_is_not_there_is_unavailable(checked_item: CheckedItem) -> None:
    assert checked_item.join().word is Joined.UNAVAILABLE


def test_an_item_of_another_run_of_the_server_is_unavailable(checked_item: CheckedItem) -> None:
    sold_out(checked_item)
    held = checked_item.waiting(buyer=8)
    checked_item.become_unverified(incarnation="0" * 40)
    assert checked_item.join(held, buyer=8).word is Joined.UNAVAILABLE


def test_an_item_without_a_line_says_so_before_all_else(checked_item: CheckedItem) -> None:
    checked_item.publish(paused=True)
    assert checked_item.join().word is Joined.NO_LINE


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
def test_a_sale_that_does_not_sell_has_no_places(
    checked_item: CheckedItem, terms: dict[str, int], word: Joined
) -> None:
    checked_item.publish_with_line(per_buyer_max=1, **terms)
    assert checked_item.join().word is word
    # Before what depends on the buyer, but for units that are left.
    expected = Joined.LIMIT_REACHED if word is Joined.UNITS_LEFT else word
    assert checked_item.join(units=2).word is expected


def test_the_limit_counts_what_the_buyer_has_and_waits_for(checked_item: CheckedItem) -> None:
    checked_item.publish_with_line(quantity=2, per_buyer_max=3)
    checked_item.held(buyer=8, units=2)
    refused = JoinAnswer(Joined.LIMIT_REACHED, remaining=1, per_buyer_max=3)
    assert checked_item.join(buyer=8, units=2) == refused
    assert checked_item.join(buyer=8, units=1).word is Joined.JOINED
    checked_item.adjust(per_buyer_max=1)
    assert checked_item.join(buyer=9, units=2) == JoinAnswer(Joined.LIMIT_REACHED, remaining=1, per_buyer_max=1)
    checked_item.leave(line_ledger.find_place(item_id=ITEM_ID, buyer_id=8).reservation_id, buyer=8)  # type: ignore[union-attr]
    assert checked_item.join(buyer=8) == JoinAnswer(Joined.LIMIT_REACHED, remaining=0, per_buyer_max=1)


def test_one_waits_for_more_than_are_left(checked_item: CheckedItem) -> None:
    checked_item.publish_with_line(quantity=2, per_buyer_max=3)
    assert checked_item.join(buyer=8, units=2).word is Joined.UNITS_LEFT
    assert checked_item.join(buyer=8, units=3).word is Joined.JOINED
    assert checked_item.join(buyer=9, units=2).word is Joined.UNITS_LEFT
    assert checked_item.join(buyer=9, units=1).word is Joined.UNITS_LEFT


@pytest.mark.parametrize("waits_for", [1, 2])
def test_units_on_their_way_to_somebody_in_line_are_not_left(checked_item: CheckedItem, waits_for: int) -> None:
    sold_out(checked_item, quantity=2)
    checked_item.waiting(buyer=8, units=waits_for)
    # By a process of an older release, which does not hand on.
    checked_item.release(next(iter(checked_item.holds_of(1))))
    assert checked_item.reserve(buyer=9).outcome == Outcome.HELD_BY_OTHERS
    assert checked_item.join(buyer=9).word is Joined.JOINED


def test_an_unlimited_item_has_always_units_left(checked_item: CheckedItem) -> None:
    checked_item.publish_with_line(quantity=None)
    assert checked_item.join().word is Joined.UNITS_LEFT


def test_a_line_has_so_many_places(checked_item: CheckedItem) -> None:
    sold_out(checked_item)
    checked_item.waiting(buyer=8)
    checked_item.waiting(buyer=9)
    keys = checked_item.keys
    slots = [keys.item, keys.buyers, keys.holds, keys.line, keys.places]
    assert scripts.JOIN_LINE.run(checked_item.client, keys=slots, args=["x", 10, 1, 2]) == ["line_full"]
    assert scripts.JOIN_LINE.run(checked_item.client, keys=slots, args=["x", 10, 1, 3]) == ["joined", "x", "1"]


@pytest.mark.parametrize("units", ["0", "-1", "1.5", "11", "many"])
def test_units_are_whole_one_to_ten(checked_item: CheckedItem, units: str) -> None:
    sold_out(checked_item)
    checked_item.is_refused(scripts.JOIN_LINE, keys=5, args=["x", "8", units, "9"], message="units are whole, 1 to 10")


def test_ten_units_are_possible(checked_item: CheckedItem) -> None:
    sold_out(checked_item, per_buyer_max=10)
    assert checked_item.join(buyer=8, units=10).word is Joined.JOINED
    assert line_ledger.find_place(item_id=ITEM_ID, buyer_id=8) is not None


def test_a_damaged_count_of_the_buyer_is_a_fault(checked_item: CheckedItem) -> None:
    sold_out(checked_item)
    checked_item.client.hset(checked_item.keys.buyers, "8", "many")
    with pytest.raises(StoreUnreachable, match=says("the count of the buyer is malformed")):
        checked_item.join(buyer=8)


@pytest.mark.parametrize("place", ["", "x", "x:1", "x:1:", "x:many:1", ":1:1", "x:1:2:3"])
def test_a_damaged_place_is_a_fault(checked_item: CheckedItem, place: str) -> None:
    sold_out(checked_item)
    checked_item.client.hset(checked_item.keys.places, "8", place)
    with pytest.raises(StoreUnreachable, match=says("the place is malformed")):
        checked_item.join(buyer=8)


def test_a_full_store_gives_no_places_and_lets_people_leave(checked_item: CheckedItem) -> None:
    sold_out(checked_item)
    place = checked_item.waiting(buyer=8)
    with checked_item.store.full():
        with pytest.raises(StoreUnreachable):
            checked_item.join(buyer=9)
        assert checked_item.leave(place, buyer=8) is Departed.LEFT_LINE


@pytest.mark.parametrize(
    ("window", "word"),
    [
        ({"opens_in_ms": 1}, Joined.NOT_OPEN),
        ({"opens_in_ms": 0}, Joined.JOINED),
        ({"closes_in_ms": 1}, Joined.JOINED),
        ({"closes_in_ms": 0}, Joined.CLOSED),
    ],
)
def test_the_window_is_exact_to_the_millisecond(
    checked_item: CheckedItem, window: dict[str, int], word: Joined
) -> None:
    sold_out(checked_item)
    assert checked_item.at_window("join_line", lambda: checked_item.join(buyer=8), **window).word is word
