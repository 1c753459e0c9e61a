"""hand_on.lua: units that are left go to the first in line whom they are enough for; each word, each precedence."""

import pytest
from django.test import override_settings

from seckill.ledger_words import HandedOn, Released
from seckill.line import line_ledger
from seckill.outcomes import Outcome
from seckill.store import scripts
from seckill.store.client import StoreUnreachable
from tests.seckill.checked_item import DAMAGED_NUMBERS, HOUR_MS, ITEM_ID, CheckedItem


def left(item: CheckedItem, units: int, *, waiting: list[tuple[int, int]], per_buyer_max: int = 10) -> None:
    """An item with so many units left, and people who wait: (buyer, units). They came before the units."""
    item.publish_with_line(quantity=1, per_buyer_max=per_buyer_max)
    item.held(buyer=1)
    for buyer, wanted in waiting:
        item.waiting(buyer=buyer, units=wanted)
    if units:
        item.adjust(units=units)


def test_a_hold_from_the_line_is_a_reservation_with_a_fresh_deadline(checked_item: CheckedItem) -> None:
    checked_item.publish_with_line(quantity=2, per_buyer_max=3, hold_ms=900_000)
    held = checked_item.held(buyer=1, units=2)
    place = checked_item.waiting(buyer=8, units=2)
    checked_item.release(held)
    before_ms = checked_item.now_ms()
    assert checked_item.hand_on() is HandedOn.HANDED_ON
    assert checked_item.counters() == ("0", "2", "0")
    assert checked_item.buyers() == {"8": "2"}
    deadline_ms = int(checked_item.holds()[str(place)].split(":")[3])
    assert before_ms + 900_000 <= deadline_ms <= checked_item.now_ms() + 900_000
    assert checked_item.holds()[str(place)] == f"held:8:2:{deadline_ms}"
    assert checked_item.entries()[-1] == {
        "reservation": str(place),
        "buyer": "8",
        "units": "2",
        "reserved_ms": str(deadline_ms - 900_000),
        "deadline_ms": str(deadline_ms),
        "waited": "1",
    }
    assert checked_item.latest()[0] == (2, str(place))
    again = checked_item.reserve(place, buyer=8, units=2)
    assert (again.outcome, again.units, again.deadline_ms) == (Outcome.ALREADY_RESERVED, 2, deadline_ms)
    assert checked_item.line() == []


@pytest.mark.parametrize(
    ("units", "waiting", "given", "stay"),
    [
        (1, [(8, 1), (9, 1)], {"8": "1"}, ["9"]),
        (1, [(8, 2), (9, 1)], {"9": "1"}, ["8"]),
        (2, [(8, 2), (9, 1)], {"8": "2"}, ["9"]),
        (2, [(8, 3), (9, 1), (10, 2), (11, 1)], {"9": "1", "11": "1"}, ["8", "10"]),
        (3, [(8, 2), (9, 2), (10, 1)], {"8": "2", "10": "1"}, ["9"]),
        (5, [(8, 10), (9, 4), (10, 2), (11, 1)], {"9": "4", "11": "1"}, ["8", "10"]),
        (10, [(8, 10), (9, 1)], {"8": "10"}, ["9"]),
        (12, [(8, 10), (9, 1)], {"8": "10", "9": "1"}, []),
        (20, [(8, 1)], {"8": "1"}, []),
    ],
)
def test_each_unit_goes_to_the_first_whom_it_is_enough_for(
    checked_item: CheckedItem, units: int, waiting: list[tuple[int, int]], given: dict[str, str], stay: list[str]
) -> None:
    left(checked_item, units, waiting=waiting)
    assert checked_item.hand_on() is HandedOn.HANDED_ON
    assert checked_item.buyers() == {"1": "1", **given}
    assert checked_item.line() == stay
    assert checked_item.hand_on() is HandedOn.NOBODY_FITS


@pytest.mark.parametrize("waiting", [[], [(8, 2)], [(8, 10), (9, 3)]])
def test_units_stay_for_newcomers_if_nobody_waits_for_so_few(
    checked_item: CheckedItem, waiting: list[tuple[int, int]]
) -> None:
    left(checked_item, 1, waiting=waiting)
    assert checked_item.hand_on() is HandedOn.NOBODY_FITS
    assert checked_item.reserve(buyer=20).outcome == Outcome.RESERVED


def test_one_atom_serves_so_many_and_the_next_one_goes_on(checked_item: CheckedItem) -> None:
    left(checked_item, 5, waiting=[(8, 1), (9, 1), (10, 1)])
    assert checked_item.hand_on(people_max=2) is HandedOn.HANDED_ON
    assert checked_item.line() == ["10"]
    assert checked_item.reserve(buyer=20).outcome == Outcome.HELD_BY_OTHERS
    assert checked_item.hand_on(people_max=1) is HandedOn.HANDED_ON
    assert checked_item.reserve(buyer=20).outcome == Outcome.RESERVED


