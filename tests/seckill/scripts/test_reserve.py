"""reserve.lua: each outcome, each precedence between outcomes, each edge, and what each leaves behind.

The outcomes come in the order of docs/design.md; of two that apply the earlier is the answer.
"""

from uuid import UUID

import pytest

from seckill import item_state, ledger, scripts
from seckill.ledger import Reason, Reservation
from seckill.outcomes import Outcome
from tests.seckill.stage import HOUR_MS, ITEM_ID, Stage, says

# --- reserved ---


def test_reserved_units_are_held_and_the_reservation_is_in_the_outbox(stage: Stage) -> None:
    stage.publish(quantity=5, per_buyer_max=3, hold_ms=900_000)
    reservation_id = stage.new_id()
    before_ms = stage.now_ms()
    answer = stage.reserve(reservation_id, buyer=7, units=2)
    assert before_ms <= answer.now_ms <= stage.now_ms()
    deadline_ms = answer.now_ms + 900_000
    assert answer == Reservation(
        outcome=Outcome.RESERVED,
        now_ms=answer.now_ms,
        units=2,
        deadline_ms=deadline_ms,
        price_minor=1900,
        currency="CNY",
        left=3,
        retry_ms=0,
    )
    assert stage.counters() == ("3", "2", "0")
    assert stage.buyers() == {"7": "2"}
    assert stage.holds() == {str(reservation_id): f"held:7:2:{deadline_ms}"}
    assert stage.entries() == [
        {
            "reservation": str(reservation_id),
            "buyer": "7",
            "units": "2",
            "reserved_ms": str(answer.now_ms),
            "deadline_ms": str(deadline_ms),
        }
    ]


def test_the_hold_can_be_found_by_the_ledger(stage: Stage) -> None:
    stage.publish()
    reservation_id = stage.new_id()
    deadline_ms = stage.reserve(reservation_id, buyer=7, units=2).deadline_ms
    hold = ledger.find_hold(item_id=ITEM_ID, reservation_id=reservation_id)
    assert hold == ledger.Hold(state="held", buyer_id=7, units=2, deadline_ms=deadline_ms)
    assert ledger.find_hold(item_id=ITEM_ID, reservation_id=stage.new_id()) is None


def test_the_last_units_can_be_had_and_not_one_more(stage: Stage) -> None:
    stage.publish(quantity=3, per_buyer_max=3)
    assert stage.reserve(buyer=7, units=1).left == 2
    assert stage.reserve(buyer=8, units=2).left == 0
    assert stage.reserve(buyer=9, units=1).outcome == Outcome.HELD_BY_OTHERS


def test_an_unlimited_item_only_counts(stage: Stage) -> None:
    stage.publish(quantity=None, per_buyer_max=1000)
    answer = stage.reserve(units=1000)
    assert (answer.outcome, answer.left) == (Outcome.RESERVED, None)
    assert stage.counters() == (None, "1000", "0")


def test_units_that_came_back_can_be_had_again(stage: Stage) -> None:
    stage.publish(quantity=1)
    stage.ended(buyer=7)
    assert stage.reserve(buyer=8).outcome == Outcome.RESERVED


# --- unavailable ---


def unavailable(answer: Reservation) -> bool:
    """The word, and nothing that could be taken for an answer to a reservation."""
    return (answer.outcome, answer.units, answer.deadline_ms, answer.retry_ms) == (
        Outcome.UNAVAILABLE,
        0,
        0,
        0,
    )


def test_an_item_that_was_never_published_is_unavailable(stage: Stage) -> None:
    answer = stage.reserve()
    assert answer == Reservation(
        outcome=Outcome.UNAVAILABLE,
        now_ms=answer.now_ms,
        units=0,
        deadline_ms=0,
        price_minor=0,
        currency="",
        left=None,
        retry_ms=0,
    )
    assert stage.dump() == {}


TERMS = ["state", "opens_ms", "closes_ms", "hold_ms", "per_buyer_max", "price_minor", "currency", "held", "sold"]
TERMS += ["reservations"]
STOCK = ["quantity", "left"]


