"""hand_on.lua: units that are left go to the first in line whom they are enough for; each word, each precedence."""

import pytest
from django.test import override_settings

from seckill.ledger_words import HandedOn, Joined, Released
from seckill.line import line_ledger
from seckill.outcomes import Outcome
from seckill.store import scripts
from tests.seckill.checked_item import HOUR_MS, ITEM_ID, CheckedItem


def left(item: CheckedItem, units: int, *, waiting: list[tuple[int, int]], per_buyer_max: int = 10) -> None:
    """An item with so many units left, and people who wait: (buyer, units). They came before the units."""
    item.publish_with_line(quantity=1, per_buyer_max=per_buyer_max)
    item.held(buyer=1)
    for buyer, wanted in waiting:
        item.waiting(buyer=buyer, units=wanted)
    if units:
        item.adjust(units=units)


def test_a_hold_from_the_line_is_a_reservation_with_a_fresh_deadline(item: CheckedItem) -> None:
    item.publish_with_line(quantity=2, per_buyer_max=3, hold_ms=900_000)
    held = item.held(buyer=1, units=2)
    place = item.waiting(buyer=8, units=2)
    item.release(held)
    before_ms = item.now_ms()
    assert item.hand_on() is HandedOn.HANDED_ON
    assert item.counters() == ("0", "2", "0")
    assert item.buyers() == {"8": "2"}
    deadline_ms = int(item.holds()[str(place)].split(":")[3])
    assert before_ms + 900_000 <= deadline_ms <= item.now_ms() + 900_000
    assert item.holds()[str(place)] == f"held:8:2:{deadline_ms}"
    assert item.entries()[-1] == {
        "reservation": str(place),
        "buyer": "8",
        "units": "2",
        "reserved_ms": str(deadline_ms - 900_000),
        "deadline_ms": str(deadline_ms),
        "waited": "1",
    }
    assert item.latest()[0] == (2, str(place))
    again = item.reserve(place, buyer=8, units=2)
    assert (again.outcome, again.units, again.deadline_ms) == (Outcome.ALREADY_RESERVED, 2, deadline_ms)
    assert item.line() == []


@pytest.mark.parametrize(
    ("units", "waiting", "given", "stay"),
    [
        (2, [(8, 3), (9, 1), (10, 2), (11, 1)], {"9": "1", "11": "1"}, ["8", "10"]),
        (3, [(8, 2), (9, 2), (10, 1)], {"8": "2", "10": "1"}, ["9"]),
        (5, [(8, 10), (9, 4), (10, 2), (11, 1)], {"9": "4", "11": "1"}, ["8", "10"]),
        (12, [(8, 10), (9, 1)], {"8": "10", "9": "1"}, []),
        (20, [(8, 1)], {"8": "1"}, []),
    ],
)
def test_each_unit_goes_to_the_first_whom_it_is_enough_for(
    item: CheckedItem, units: int, waiting: list[tuple[int, int]], given: dict[str, str], stay: list[str]
) -> None:
    left(item, units, waiting=waiting)
    assert item.hand_on() is HandedOn.HANDED_ON
    assert item.buyers() == {"1": "1", **given}
    assert item.line() == stay
    assert item.hand_on() is HandedOn.NOBODY_FITS


@pytest.mark.parametrize("waiting", [[], [(8, 2)], [(8, 10), (9, 3)]])
def test_units_stay_for_newcomers_if_nobody_waits_for_so_few(item: CheckedItem, waiting: list[tuple[int, int]]) -> None:
    left(item, 1, waiting=waiting)
    assert item.hand_on() is HandedOn.NOBODY_FITS
    assert item.reserve(buyer=20).outcome == Outcome.RESERVED


def test_one_atom_serves_so_many_and_the_next_one_goes_on(item: CheckedItem) -> None:
    left(item, 5, waiting=[(8, 1), (9, 1), (10, 1)])
    assert item.hand_on(people_max=2) is HandedOn.HANDED_ON
    assert item.line() == ["10"]
    assert item.reserve(buyer=20).outcome == Outcome.HELD_BY_OTHERS
    assert item.hand_on(people_max=1) is HandedOn.HANDED_ON
    assert item.reserve(buyer=20).outcome == Outcome.RESERVED