def test_the_answer_says_how_many_got_units(checked_item: CheckedItem) -> None:
    left(checked_item, 2, waiting=[(8, 1), (9, 1), (10, 1)])
    call = line_ledger.handing_on(ITEM_ID)
    assert scripts.HAND_ON.run(checked_item.client, keys=call.keys, args=call.args) == ["handed_on", "2"]


@pytest.mark.parametrize("people_max", ["0", "11", "many"])
def test_one_atom_is_bounded(checked_item: CheckedItem, people_max: str) -> None:
    left(checked_item, 1, waiting=[(8, 1)])
    checked_item.is_refused(scripts.HAND_ON, keys=7, args=["9", people_max], message="people_max is 1 to 10")


def test_ten_are_the_most(checked_item: CheckedItem) -> None:
    left(checked_item, 12, waiting=[(buyer, 1) for buyer in range(8, 20)])
    assert checked_item.hand_on(people_max=10) is HandedOn.HANDED_ON
    assert checked_item.line() == ["18", "19"]


# --- places that end without units ---


@pytest.mark.parametrize("units", [1, 2])
def test_who_has_reserved_elsewhere_up_to_the_limit_is_passed_over(checked_item: CheckedItem, units: int) -> None:
    checked_item.publish_with_line(quantity=2, per_buyer_max=2)
    held = checked_item.held(buyer=1, units=2)
    checked_item.waiting(buyer=8, units=2)
    checked_item.waiting(buyer=9, units=1)
    checked_item.adjust(units=1)
    # One unit, for which 9 waits: as from an older release, past the line.
    checked_item.held_by_script(buyer=8, units=1)
    checked_item.release(held)
    assert checked_item.hand_on() is HandedOn.HANDED_ON
    assert checked_item.buyers() == {"8": "1", "9": "1"}
    assert checked_item.line() == []
    assert checked_item.counters() == ("1", "2", "0")


def test_a_lower_limit_ends_places_for_more(checked_item: CheckedItem) -> None:
    left(checked_item, 2, waiting=[(8, 2), (9, 1)])
    checked_item.adjust(per_buyer_max=1)
    assert checked_item.hand_on() is HandedOn.HANDED_ON
    assert checked_item.buyers() == {"1": "1", "9": "1"}


def test_a_pass_that_has_reserved_meanwhile_gets_no_second_hold(checked_item: CheckedItem) -> None:
    checked_item.publish_with_line(quantity=2, per_buyer_max=9)
    place = checked_item.waiting(buyer=8, units=3)
    assert checked_item.reserve(place, buyer=8, units=1).outcome == Outcome.RESERVED
    checked_item.adjust(units=5)
    assert checked_item.hand_on() is HandedOn.HANDED_ON
    assert checked_item.buyers() == {"8": "1"}
    assert checked_item.line() == []


@pytest.mark.parametrize("place", [None, "", "x:1", "x:0:1", "x:many:1", "x:007:1", "x:9:1"])
def test_a_lost_or_damaged_place_stops_nobody(checked_item: CheckedItem, place: str | None) -> None:
    left(checked_item, 1, waiting=[(8, 1), (9, 1)])
    if place is None:
        checked_item.client.hdel(checked_item.keys.places, "8")
    else:
        checked_item.client.hset(checked_item.keys.places, "8", place)
    assert checked_item.hand_on() is HandedOn.HANDED_ON
    assert checked_item.buyers() == {"1": "1", "9": "1"}


def test_a_damaged_count_of_a_buyer_stops_nobody(checked_item: CheckedItem) -> None:
    left(checked_item, 1, waiting=[(8, 1), (9, 1)])
    checked_item.client.hset(checked_item.keys.buyers, "8", "many")
    with checked_item.unguarded():
        assert checked_item.hand_on() is HandedOn.HANDED_ON
    assert checked_item.buyers() == {"1": "1", "8": "many", "9": "1"}


@pytest.mark.parametrize("said", ["1", "2"])
def test_units_kept_for_somebody_who_is_not_there_are_free_again(checked_item: CheckedItem, said: str) -> None:
    left(checked_item, 2, waiting=[])
    checked_item.client.hset(checked_item.keys.item, "smallest_waiting", said)
    assert checked_item.hand_on() is HandedOn.HANDED_ON
    assert checked_item.reserve(buyer=9).outcome == Outcome.RESERVED


# --- refusals, in their order ---


