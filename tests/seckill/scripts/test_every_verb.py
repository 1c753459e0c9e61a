"""What holds for several scripts alike: slots, arguments, lost or damaged fields, an item that is not verified."""

from uuid import UUID

import pytest

from seckill.store.client import StoreUnreachable
from tests.house.script_contract import WORDS, contract_of
from tests.seckill.checked_item import DAMAGED_NUMBERS, YES, CheckedItem, says
from tests.seckill.scripts import verbs
from tests.seckill.scripts.verbs import COUNTERS, NUMBERS, PARTS, SETTLING, ready, word


@pytest.mark.parametrize("verb", list(WORDS))
def test_a_wrong_number_of_slots_is_a_fault(item: CheckedItem, verb: str) -> None:
    item.publish()
    contract = contract_of(verb)
    arguments = f"{len(contract.args)} argument" + ("" if len(contract.args) == 1 else "s")
    for more_keys, more_args in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        item.is_refused(
            verb,
            keys=len(contract.keys) + more_keys,
            args=["1"] * (len(contract.args) + more_args),
            message=f"{verb} takes {len(contract.keys)} keys and {arguments}",
        )


NO_INTEGERS = ["1.5", "", "many", "1e400", "nan"]


@pytest.mark.parametrize(
    ("verb", "name", "values", "message"),
    [
        ("reserve", "units", [*NO_INTEGERS, "0", "-1"], "units are whole, 1 or more"),
        ("readmit", "units", [*NO_INTEGERS, "0", "-1"], "units are whole, 1 or more"),
        ("restore", "units", [*NO_INTEGERS, "0", "-1"], "units are whole, 1 or more"),
        ("join_line", "units", [*NO_INTEGERS, "0", "-1", "11"], "units are whole, 1 to 10"),
        ("adjust", "units", NO_INTEGERS, "units are whole"),
        ("forget", "keep_ms", ["long"], "keep_ms is a number"),
        ("archive", "over_ms", ["long"], "over_ms is a number"),
        ("hand_on", "people_max", ["0", "11", "many"], "people_max is 1 to 10"),
    ],
)
def test_an_argument_that_makes_no_sense_is_a_fault(
    item: CheckedItem, verb: str, name: str, values: list[str], message: str
) -> None:
    hold, contract = ready(item, verb), contract_of(verb)
    # For the other arguments, these make sense.
    given = {"reservation_id": str(hold), "buyer": "8", "state": "held", "backlog_max": "9", "places_max": "9"}
    for value in values:
        args = [value if slot == name else given.get(slot, "1") for slot in contract.args]
        item.is_refused(verb, keys=len(contract.keys), args=args, message=message)


@pytest.mark.parametrize("verb", [verb for verb in verbs.CALLS if verb != "leave_line"])
def test_an_item_that_was_never_published_is_unavailable(item: CheckedItem, verb: str) -> None:
    assert word(item, verb) == "unavailable"


# --- fields that are lost or damaged: found before the first write ---


@pytest.mark.parametrize("verb", verbs.WITH_PARTS)
def test_an_item_that_lost_a_part_is_unavailable(item: CheckedItem, verb: str) -> None:
    hold = ready(item, verb)
    for part in PARTS[verb]:
        with item.damaged(**{part: None}):
            assert word(item, verb, hold) == "unavailable", part


@pytest.mark.parametrize("verb", verbs.WITH_PARTS)
def test_an_item_with_a_damaged_number_is_unavailable(item: CheckedItem, verb: str) -> None:
    hold = ready(item, verb)
    damages = [(part, value) for part in COUNTERS.get(verb, []) for value in DAMAGED_NUMBERS]
    for part, value in [*damages, *((part, "many") for part in NUMBERS.get(verb, []))]:
        with item.damaged(**{part: value}):
            assert word(item, verb, hold) == "unavailable", (part, value)


@pytest.mark.parametrize("verb", ["reserve", "readmit", "release", "adjust", "restore"])
def test_an_item_of_which_quantity_and_left_are_damaged_is_not_unlimited(item: CheckedItem, verb: str) -> None:
    hold = ready(item, verb)
    item.set(quantity="many", left="many")
    assert word(item, verb, hold) == "unavailable"


@pytest.mark.parametrize("verb", ["reserve", "readmit", "release", "restore", "join_line"])
def test_a_damaged_count_of_the_buyer_is_a_fault_and_nothing_changes(item: CheckedItem, verb: str) -> None:
    hold = ready(item, verb)
    for count in ["many"] if verb == "join_line" else ["1.5", "007", "many"]:
        item.client.hset(item.keys.buyers, "8" if verb == "join_line" else "7", count)
        with pytest.raises(StoreUnreachable, match=says("the count of the buyer is malformed")):
            word(item, verb, hold)


@pytest.mark.parametrize("verb", ["reserve", "confirm", "release", "forget"])
def test_a_malformed_hold_is_a_fault_and_no_answer(item: CheckedItem, verb: str) -> None:
    damaged = ready(item, verb, ["held"])
    holds = ["", "held", "held:7:1", "held:7:1:soon", "held:7::1767226500012", "ended:7:1:1767226500012:more"]
    if verb in SETTLING:
        holds += ["held:7:007:1767226500012", "held:7:1000000000000000:1767226500012"]
    for hold in holds:
        item.client.hset(item.keys.holds, str(damaged), hold)
        with pytest.raises(StoreUnreachable, match=says("the hold is malformed")):
            word(item, verb, damaged)


# --- an item that is not verified ---


@pytest.mark.parametrize("verb", [*COUNTERS, "forget", "join_line"])
def test_an_item_that_is_not_verified_is_unavailable_whatever_the_hold(item: CheckedItem, verb: str) -> None:
    hold = ready(item, verb, verbs.STATES)
    known = [UUID(name) for name in item.holds()]
    server = item.item()["incarnation"]
    for incarnation in (None, "0" * 40, "", server[:20], server[:39]):
        item.become_unverified(incarnation=incarnation)
        for reservation_id in [hold, item.new_id(), *known]:
            assert word(item, verb, reservation_id) == "unavailable"
    item.mark_verified()
    assert word(item, verb, hold) == YES[verb]


@pytest.mark.parametrize("verb", SETTLING)
@pytest.mark.parametrize("incarnation", [None, "0" * 40])
def test_a_repair_settles_before_the_item_is_verified(item: CheckedItem, verb: str, incarnation: str | None) -> None:
    reservation_id = ready(item, verb)
    item.become_unverified(incarnation=incarnation)
    assert getattr(item, verb)(reservation_id, even_unverified=True) == YES[verb]


@pytest.mark.parametrize("verb", SETTLING)
def test_a_hold_that_the_store_does_not_have_is_unknown(item: CheckedItem, verb: str) -> None:
    ready(item, verb)
    assert word(item, verb) == "unknown_hold"
    item.lose("item")
    assert word(item, verb) == "unavailable"