@pytest.mark.parametrize("part", [*TERMS, *STOCK])
def test_an_item_that_lost_a_part_is_unavailable(stage: Stage, part: str) -> None:
    stage.publish()
    stage.client.hdel(stage.keys.item, part)
    assert unavailable(stage.reserve())
    assert ledger.read(item_id=ITEM_ID) is None


@pytest.mark.parametrize("part", TERMS)
def test_an_unlimited_item_that_lost_a_part_is_unavailable(stage: Stage, part: str) -> None:
    stage.publish(quantity=None)
    stage.client.hdel(stage.keys.item, part)
    assert unavailable(stage.reserve())
    assert ledger.read(item_id=ITEM_ID) is None


@pytest.mark.parametrize("part", ["quantity", "left", "held", "sold", "reservations", "opens_ms", "per_buyer_max"])
def test_an_item_with_a_number_that_is_none_is_unavailable(stage: Stage, part: str) -> None:
    stage.publish()
    stage.client.hset(stage.keys.item, part, "many")
    assert unavailable(stage.reserve())
    assert ledger.read(item_id=ITEM_ID) is None


@pytest.mark.parametrize("state", ["held", "sold", "ended"])
def test_a_store_that_came_back_different_is_unavailable_to_old_and_new(stage: Stage, state: str) -> None:
    stage.publish()
    reservation_id = getattr(stage, state)()
    stage.client.hset(stage.keys.item, "incarnation", "0" * 40)
    assert unavailable(stage.reserve(reservation_id))
    assert unavailable(stage.reserve(buyer=8))
    assert ledger.read(item_id=ITEM_ID) is None


def test_an_item_that_nobody_vouches_for_is_unavailable_and_not_paused(stage: Stage) -> None:
    stage.publish(paused=True)
    item_state.distrust(item_id=ITEM_ID)
    assert unavailable(stage.reserve())
    stage.vouch()
    assert stage.reserve().outcome == Outcome.PAUSED


def test_an_item_that_lost_its_outbox_is_unavailable(stage: Stage) -> None:
    stage.publish()
    stage.client.delete(stage.keys.outbox)
    assert unavailable(stage.reserve())


def test_an_item_that_lost_its_ended_holds_is_unavailable_to_their_passes(stage: Stage) -> None:
    stage.publish()
    ended = stage.ended()
    stage.client.delete(stage.keys.holds)
    assert unavailable(stage.reserve(ended))
    assert unavailable(stage.reserve(buyer=8))


@pytest.mark.parametrize("lost", ["buyers", "holds"])
def test_an_item_that_lost_who_holds_its_units_is_unavailable(stage: Stage, lost: str) -> None:
    stage.publish()
    stage.held(buyer=7)
    stage.client.delete(f"seckill:{{42}}:{lost}")
    assert unavailable(stage.reserve(buyer=8))


@pytest.mark.parametrize("lost", ["buyers", "holds"])
def test_an_item_that_lost_who_bought_its_units_is_unavailable(stage: Stage, lost: str) -> None:
    stage.publish()
    stage.sold(buyer=7)
    stage.client.delete(f"seckill:{{42}}:{lost}")
    assert unavailable(stage.reserve(buyer=8))


def test_as_many_units_held_as_sold_do_not_hide_a_loss(stage: Stage) -> None:
    stage.publish()
    stage.held(buyer=7)
    stage.sold(buyer=8)
    stage.client.delete(stage.keys.buyers)
    assert unavailable(stage.reserve(buyer=9))


def test_an_item_whose_units_all_came_back_is_available(stage: Stage) -> None:
    stage.publish()
    stage.ended()
    assert stage.buyers() == {}
    assert stage.reserve().outcome == Outcome.RESERVED


def test_unavailable_comes_before_already_reserved(stage: Stage) -> None:
    stage.publish()
    reservation_id = stage.held()
    stage.client.hdel(stage.keys.item, "state")
    assert unavailable(stage.reserve(reservation_id))


# --- already_reserved ---


