"""What holds for several scripts alike: the number of slots, an item that is not there, lost or damaged values."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from seckill.ledger_words import Adjusted, Confirmed, Readmitted, Released, RestoreAs, Restored
from seckill.outcomes import Outcome
from seckill.store import scripts
from seckill.store.client import StoreUnreachable
from tests.house.script_contract import WORDS, contract_of
from tests.seckill.checked_item import DAMAGED_NUMBERS, CheckedItem, says, word_of

# One call of each verb; where it is about a hold, about this one.
CALLS: dict[str, Callable[[CheckedItem, UUID], Any]] = {
    "reserve": lambda item, _hold: item.reserve(),
    "readmit": lambda item, _hold: item.readmit(),
    "confirm": lambda item, hold: item.confirm(hold),
    "release": lambda item, hold: item.release(hold),
    "adjust": lambda item, _hold: item.adjust(units=1),
    "restore": lambda item, _hold: item.restore(state=RestoreAs.SOLD),
    "forget": lambda item, hold: item.forget(hold),
    "archive": lambda item, _hold: item.archive(),
}
YES = {
    "reserve": Outcome.RESERVED,
    "readmit": Readmitted.READMITTED,
    "confirm": Confirmed.CONFIRMED,
    "release": Released.RELEASED,
    "adjust": Adjusted.ADJUSTED,
    "restore": Restored.RESTORED,
}
# The verbs that move the units of a hold that is there.
SETTLING = ["confirm", "release"]
COUNTERS = {
    "reserve": ["held", "sold", "reservations", "quantity", "left"],
    "readmit": ["held", "sold", "reservations", "quantity", "left"],
    "confirm": ["held", "sold"],
    "release": ["held", "sold", "quantity", "left"],
    "adjust": ["held", "sold", "quantity", "left"],
    "restore": ["held", "sold", "reservations", "quantity", "left"],
}
each_counter = pytest.mark.parametrize(("verb", "part"), [(verb, part) for verb in COUNTERS for part in COUNTERS[verb]])


def word(item: CheckedItem, verb: str, hold: UUID | None = None) -> Any:
    return word_of(CALLS[verb](item, hold or item.new_id()))


def published(item: CheckedItem, verb: str, **terms: Any) -> UUID:
    """The hold that a call is about."""
    item.publish(**terms)
    return item.held() if verb in SETTLING else item.new_id()


@pytest.mark.parametrize(("keys", "args"), [(-1, 0), (1, 0), (0, -1), (0, 1)])
@pytest.mark.parametrize("verb", list(WORDS))
def test_a_wrong_number_of_slots_is_a_fault(checked_item: CheckedItem, verb: str, keys: int, args: int) -> None:
    checked_item.publish()
    contract = contract_of(verb)
    arguments = f"{len(contract.args)} argument" + ("" if len(contract.args) == 1 else "s")
    checked_item.is_refused(
        getattr(scripts, verb.upper()),
        keys=len(contract.keys) + keys,
        args=["1"] * (len(contract.args) + args),
        message=f"{verb} takes {len(contract.keys)} keys and {arguments}",
    )


@pytest.mark.parametrize("verb", list(CALLS))
def test_an_item_that_was_never_published_is_unavailable(checked_item: CheckedItem, verb: str) -> None:
    assert word(checked_item, verb) == "unavailable"


# --- a hold that is there, or not ---


@pytest.mark.parametrize(("verb", "part"), [(verb, part) for verb in SETTLING for part in COUNTERS[verb]])
@pytest.mark.parametrize("state", ["held", "sold", "ended"])
def test_an_item_that_lost_a_counter_is_unavailable_whatever_the_hold(
    checked_item: CheckedItem, verb: str, part: str, state: str
) -> None:
    checked_item.publish()
    reservation_id = getattr(checked_item, state)()
    checked_item.client.hdel(checked_item.keys.item, part)
    assert word(checked_item, verb, reservation_id) == "unavailable"


@pytest.mark.parametrize("verb", SETTLING)
def test_unavailable_comes_before_unknown_hold(checked_item: CheckedItem, verb: str) -> None:
    checked_item.publish()
    checked_item.client.delete(checked_item.keys.item)
    assert word(checked_item, verb) == "unavailable"


@pytest.mark.parametrize("verb", SETTLING)
def test_a_hold_that_the_store_does_not_have_is_unknown(checked_item: CheckedItem, verb: str) -> None:
    published(checked_item, verb)
    assert word(checked_item, verb) == "unknown_hold"


@pytest.mark.parametrize("verb", SETTLING)
@pytest.mark.parametrize("incarnation", [None, "0" * 40])
@pytest.mark.parametrize("state", ["held", "sold", "ended"])
def test_an_item_that_is_not_verified_is_unavailable_whatever_the_hold(
    checked_item: CheckedItem, verb: str, state: str, incarnation: str | None
) -> None:
    checked_item.publish()
    reservation_id = getattr(checked_item, state)()
    checked_item.become_unverified(incarnation=incarnation)
    assert word(checked_item, verb, reservation_id) == "unavailable"
    assert word(checked_item, verb) == "unavailable"


@pytest.mark.parametrize("verb", SETTLING)
@pytest.mark.parametrize("incarnation", [None, "0" * 40])
def test_a_repair_settles_before_the_item_is_verified(
    checked_item: CheckedItem, verb: str, incarnation: str | None
) -> None:
    reservation_id = published(checked_item, verb)
    checked_item.become_unverified(incarnation=incarnation)
    assert getattr(checked_item, verb)(reservation_id, even_unverified=True) == YES[verb]


@pytest.mark.parametrize("verb", SETTLING)
@pytest.mark.parametrize(
    "hold",
    [
        *("", "held:7:1:soon", "held:7::1767226500012", "held:7:1:1767226500012:more"),
        *("held:7:007:1767226500012", "held:7:1000000000000000:1767226500012"),
    ],
)
def test_a_malformed_hold_is_a_fault_and_stays(checked_item: CheckedItem, verb: str, hold: str) -> None:
    damaged = published(checked_item, verb)
    checked_item.client.hset(checked_item.keys.holds, str(damaged), hold)
    with pytest.raises(StoreUnreachable, match=says("the hold is malformed")):
        CALLS[verb](checked_item, damaged)


# --- damaged values: found before the first write ---


@each_counter
@pytest.mark.parametrize("value", DAMAGED_NUMBERS)
def test_an_item_with_a_damaged_counter_is_unavailable(
    checked_item: CheckedItem, verb: str, part: str, value: str
) -> None:
    hold = published(checked_item, verb)
    checked_item.client.hset(checked_item.keys.item, part, value)
    assert word(checked_item, verb, hold) == "unavailable"


@pytest.mark.parametrize("verb", ["reserve", "readmit", "release", "adjust", "restore"])
def test_an_item_of_which_quantity_and_left_are_damaged_is_not_unlimited(checked_item: CheckedItem, verb: str) -> None:
    hold = published(checked_item, verb)
    checked_item.client.hset(checked_item.keys.item, mapping={"quantity": "many", "left": "many"})
    assert word(checked_item, verb, hold) == "unavailable"


@pytest.mark.parametrize("verb", list(YES))
@pytest.mark.parametrize("value", ["100000000000000", "-1", "10"])
def test_a_counter_may_be_any_number_that_the_store_can_count_with(
    checked_item: CheckedItem, verb: str, value: str
) -> None:
    checked_item.publish(quantity=5 if verb == "adjust" else None, per_buyer_max=5)
    hold = checked_item.held()
    checked_item.client.hset(checked_item.keys.item, "sold", value)
    with checked_item.unguarded():
        assert word(checked_item, verb, hold) == YES[verb]


@pytest.mark.parametrize("verb", ["reserve", "readmit", "release"])
@pytest.mark.parametrize("count", ["1.5", "007", "many"])
def test_a_damaged_count_of_the_buyer_is_a_fault_and_nothing_changes(
    checked_item: CheckedItem, verb: str, count: str
) -> None:
    checked_item.publish(per_buyer_max=9)
    hold = checked_item.held(buyer=7)
    checked_item.client.hset(checked_item.keys.buyers, "7", count)
    with pytest.raises(StoreUnreachable, match=says("the count of the buyer is malformed")):
        CALLS[verb](checked_item, hold)