def test_ten_are_the_most_and_the_answer_says_how_many_got_units(item: CheckedItem) -> None:
    left(item, 12, waiting=[(buyer, 1) for buyer in range(8, 21)])
    call = line_ledger.handing_on(ITEM_ID, people_max=10)
    for count, stay in ((10, ["18", "19", "20"]), (2, ["20"])):
        assert scripts.HAND_ON.run(item.client, keys=call.keys, args=call.args) == ["handed_on", str(count)]
        assert item.line() == stay


# --- places that get fewer units, and those that end without ---


@pytest.mark.parametrize(
    ("limit", "has", "wanted", "given"),
    [(2, 1, 2, 1), (3, 1, 2, 2), (3, 2, 3, 1), (2, 2, 2, 0), (2, 3, 2, 0), (4, 0, 3, 3)],
)
def test_a_place_gets_as_many_units_as_the_limit_still_allows(
    item: CheckedItem, limit: int, has: int, wanted: int, given: int
) -> None:
    item.publish_with_line(quantity=4, per_buyer_max=9)
    held = item.held(buyer=1, units=4)
    place = item.waiting(buyer=8, units=wanted)
    item.waiting(buyer=9, units=1)
    item.adjust(units=has)
    for _ in range(has):
        # Past the line, as from an older release.
        item.held_by_script(buyer=8, units=1)
    item.adjust(per_buyer_max=limit)
    entries = len(item.entries())
    item.release(held)
    assert item.hand_on() is HandedOn.HANDED_ON
    of_place = [entry["units"] for entry in item.entries()[entries:] if entry["reservation"] == str(place)]
    assert of_place == ([str(given)] if given else [])
    hold = item.holds().get(str(place), "")
    assert hold.split(":")[:3] == (["held", "8", str(given)] if given else [""])
    assert item.buyers() == {**({"8": str(has + given)} if has + given else {}), "9": "1"}
    assert item.line() == []
    assert item.counters() == (str(3 - given), str(has + given + 1), "0")


def test_a_pass_that_has_reserved_meanwhile_gets_no_second_hold(item: CheckedItem) -> None:
    item.publish_with_line(quantity=2, per_buyer_max=9)
    place = item.waiting(buyer=8, units=3)
    assert item.reserve(place, buyer=8, units=1).outcome == Outcome.RESERVED
    item.adjust(units=5)
    assert item.hand_on() is HandedOn.HANDED_ON
    assert item.buyers() == {"8": "1"}
    assert item.line() == []


@pytest.mark.parametrize(
    ("limit", "units", "given", "stay"),
    [
        (1, 1, {"8": "1"}, ["9", "10"]),
        (1, 2, {"8": "1", "9": "1"}, ["10"]),
        (2, 1, {"9": "1"}, ["8", "10"]),
        (2, 2, {"8": "2"}, ["9", "10"]),
        (2, 5, {"8": "2", "9": "1", "10": "2"}, []),
    ],
)
def test_after_a_lower_limit_those_who_wait_for_more_have_their_turn_where_the_limit_is_left(
    item: CheckedItem, limit: int, units: int, given: dict[str, str], stay: list[str]
) -> None:
    left(item, 0, waiting=[(8, 10), (9, 1), (10, 3)])
    item.adjust(per_buyer_max=limit)
    item.adjust(units=units)
    assert item.hand_on() is HandedOn.HANDED_ON
    assert item.buyers() == {"1": "1", **given}
    assert item.line() == stay
    assert item.hand_on() is HandedOn.NOBODY_FITS


def test_after_a_lower_limit_newcomers_do_not_get_what_the_next_atom_hands_on(item: CheckedItem) -> None:
    left(item, 0, waiting=[(buyer, 2) for buyer in range(8, 20)])
    item.adjust(per_buyer_max=1)
    item.adjust(units=11)
    assert item.hand_on() is HandedOn.HANDED_ON
    assert item.line() == ["18", "19"]
    assert item.reserve(buyer=20).outcome == Outcome.HELD_BY_OTHERS
    assert item.join(buyer=20).word is Joined.JOINED
    assert item.hand_on() is HandedOn.HANDED_ON
    assert item.line() == ["19", "20"]


@pytest.mark.parametrize("place", [None, "", "x:1", "x:0:1", "x:many:1", "x:007:1", "x:9:1"])
def test_a_lost_or_damaged_place_stops_nobody(item: CheckedItem, place: str | None) -> None:
    left(item, 1, waiting=[(8, 1), (9, 1)])
    item.client.hdel(item.keys.places, "8")
    if place is not None:
        item.client.hset(item.keys.places, "8", place)
    assert item.hand_on() is HandedOn.HANDED_ON
    assert item.buyers() == {"1": "1", "9": "1"}