@pytest.mark.parametrize("units", [1, 2])
def test_a_repeated_call_gets_the_first_answer_again(stage: Stage, units: int) -> None:
    stage.publish()
    reservation_id = stage.new_id()
    first = stage.reserve(reservation_id, units=2)
    again = stage.reserve(reservation_id, units=units)
    assert again.outcome == Outcome.ALREADY_RESERVED
    assert (again.units, again.deadline_ms, again.price_minor, again.currency, again.left) == (
        first.units,
        first.deadline_ms,
        first.price_minor,
        first.currency,
        first.left,
    )


def test_a_repeated_call_after_the_payment_gets_the_first_answer_again(stage: Stage) -> None:
    stage.publish()
    reservation_id = stage.new_id()
    first = stage.reserve(reservation_id)
    stage.confirm(reservation_id)
    again = stage.reserve(reservation_id)
    assert (again.outcome, again.deadline_ms) == (Outcome.ALREADY_RESERVED, first.deadline_ms)


# --- hold_ended ---


@pytest.mark.parametrize("reason", [Reason.EXPIRED, Reason.CANCELLED, Reason.REJECTED])
def test_a_pass_whose_hold_was_released_is_spent(stage: Stage, reason: Reason) -> None:
    stage.publish()
    reservation_id = stage.new_id()
    first = stage.reserve(reservation_id, units=2)
    stage.release(reservation_id, reason)
    again = stage.reserve(reservation_id, units=1)
    assert (again.outcome, again.units, again.deadline_ms) == (Outcome.HOLD_ENDED, 2, first.deadline_ms)


def test_a_pass_whose_purchase_was_refunded_is_spent(stage: Stage) -> None:
    stage.publish()
    reservation_id = stage.sold()
    stage.release(reservation_id, Reason.REFUNDED)
    assert stage.reserve(reservation_id).outcome == Outcome.HOLD_ENDED


# --- already_reserved and hold_ended come before all that the sale may have become since ---

LATER = {
    "paused": {"state": "paused"},
    "not_open": {"opens_ms": "9999999999999"},
    "closed": {"closes_ms": "1"},
    "limit_reached": {"per_buyer_max": "0"},
    "sold_out": {"quantity": "2", "left": "0", "held": "0", "sold": "2"},
    "held_by_others": {"quantity": "2", "left": "0", "held": "2"},
}


@pytest.mark.parametrize("later", LATER)
@pytest.mark.parametrize("kind", ["already_reserved", "hold_ended"])
def test_the_answer_to_a_known_reservation_comes_first(stage: Stage, kind: str, later: str) -> None:
    stage.publish()
    reservation_id = stage.held() if kind == "already_reserved" else stage.ended()
    stage.held(buyer=8)
    stage.client.hset(stage.keys.item, mapping=LATER[later])
    assert stage.reserve(buyer=7).outcome == later
    assert stage.reserve(reservation_id).outcome == kind


# --- paused ---


def test_a_paused_sale_is_paused(stage: Stage) -> None:
    stage.publish()
    stage.client.hset(stage.keys.item, "state", "paused")
    answer = stage.reserve()
    assert (answer.outcome, answer.left, answer.units, answer.retry_ms) == (Outcome.PAUSED, 5, 0, 0)


def test_paused_comes_before_not_open(stage: Stage) -> None:
    stage.publish(opens_in_ms=HOUR_MS, closes_in_ms=2 * HOUR_MS)
    stage.client.hset(stage.keys.item, "state", "paused")
    assert stage.reserve().outcome == Outcome.PAUSED


def test_paused_comes_before_closed(stage: Stage) -> None:
    stage.publish(closes_in_ms=-1)
    stage.client.hset(stage.keys.item, "state", "paused")
    assert stage.reserve().outcome == Outcome.PAUSED


# --- not_open and closed ---


def test_one_millisecond_before_the_opening_it_is_not_open(stage: Stage) -> None:
    stage.publish()
    answer = stage.reserve_at(opens_in_ms=1)
    assert (answer.outcome, answer.retry_ms, answer.left) == (Outcome.NOT_OPEN, 1, 5)