@pytest.mark.parametrize(
    "lost",
    [
        *("state", "opens_ms", "closes_ms", "hold_ms", "per_buyer_max", "incarnation"),
        *("quantity", "left", "held", "sold", "reservations"),
    ],
)
def test_an_item_that_lost_a_field_is_unavailable(checked_item: CheckedItem, lost: str) -> None:
    left(checked_item, 1, waiting=[(8, 1)])
    checked_item.client.hdel(checked_item.keys.item, lost)
    assert checked_item.hand_on() is HandedOn.UNAVAILABLE


@pytest.mark.parametrize("part", ["quantity", "left", "held", "sold", "reservations"])
@pytest.mark.parametrize("value", DAMAGED_NUMBERS)
def test_an_item_with_a_damaged_counter_is_unavailable(checked_item: CheckedItem, part: str, value: str) -> None:
    left(checked_item, 1, waiting=[(8, 1)])
    checked_item.client.hset(checked_item.keys.item, part, value)
    assert checked_item.hand_on() is HandedOn.UNAVAILABLE


@pytest.mark.parametrize("part", ["opens_ms", "closes_ms", "hold_ms", "per_buyer_max"])
def test_an_item_with_a_damaged_term_is_unavailable(checked_item: CheckedItem, part: str) -> None:
    left(checked_item, 1, waiting=[(8, 1)])
    checked_item.client.hset(checked_item.keys.item, part, "many")
    assert checked_item.hand_on() is HandedOn.UNAVAILABLE


@pytest.mark.parametrize("key", ["outbox", "buyers", "holds"])
def test_an_item_that_lost_a_key_is_unavailable(checked_item: CheckedItem, key: str) -> None:
    left(checked_item, 1, waiting=[(8, 1)])
    checked_item.client.delete(getattr(checked_item.keys, key))
    assert checked_item.hand_on() is HandedOn.UNAVAILABLE


def test_an_item_of_which_all_has_ended_needs_its_holds(checked_item: CheckedItem) -> None:
    checked_item.publish_with_line(quantity=1, per_buyer_max=9)
    checked_item.ended(buyer=1)
    checked_item.waiting(buyer=8, units=2)
    checked_item.adjust(units=1)
    checked_item.client.delete(checked_item.keys.holds)
    assert checked_item.hand_on() is HandedOn.UNAVAILABLE


@pytest.mark.parametrize("key", ["outbox", "buyers"])
def test_an_item_without_units_in_hands_needs_its_outbox(checked_item: CheckedItem, key: str) -> None:
    checked_item.publish_with_line(quantity=1, per_buyer_max=9)
    checked_item.waiting(buyer=8, units=2)
    checked_item.adjust(units=1)
    checked_item.client.delete(getattr(checked_item.keys, key))
    with checked_item.unguarded():
        word = checked_item.hand_on()
    assert word is (HandedOn.UNAVAILABLE if key == "outbox" else HandedOn.HANDED_ON)


@pytest.mark.parametrize("sold", [True, False])
def test_an_item_with_units_in_hands_needs_its_buyers(checked_item: CheckedItem, sold: bool) -> None:
    checked_item.publish_with_line(quantity=1, per_buyer_max=9)
    checked_item.sold(buyer=1) if sold else checked_item.held(buyer=1)
    checked_item.waiting(buyer=8, units=2)
    checked_item.adjust(units=2)
    checked_item.client.delete(checked_item.keys.buyers)
    assert checked_item.hand_on() is HandedOn.UNAVAILABLE


@pytest.mark.parametrize("incarnation", [None, "0" * 40])
def test_an_item_that_is_not_verified_is_unavailable(checked_item: CheckedItem, incarnation: str | None) -> None:
    left(checked_item, 1, waiting=[(8, 1)])
    checked_item.become_unverified(incarnation=incarnation)
    assert checked_item.hand_on() is HandedOn.UNAVAILABLE


def test_an_item_without_a_line_says_so(checked_item: CheckedItem) -> None:
    checked_item.publish(paused=True)
    assert checked_item.hand_on() is HandedOn.NO_LINE


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"state": "paused", "opens_ms": HOUR_MS}, HandedOn.PAUSED),
        ({"state": "paused", "closes_ms": -1}, HandedOn.PAUSED),
        ({"opens_ms": HOUR_MS, "closes_ms": -1}, HandedOn.NOT_OPEN),
        ({"closes_ms": -1}, HandedOn.CLOSED),
        ({"closes_ms": HOUR_MS, "opens_ms": -1}, HandedOn.HANDED_ON),
    ],
)
@pytest.mark.parametrize("waits_for", [1, 2])
def test_a_sale_that_does_not_sell_hands_nothing_on(
    checked_item: CheckedItem, fields: dict[str, str | int], word: HandedOn, waits_for: int
) -> None:
    left(checked_item, 2, waiting=[(8, waits_for)])
    now_ms = checked_item.now_ms()
    for name, value in fields.items():
        checked_item.client.hset(checked_item.keys.item, name, value if isinstance(value, str) else now_ms + value)
    assert checked_item.hand_on() is word