def test_a_damaged_count_of_a_buyer_or_a_lower_limit_stops_nobody_else(item: CheckedItem) -> None:
    left(item, 2, waiting=[(7, 2), (8, 1), (9, 1)])
    item.adjust(per_buyer_max=1)
    item.client.hset(item.keys.buyers, "8", "many")
    with item.unguarded():
        assert item.hand_on() is HandedOn.HANDED_ON
    assert item.buyers() == {"1": "1", "7": "1", "8": "many", "9": "1"}


@pytest.mark.parametrize(("said", "limit"), [("1", 10), ("2", 10), ("3", 2)])
def test_units_kept_for_somebody_who_is_not_there_are_free_again(item: CheckedItem, said: str, limit: int) -> None:
    left(item, 2, waiting=[], per_buyer_max=limit)
    item.set(smallest_waiting=said)
    assert item.hand_on() is HandedOn.HANDED_ON
    assert item.reserve(buyer=9).outcome == Outcome.RESERVED


# --- refusals, in their order, beside those of test_every_verb.py and test_every_loss.py ---


def test_an_item_without_a_line_says_so(item: CheckedItem) -> None:
    item.publish(paused=True)
    assert item.hand_on() is HandedOn.NO_LINE


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
    item: CheckedItem, fields: dict[str, str | int], word: HandedOn, waits_for: int
) -> None:
    left(item, 2, waiting=[(8, waits_for)])
    now_ms = item.now_ms()
    item.set(**{name: value if isinstance(value, str) else now_ms + value for name, value in fields.items()})
    assert item.hand_on() is word


def test_nothing_is_handed_on_that_could_not_become_an_order_soon(item: CheckedItem) -> None:
    left(item, 1, waiting=[(8, 1)])
    with override_settings(SECKILL_BACKLOG_MAX=1):
        assert item.hand_on() is HandedOn.BACKLOG_FULL
    with override_settings(SECKILL_BACKLOG_MAX=2):
        assert item.hand_on() is HandedOn.HANDED_ON
    with override_settings(SECKILL_BACKLOG_MAX=1):
        assert item.hand_on() is HandedOn.NOBODY_FITS


# --- in one atom with what gives units back ---


def test_released_units_are_handed_on_in_the_same_atom(item: CheckedItem) -> None:
    item.publish_with_line(quantity=1)
    held = item.held(buyer=1)
    place = item.waiting(buyer=8)
    # Else both are called again, and the second answer is that it is released.
    item.client.script_load(scripts.HAND_ON.source)
    assert item.release(held, handing_on=True) is Released.RELEASED
    assert item.holds()[str(place)].startswith("held:8:1:")
    assert item.release(held, handing_on=True) is Released.ALREADY_RELEASED


def test_a_store_that_lost_its_scripts_loads_both(item: CheckedItem) -> None:
    item.publish_with_line(quantity=1)
    held, place = item.held(buyer=1), item.waiting(buyer=8)
    item.client.script_flush()
    with item.unguarded():
        item.release(held, handing_on=True)
    assert [hold.split(":")[0] for hold in (item.holds()[str(held)], item.holds()[str(place)])] == ["ended", "held"]


def test_a_full_store_takes_units_back_and_hands_them_on_when_it_has_room(item: CheckedItem) -> None:
    item.publish_with_line(quantity=1)
    held = item.held(buyer=1)
    item.waiting(buyer=8)
    with item.store.full():
        assert item.release(held, handing_on=True) is Released.RELEASED
        assert item.line() == ["8"]
    assert item.hand_on() is HandedOn.HANDED_ON


def test_a_line_of_which_the_item_knows_nothing_is_served_too(item: CheckedItem) -> None:
    left(item, 1, waiting=[(8, 1)])
    item.set(smallest_waiting=None)
    assert item.hand_on() is HandedOn.HANDED_ON
    assert item.line() == []


def test_the_first_reservation_of_an_item_may_come_from_the_line(item: CheckedItem) -> None:
    item.publish_with_line(quantity=1, per_buyer_max=2)
    place = item.waiting(buyer=8, units=2)
    item.adjust(units=1)
    assert item.hand_on() is HandedOn.HANDED_ON
    assert item.latest() == [(1, str(place))]