def test_at_the_very_millisecond_of_the_opening_it_is_open(stage: Stage) -> None:
    stage.publish()
    assert stage.reserve_at(opens_in_ms=0).outcome == Outcome.RESERVED


def test_who_comes_early_is_told_how_long_to_wait(stage: Stage) -> None:
    stage.publish()
    assert stage.reserve_at(opens_in_ms=5 * HOUR_MS, closes_in_ms=6 * HOUR_MS).retry_ms == 5 * HOUR_MS


def test_in_the_last_millisecond_it_is_open(stage: Stage) -> None:
    stage.publish()
    assert stage.reserve_at(closes_in_ms=1).outcome == Outcome.RESERVED


def test_at_the_very_millisecond_of_the_closing_it_is_closed(stage: Stage) -> None:
    stage.publish()
    answer = stage.reserve_at(closes_in_ms=0)
    assert (answer.outcome, answer.retry_ms, answer.left) == (Outcome.CLOSED, 0, 5)


def test_the_clock_is_the_stores_own_to_the_millisecond(stage: Stage) -> None:
    # reserve_at compares the answer's clock with its own reading of the same TIME.
    stage.publish(quantity=100, per_buyer_max=100)
    assert all(stage.reserve_at().outcome == Outcome.RESERVED for _ in range(20))


def test_not_open_comes_before_closed(stage: Stage) -> None:
    stage.publish(opens_in_ms=HOUR_MS, closes_in_ms=-HOUR_MS)
    assert stage.reserve().outcome == Outcome.NOT_OPEN


def test_not_open_comes_before_limit_reached(stage: Stage) -> None:
    stage.publish(opens_in_ms=HOUR_MS, closes_in_ms=2 * HOUR_MS)
    assert stage.reserve(units=3).outcome == Outcome.NOT_OPEN


def test_closed_comes_before_limit_reached(stage: Stage) -> None:
    stage.publish(closes_in_ms=-1)
    assert stage.reserve(units=3).outcome == Outcome.CLOSED


# --- limit_reached ---


def test_a_buyer_may_have_as_many_units_as_the_limit_says_and_not_one_more(stage: Stage) -> None:
    stage.publish(per_buyer_max=3)
    assert stage.reserve(units=2).outcome == Outcome.RESERVED
    assert stage.reserve(units=2).outcome == Outcome.LIMIT_REACHED
    assert stage.reserve(units=1).outcome == Outcome.RESERVED
    answer = stage.reserve(units=1)
    assert (answer.outcome, answer.left, answer.units) == (Outcome.LIMIT_REACHED, 2, 0)


def test_more_than_the_limit_at_once_is_refused(stage: Stage) -> None:
    stage.publish(per_buyer_max=3)
    assert stage.reserve(units=4).outcome == Outcome.LIMIT_REACHED


def test_the_limit_counts_what_was_bought(stage: Stage) -> None:
    stage.publish(per_buyer_max=1)
    stage.sold()
    assert stage.reserve().outcome == Outcome.LIMIT_REACHED


def test_the_limit_of_one_buyer_is_not_anothers(stage: Stage) -> None:
    stage.publish(per_buyer_max=1)
    stage.held(buyer=7)
    assert stage.reserve(buyer=8).outcome == Outcome.RESERVED


def test_an_unlimited_item_has_a_limit_per_buyer_too(stage: Stage) -> None:
    stage.publish(quantity=None, per_buyer_max=1)
    stage.held()
    assert stage.reserve().outcome == Outcome.LIMIT_REACHED


def test_sold_out_comes_before_limit_reached(stage: Stage) -> None:
    stage.publish(quantity=1, per_buyer_max=1)
    stage.sold()
    assert stage.reserve().outcome == Outcome.SOLD_OUT


def test_held_by_others_comes_before_limit_reached(stage: Stage) -> None:
    stage.publish(quantity=1, per_buyer_max=1)
    stage.held()
    assert stage.reserve().outcome == Outcome.HELD_BY_OTHERS