def test_nothing_is_handed_on_that_could_not_become_an_order_soon(checked_item: CheckedItem) -> None:
    left(checked_item, 1, waiting=[(8, 1)])
    with override_settings(SECKILL_BACKLOG_MAX=1):
        assert checked_item.hand_on() is HandedOn.BACKLOG_FULL
    with override_settings(SECKILL_BACKLOG_MAX=2):
        assert checked_item.hand_on() is HandedOn.HANDED_ON
    with override_settings(SECKILL_BACKLOG_MAX=1):
        assert checked_item.hand_on() is HandedOn.NOBODY_FITS


# --- in one atom with what gives units back ---


def test_released_units_are_handed_on_in_the_same_atom(checked_item: CheckedItem) -> None:
    checked_item.publish_with_line(quantity=1)
    held = checked_item.held(buyer=1)
    place = checked_item.waiting(buyer=8)
    assert checked_item.release(held, handing_on=True) is Released.RELEASED
    assert checked_item.holds()[str(place)].startswith("held:8:1:")
    assert checked_item.release(held, handing_on=True) is Released.ALREADY_RELEASED


def test_a_store_that_lost_its_scripts_loads_both(checked_item: CheckedItem) -> None:
    checked_item.publish_with_line(quantity=1)
    held = checked_item.held(buyer=1)
    place = checked_item.waiting(buyer=8)
    checked_item.client.script_flush()
    with checked_item.unguarded():
        checked_item.release(held, handing_on=True)
    assert checked_item.holds()[str(held)].startswith("ended:")
    assert checked_item.holds()[str(place)].startswith("held:8:1:")


def test_a_full_store_takes_units_back_and_hands_them_on_when_it_has_room(checked_item: CheckedItem) -> None:
    checked_item.publish_with_line(quantity=1)
    held = checked_item.held(buyer=1)
    checked_item.waiting(buyer=8)
    with checked_item.store.full():
        assert checked_item.release(held, handing_on=True) is Released.RELEASED
        assert checked_item.counters() == ("1", "0", "0")
        with pytest.raises(StoreUnreachable):
            checked_item.hand_on()
        assert checked_item.line() == ["8"]
    assert checked_item.hand_on() is HandedOn.HANDED_ON


def test_the_list_of_the_latest_reservations_stays_short(checked_item: CheckedItem) -> None:
    checked_item.publish_with_line(quantity=1, per_buyer_max=1)
    checked_item.held(buyer=1)
    with checked_item.unguarded():
        for buyer in range(2, 260):
            checked_item.waiting(buyer=buyer)
        checked_item.adjust(units=258)
        for _ in range(26):
            assert checked_item.hand_on() is HandedOn.HANDED_ON
            assert len(checked_item.latest()) <= 191
        assert checked_item.hand_on() is HandedOn.NOBODY_FITS
    checked_item.check_invariants()
    assert checked_item.latest()[0][0] == 259
    assert len(checked_item.latest()) == 128 + 259 % 64


@pytest.mark.parametrize(
    ("window", "word"),
    [
        ({"opens_in_ms": 1}, HandedOn.NOT_OPEN),
        ({"opens_in_ms": 0}, HandedOn.HANDED_ON),
        ({"closes_in_ms": 1}, HandedOn.HANDED_ON),
        ({"closes_in_ms": 0}, HandedOn.CLOSED),
    ],
)
def test_the_window_is_exact_to_the_millisecond(
    checked_item: CheckedItem, window: dict[str, int], word: HandedOn
) -> None:
    left(checked_item, 1, waiting=[(8, 1)])
    assert checked_item.at_window("hand_on", checked_item.hand_on, **window) is word


def test_a_line_of_which_the_item_knows_nothing_is_served_too(checked_item: CheckedItem) -> None:
    left(checked_item, 1, waiting=[(8, 1)])
    checked_item.client.hdel(checked_item.keys.item, "smallest_waiting")
    assert checked_item.hand_on() is HandedOn.HANDED_ON
    assert checked_item.line() == []


def test_the_first_reservation_of_an_item_may_come_from_the_line(checked_item: CheckedItem) -> None:
    checked_item.publish_with_line(quantity=1, per_buyer_max=2)
    place = checked_item.waiting(buyer=8, units=2)
    checked_item.adjust(units=1)
    assert checked_item.hand_on() is HandedOn.HANDED_ON
    assert checked_item.latest() == [(1, str(place))]