def test_limit_reached_comes_before_too_few_left(stage: Stage) -> None:
    stage.publish(quantity=1, per_buyer_max=1)
    assert stage.reserve(units=2).outcome == Outcome.LIMIT_REACHED


# --- sold_out, held_by_others, too_few_left: each excludes the others ---


def test_with_every_unit_sold_it_is_sold_out(stage: Stage) -> None:
    stage.publish(quantity=2)
    stage.sold(buyer=7, units=2)
    answer = stage.reserve(buyer=8)
    assert (answer.outcome, answer.left, answer.units) == (Outcome.SOLD_OUT, 0, 0)


def test_an_item_with_nothing_on_sale_is_sold_out(stage: Stage) -> None:
    stage.publish(quantity=0)
    assert stage.reserve().outcome == Outcome.SOLD_OUT


def test_with_every_unit_gone_but_one_only_held_it_is_held_by_others(stage: Stage) -> None:
    stage.publish(quantity=2)
    stage.sold(buyer=7)
    stage.held(buyer=8)
    answer = stage.reserve(buyer=9)
    assert (answer.outcome, answer.left, answer.units) == (Outcome.HELD_BY_OTHERS, 0, 0)


def test_asking_for_more_than_is_left_is_too_few_left(stage: Stage) -> None:
    stage.publish(quantity=2)
    stage.held(buyer=7)
    answer = stage.reserve(buyer=8, units=2)
    assert (answer.outcome, answer.left, answer.units) == (Outcome.TOO_FEW_LEFT, 1, 0)


def test_with_units_left_and_none_held_it_is_too_few_left_and_not_sold_out(stage: Stage) -> None:
    stage.publish(quantity=2)
    stage.sold(buyer=7)
    assert stage.reserve(buyer=8, units=2).outcome == Outcome.TOO_FEW_LEFT


# --- faults ---


def test_a_full_store_refuses_to_reserve_and_holds_nothing_of_it(stage: Stage) -> None:
    stage.publish()
    stage.held()
    with stage.store.full(), pytest.raises(ledger.StoreUnreachable, match="maxmemory"):
        stage.reserve(buyer=8)


def test_a_full_store_still_refuses_with_the_right_word(stage: Stage) -> None:
    stage.publish(quantity=1)
    stage.held()
    with stage.store.full():
        assert stage.reserve(buyer=8).outcome == Outcome.HELD_BY_OTHERS


@pytest.mark.parametrize("units", [0, -1])
def test_units_less_than_one_are_refused(stage: Stage, units: int) -> None:
    stage.publish()
    stage.held(units=2)
    with pytest.raises(ledger.StoreUnreachable, match=says("units are whole, 1 or more")):
        stage.reserve(buyer=7, units=units)


@pytest.mark.parametrize("units", ["1.5", "", "many", "1e400", "nan"])
def test_units_that_are_no_whole_number_are_refused(stage: Stage, units: str) -> None:
    stage.publish(quantity=None)
    args = [str(stage.new_id()), "7", units]
    stage.is_refused(scripts.RESERVE, keys=4, args=args, message="units are whole, 1 or more")


@pytest.mark.parametrize("hold", ["", "held", "held:7:1", "held:7:1:soon", "held:7:1:1767226500012:more"])
def test_a_hold_that_cannot_be_understood_is_a_fault_and_not_an_answer(stage: Stage, hold: str) -> None:
    stage.publish()
    damaged: UUID = stage.held()
    stage.client.hset(stage.keys.holds, str(damaged), hold)
    with pytest.raises(ledger.StoreUnreachable, match=says("the hold is malformed")):
        stage.reserve(damaged)


@pytest.mark.parametrize(("keys", "args"), [(3, 3), (5, 3), (4, 2), (4, 4)])
def test_reserve_takes_four_keys_and_three_arguments(stage: Stage, keys: int, args: int) -> None:
    stage.publish()
    args_given = [str(stage.new_id()), "7", "1", "more"][:args]
    message = "reserve takes 4 keys and 3 arguments"
    stage.is_refused(scripts.RESERVE, keys=keys, args=args_given, message=message)
