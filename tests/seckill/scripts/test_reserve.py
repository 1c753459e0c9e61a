"""reserve.lua: each outcome, each precedence between outcomes, each edge, and what each leaves behind.

The outcomes come in the order of docs/design.md; of two that apply the earlier is the answer.
"""

from typing import Any
from uuid import UUID

import pytest
from django.test import override_settings

from seckill import ledger
from seckill.items import holdings, item_state
from seckill.ledger import Reservation
from seckill.ledger_words import Hold, ReleaseReason, RestoreAs
from seckill.outcomes import Outcome
from seckill.store import scripts
from seckill.store.client import StoreUnreachable
from tests.seckill.checked_item import HOUR_MS, ITEM_ID, CheckedItem, says

# --- reserved ---


def test_reserved_units_are_held_and_the_reservation_is_in_the_outbox(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=5, per_buyer_max=3, hold_ms=900_000)
    reservation_id = checked_item.new_id()
    before_ms = checked_item.now_ms()
    answer = checked_item.reserve(reservation_id, buyer=7, units=2)
    assert before_ms <= answer.now_ms <= checked_item.now_ms()
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
    assert checked_item.counters() == ("3", "2", "0")
    assert checked_item.buyers() == {"7": "2"}
    assert checked_item.holds() == {str(reservation_id): f"held:7:2:{deadline_ms}"}
    assert checked_item.entries() == [
        {
            "reservation": str(reservation_id),
            "buyer": "7",
            "units": "2",
            "reserved_ms": str(answer.now_ms),
            "deadline_ms": str(deadline_ms),
        }
    ]


def test_the_hold_can_be_found_by_the_ledger(checked_item: CheckedItem) -> None:
    checked_item.publish()
    reservation_id = checked_item.new_id()
    deadline_ms = checked_item.reserve(reservation_id, buyer=7, units=2).deadline_ms
    hold = holdings.find_hold(item_id=ITEM_ID, reservation_id=reservation_id)
    assert hold == Hold(state="held", buyer_id=7, units=2, deadline_ms=deadline_ms)
    assert holdings.find_hold(item_id=ITEM_ID, reservation_id=checked_item.new_id()) is None


def test_the_last_units_can_be_had_and_not_one_more(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=3, per_buyer_max=3)
    assert checked_item.reserve(buyer=7, units=1).left == 2
    assert checked_item.reserve(buyer=8, units=2).left == 0
    assert checked_item.reserve(buyer=9, units=1).outcome == Outcome.HELD_BY_OTHERS


def test_an_unlimited_item_only_counts(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=None, per_buyer_max=1000)
    answer = checked_item.reserve(units=1000)
    assert (answer.outcome, answer.left) == (Outcome.RESERVED, None)
    assert checked_item.counters() == (None, "1000", "0")


def test_units_that_came_back_can_be_had_again(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=1)
    checked_item.ended(buyer=7)
    assert checked_item.reserve(buyer=8).outcome == Outcome.RESERVED


# --- the list of the latest reservations ---


def test_the_latest_reservations_are_listed_newest_first_with_their_numbers(checked_item: CheckedItem) -> None:
    checked_item.publish()
    ids = [str(checked_item.held(buyer=buyer)) for buyer in (7, 8, 9)]
    assert checked_item.latest() == [(3, ids[2]), (2, ids[1]), (1, ids[0])]


def test_a_refused_and_a_repeated_call_are_not_listed(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=1)
    held = checked_item.held(buyer=7)
    checked_item.reserve(held, buyer=7)
    checked_item.reserve(buyer=8)
    assert checked_item.latest() == [(1, str(held))]


def test_a_restored_hold_is_counted_and_leaves_a_gap_in_the_list(checked_item: CheckedItem) -> None:
    checked_item.publish()
    first = checked_item.held(buyer=7)
    checked_item.restore(state=RestoreAs.SOLD, buyer=8)
    third = checked_item.held(buyer=9)
    assert checked_item.latest() == [(3, str(third)), (1, str(first))]


@pytest.mark.parametrize(("number", "listed"), [(63, 201), (64, 128), (65, 201), (127, 201), (192, 128)])
def test_the_list_is_cut_to_128_at_each_64th_reservation(checked_item: CheckedItem, number: int, listed: int) -> None:
    checked_item.publish()
    checked_item.held(buyer=7)
    checked_item.client.delete(checked_item.keys.latest)
    checked_item.client.rpush(checked_item.keys.latest, *[f"{n}:x" for n in range(200, 0, -1)])
    checked_item.client.hset(checked_item.keys.item, "reservations", number - 1)
    with checked_item.unguarded():
        newest = checked_item.held(buyer=8)
    assert len(checked_item.latest()) == listed
    assert checked_item.latest()[:2] == [(number, str(newest)), (200, "x")]


# --- unavailable ---


def unavailable(answer: Reservation) -> bool:
    """Whether the answer is `unavailable` and has no figures."""
    return (answer.outcome, answer.units, answer.deadline_ms, answer.retry_ms) == (
        Outcome.UNAVAILABLE,
        0,
        0,
        0,
    )


def test_an_item_that_was_never_published_is_unavailable(checked_item: CheckedItem) -> None:
    answer = checked_item.reserve()
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
    assert checked_item.dump() == {}


TERMS = ["state", "opens_ms", "closes_ms", "hold_ms", "per_buyer_max", "price_minor", "currency", "held", "sold"]
TERMS += ["reservations"]
STOCK = ["quantity", "left"]


@pytest.mark.parametrize("part", [*TERMS, *STOCK])
def test_an_item_that_lost_a_part_is_unavailable(checked_item: CheckedItem, part: str) -> None:
    checked_item.publish()
    checked_item.client.hdel(checked_item.keys.item, part)
    assert unavailable(checked_item.reserve())
    assert ledger.read(item_id=ITEM_ID) is None


@pytest.mark.parametrize("part", TERMS)
def test_an_unlimited_item_that_lost_a_part_is_unavailable(checked_item: CheckedItem, part: str) -> None:
    checked_item.publish(quantity=None)
    checked_item.client.hdel(checked_item.keys.item, part)
    assert unavailable(checked_item.reserve())
    assert ledger.read(item_id=ITEM_ID) is None


@pytest.mark.parametrize("part", ["quantity", "left", "held", "sold", "reservations", "opens_ms", "per_buyer_max"])
def test_an_item_with_an_unreadable_number_is_unavailable(checked_item: CheckedItem, part: str) -> None:
    checked_item.publish()
    checked_item.client.hset(checked_item.keys.item, part, "many")
    assert unavailable(checked_item.reserve())
    assert ledger.read(item_id=ITEM_ID) is None


@pytest.mark.parametrize("state", ["held", "sold", "ended"])
def test_after_a_restart_an_item_is_unavailable_to_old_and_new_reservations(
    checked_item: CheckedItem, state: str
) -> None:
    checked_item.publish()
    reservation_id = getattr(checked_item, state)()
    checked_item.client.hset(checked_item.keys.item, "incarnation", "0" * 40)
    assert unavailable(checked_item.reserve(reservation_id))
    assert unavailable(checked_item.reserve(buyer=8))
    assert ledger.read(item_id=ITEM_ID) is None


def test_an_unverified_item_is_unavailable_and_not_paused(checked_item: CheckedItem) -> None:
    checked_item.publish(paused=True)
    item_state.mark_unverified(item_id=ITEM_ID)
    assert unavailable(checked_item.reserve())
    checked_item.mark_verified()
    assert checked_item.reserve().outcome == Outcome.PAUSED


def test_an_item_that_lost_its_outbox_is_unavailable(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.client.delete(checked_item.keys.outbox)
    assert unavailable(checked_item.reserve())


def test_an_item_that_lost_its_ended_holds_is_unavailable_to_their_passes(checked_item: CheckedItem) -> None:
    checked_item.publish()
    ended = checked_item.ended()
    checked_item.client.delete(checked_item.keys.holds)
    assert unavailable(checked_item.reserve(ended))
    assert unavailable(checked_item.reserve(buyer=8))


@pytest.mark.parametrize("lost", ["buyers", "holds"])
def test_an_item_that_lost_who_holds_its_units_is_unavailable(checked_item: CheckedItem, lost: str) -> None:
    checked_item.publish()
    checked_item.held(buyer=7)
    checked_item.client.delete(f"seckill:{{42}}:{lost}")
    assert unavailable(checked_item.reserve(buyer=8))


def test_units_held_without_a_hold_are_a_loss_though_no_reservation_is_counted(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.held(buyer=7)
    checked_item.client.hset(checked_item.keys.item, "reservations", "0")
    checked_item.client.delete(checked_item.keys.holds)
    assert unavailable(checked_item.reserve(buyer=8))
    assert item_state.conditions(item_ids=[ITEM_ID]) == {ITEM_ID: item_state.Condition.LOST}


def test_in_an_ordinary_call_one_command_asks_whether_the_keys_are_there(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.held(buyer=7)
    before = checked_item.store.calls()["exists"]
    with checked_item.unguarded():
        checked_item.reserve(buyer=8)
    assert checked_item.store.calls()["exists"] == before + 1


@pytest.mark.parametrize("length", [0, 20, 39])
def test_a_part_of_the_servers_id_is_not_its_id(checked_item: CheckedItem, length: int) -> None:
    checked_item.publish()
    checked_item.client.hset(checked_item.keys.item, "incarnation", checked_item.item()["incarnation"][:length])
    assert unavailable(checked_item.reserve())


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"state": "paused"}, Outcome.PAUSED),
        ({"opens_ms": "9999999999999"}, Outcome.NOT_OPEN),
        ({"closes_ms": "1"}, Outcome.CLOSED),
        ({"per_buyer_max": "0"}, Outcome.LIMIT_REACHED),
    ],
)
def test_a_refusal_of_an_unlimited_item_says_no_figure(
    checked_item: CheckedItem, change: dict[str, str], word: Outcome
) -> None:
    checked_item.publish(quantity=None)
    held = checked_item.held()
    checked_item.client.hset(checked_item.keys.item, mapping=change)
    answer = checked_item.reserve()
    assert (answer.outcome, answer.left) == (word, None)
    assert (answer.retry_ms > 0) == (word is Outcome.NOT_OPEN)
    assert checked_item.reserve(held).left is None


@pytest.mark.parametrize("lost", ["buyers", "holds"])
def test_an_item_that_lost_who_bought_its_units_is_unavailable(checked_item: CheckedItem, lost: str) -> None:
    checked_item.publish()
    checked_item.sold(buyer=7)
    checked_item.client.delete(f"seckill:{{42}}:{lost}")
    assert unavailable(checked_item.reserve(buyer=8))


def test_as_many_units_held_as_sold_do_not_hide_a_loss(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.held(buyer=7)
    checked_item.sold(buyer=8)
    checked_item.client.delete(checked_item.keys.buyers)
    assert unavailable(checked_item.reserve(buyer=9))


def test_an_item_whose_units_all_came_back_is_available(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.ended()
    assert checked_item.buyers() == {}
    assert checked_item.reserve().outcome == Outcome.RESERVED


def test_unavailable_comes_before_already_reserved(checked_item: CheckedItem) -> None:
    checked_item.publish()
    reservation_id = checked_item.held()
    checked_item.client.hdel(checked_item.keys.item, "state")
    assert unavailable(checked_item.reserve(reservation_id))


# --- unavailable, because too many reservations are not orders yet ---


def test_a_full_backlog_is_unavailable_and_one_entry_less_is_not(checked_item: CheckedItem) -> None:
    checked_item.publish()
    with override_settings(SECKILL_BACKLOG_MAX=2):
        checked_item.held(buyer=7)
        checked_item.held(buyer=8)
        assert unavailable(checked_item.reserve(buyer=9))
        checked_item.drained()
        with checked_item.unguarded():
            assert checked_item.reserve(buyer=9).outcome == Outcome.RESERVED


def test_an_unlimited_item_has_a_backlog_too(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=None)
    with override_settings(SECKILL_BACKLOG_MAX=1):
        checked_item.held(buyer=7)
        assert unavailable(checked_item.reserve(buyer=8))


@pytest.mark.parametrize("kind", ["already_reserved", "hold_ended"])
def test_with_a_full_backlog_a_known_reservation_gets_its_answer(checked_item: CheckedItem, kind: str) -> None:
    checked_item.publish()
    reservation_id = checked_item.held() if kind == "already_reserved" else checked_item.ended()
    with override_settings(SECKILL_BACKLOG_MAX=1):
        assert checked_item.reserve(reservation_id).outcome == kind


@pytest.mark.parametrize("later", ["paused", "not_open", "closed", "sold_out", "held_by_others"])
def test_what_stays_true_comes_before_a_full_backlog(checked_item: CheckedItem, later: str) -> None:
    checked_item.publish()
    checked_item.held(buyer=8)
    checked_item.client.hset(checked_item.keys.item, mapping=LATER[later])
    with override_settings(SECKILL_BACKLOG_MAX=1):
        assert checked_item.reserve(buyer=7).outcome == later


def test_a_full_backlog_comes_before_what_depends_on_the_buyer(checked_item: CheckedItem) -> None:
    checked_item.publish(per_buyer_max=1)
    checked_item.held(buyer=7)
    with override_settings(SECKILL_BACKLOG_MAX=1):
        assert unavailable(checked_item.reserve(buyer=7))


# --- already_reserved ---


@pytest.mark.parametrize("units", [1, 2])
def test_a_repeated_call_gets_the_first_answer_again(checked_item: CheckedItem, units: int) -> None:
    checked_item.publish()
    reservation_id = checked_item.new_id()
    first = checked_item.reserve(reservation_id, units=2)
    again = checked_item.reserve(reservation_id, units=units)
    assert again.outcome == Outcome.ALREADY_RESERVED
    assert (again.units, again.deadline_ms, again.price_minor, again.currency, again.left) == (
        first.units,
        first.deadline_ms,
        first.price_minor,
        first.currency,
        first.left,
    )


def test_a_repeated_call_after_the_payment_gets_the_first_answer_again(checked_item: CheckedItem) -> None:
    checked_item.publish()
    reservation_id = checked_item.new_id()
    first = checked_item.reserve(reservation_id)
    checked_item.confirm(reservation_id)
    again = checked_item.reserve(reservation_id)
    assert (again.outcome, again.deadline_ms) == (Outcome.ALREADY_RESERVED, first.deadline_ms)


# --- hold_ended ---


@pytest.mark.parametrize("reason", [ReleaseReason.EXPIRED, ReleaseReason.CANCELLED, ReleaseReason.REJECTED])
def test_a_pass_whose_hold_was_released_is_spent(checked_item: CheckedItem, reason: ReleaseReason) -> None:
    checked_item.publish()
    reservation_id = checked_item.new_id()
    first = checked_item.reserve(reservation_id, units=2)
    checked_item.release(reservation_id, reason)
    again = checked_item.reserve(reservation_id, units=1)
    assert (again.outcome, again.units, again.deadline_ms) == (Outcome.HOLD_ENDED, 2, first.deadline_ms)


def test_a_pass_whose_purchase_was_refunded_is_spent(checked_item: CheckedItem) -> None:
    checked_item.publish()
    reservation_id = checked_item.sold()
    checked_item.release(reservation_id, ReleaseReason.REFUNDED)
    assert checked_item.reserve(reservation_id).outcome == Outcome.HOLD_ENDED


# --- already_reserved and hold_ended come before the later state of the sale ---

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
def test_the_answer_to_a_known_reservation_comes_first(checked_item: CheckedItem, kind: str, later: str) -> None:
    checked_item.publish()
    reservation_id = checked_item.held() if kind == "already_reserved" else checked_item.ended()
    checked_item.held(buyer=8)
    checked_item.client.hset(checked_item.keys.item, mapping=LATER[later])
    assert checked_item.reserve(buyer=7).outcome == later
    assert checked_item.reserve(reservation_id).outcome == kind


# --- of two outcomes that apply ---

EARLY = {"opens_in_ms": HOUR_MS, "closes_in_ms": 2 * HOUR_MS}
OVER = {"closes_in_ms": -1}
ONE = {"quantity": 1, "per_buyer_max": 1}


@pytest.mark.parametrize(
    ("terms", "had", "units", "outcome"),
    [
        (EARLY | {"paused": True}, None, 1, Outcome.PAUSED),
        (OVER | {"paused": True}, None, 1, Outcome.PAUSED),
        ({"opens_in_ms": HOUR_MS, "closes_in_ms": -HOUR_MS}, None, 1, Outcome.NOT_OPEN),
        (EARLY, None, 3, Outcome.NOT_OPEN),
        (OVER, None, 3, Outcome.CLOSED),
        ({"quantity": 0}, None, 1, Outcome.SOLD_OUT),
        (ONE, "sold", 1, Outcome.SOLD_OUT),
        (ONE, "held", 1, Outcome.HELD_BY_OTHERS),
        (ONE, None, 2, Outcome.LIMIT_REACHED),
    ],
)
def test_the_earlier_is_the_answer(
    checked_item: CheckedItem, terms: dict[str, Any], had: str | None, units: int, outcome: Outcome
) -> None:
    checked_item.publish(**terms)
    if had:
        getattr(checked_item, had)()
    assert checked_item.reserve(units=units).outcome == outcome


# --- paused ---


def test_a_paused_sale_is_paused(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.client.hset(checked_item.keys.item, "state", "paused")
    answer = checked_item.reserve()
    assert (answer.outcome, answer.left, answer.units, answer.retry_ms) == (Outcome.PAUSED, 5, 0, 0)


# --- not_open and closed ---


@pytest.mark.parametrize(
    ("window", "outcome", "retry_ms", "left"),
    [
        ({"opens_in_ms": 5 * HOUR_MS, "closes_in_ms": 6 * HOUR_MS}, Outcome.NOT_OPEN, 5 * HOUR_MS, 5),
        ({"opens_in_ms": 1}, Outcome.NOT_OPEN, 1, 5),
        ({"opens_in_ms": 0}, Outcome.RESERVED, 0, 4),
        ({"closes_in_ms": 1}, Outcome.RESERVED, 0, 4),
        ({"closes_in_ms": 0}, Outcome.CLOSED, 0, 5),
    ],
)
def test_it_opens_and_closes_at_the_very_millisecond(
    checked_item: CheckedItem, window: dict[str, int], outcome: Outcome, retry_ms: int, left: int
) -> None:
    checked_item.publish()
    answer = checked_item.reserve_at(**window)
    assert (answer.outcome, answer.retry_ms, answer.left) == (outcome, retry_ms, left)


def test_the_clock_is_the_stores_own_to_the_millisecond(checked_item: CheckedItem) -> None:
    # reserve_at compares the answer's clock with its own reading of the same TIME.
    checked_item.publish(quantity=100, per_buyer_max=100)
    assert all(checked_item.reserve_at().outcome == Outcome.RESERVED for _ in range(20))


# --- limit_reached ---


def test_a_buyer_may_have_as_many_units_as_the_limit_says_and_not_one_more(checked_item: CheckedItem) -> None:
    checked_item.publish(per_buyer_max=3)
    assert checked_item.reserve(units=2).outcome == Outcome.RESERVED
    assert checked_item.reserve(units=2).outcome == Outcome.LIMIT_REACHED
    assert checked_item.reserve(units=1).outcome == Outcome.RESERVED
    answer = checked_item.reserve(units=1)
    assert (answer.outcome, answer.left, answer.units) == (Outcome.LIMIT_REACHED, 2, 0)


def test_more_than_the_limit_at_once_is_refused(checked_item: CheckedItem) -> None:
    checked_item.publish(per_buyer_max=3)
    assert checked_item.reserve(units=4).outcome == Outcome.LIMIT_REACHED


@pytest.mark.parametrize(("had", "remaining"), [(0, 3), (1, 2), (3, 0)])
def test_the_refusal_says_how_many_the_buyer_can_still_reserve(
    checked_item: CheckedItem, had: int, remaining: int
) -> None:
    checked_item.publish(per_buyer_max=3)
    if had:
        checked_item.sold(units=had)
    answer = checked_item.reserve(units=4)
    assert (answer.outcome, answer.remaining, answer.per_buyer_max) == (Outcome.LIMIT_REACHED, remaining, 3)
    if remaining:
        assert checked_item.reserve(units=remaining).outcome == Outcome.RESERVED


def test_a_buyer_who_has_more_than_a_lowered_limit_can_reserve_none(checked_item: CheckedItem) -> None:
    checked_item.publish(per_buyer_max=3)
    checked_item.held(units=2)
    checked_item.adjust(per_buyer_max=1)
    answer = checked_item.reserve()
    assert (answer.outcome, answer.remaining, answer.per_buyer_max) == (Outcome.LIMIT_REACHED, 0, 1)


def test_other_answers_say_nothing_about_the_limit(checked_item: CheckedItem) -> None:
    checked_item.publish(per_buyer_max=3)
    answers = [checked_item.reserve(), checked_item.reserve(buyer=8, units=3), checked_item.reserve(buyer=9, units=3)]
    assert [answer.outcome for answer in answers] == [Outcome.RESERVED, Outcome.RESERVED, Outcome.TOO_FEW_LEFT]
    assert {(answer.remaining, answer.per_buyer_max) for answer in answers} == {(0, 0)}


def test_the_limit_counts_what_was_bought(checked_item: CheckedItem) -> None:
    checked_item.publish(per_buyer_max=1)
    checked_item.sold()
    assert checked_item.reserve().outcome == Outcome.LIMIT_REACHED


def test_the_limit_of_one_buyer_is_not_anothers(checked_item: CheckedItem) -> None:
    checked_item.publish(per_buyer_max=1)
    checked_item.held(buyer=7)
    assert checked_item.reserve(buyer=8).outcome == Outcome.RESERVED


def test_an_unlimited_item_has_a_limit_per_buyer_too(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=None, per_buyer_max=1)
    checked_item.held()
    assert checked_item.reserve().outcome == Outcome.LIMIT_REACHED


# --- sold_out, held_by_others, too_few_left: each excludes the others ---


def test_with_every_unit_sold_it_is_sold_out(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=2)
    checked_item.sold(buyer=7, units=2)
    answer = checked_item.reserve(buyer=8)
    assert (answer.outcome, answer.left, answer.units) == (Outcome.SOLD_OUT, 0, 0)


def test_with_no_unit_left_and_one_held_it_is_held_by_others(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=2)
    checked_item.sold(buyer=7)
    checked_item.held(buyer=8)
    answer = checked_item.reserve(buyer=9)
    assert (answer.outcome, answer.left, answer.units) == (Outcome.HELD_BY_OTHERS, 0, 0)


def test_asking_for_more_than_is_left_is_too_few_left(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=2)
    checked_item.held(buyer=7)
    answer = checked_item.reserve(buyer=8, units=2)
    assert (answer.outcome, answer.left, answer.units) == (Outcome.TOO_FEW_LEFT, 1, 0)


def test_with_units_left_and_none_held_it_is_too_few_left_and_not_sold_out(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=2)
    checked_item.sold(buyer=7)
    assert checked_item.reserve(buyer=8, units=2).outcome == Outcome.TOO_FEW_LEFT


# --- faults ---


def test_a_full_store_refuses_to_reserve_and_keeps_nothing_of_it(checked_item: CheckedItem) -> None:
    checked_item.publish()
    checked_item.held()
    with checked_item.store.full(), pytest.raises(StoreUnreachable, match="maxmemory"):
        checked_item.reserve(buyer=8)


def test_a_full_store_still_refuses_with_the_right_word(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=1)
    checked_item.held()
    with checked_item.store.full():
        assert checked_item.reserve(buyer=8).outcome == Outcome.HELD_BY_OTHERS


@pytest.mark.parametrize("units", [0, -1])
def test_units_less_than_one_are_refused(checked_item: CheckedItem, units: int) -> None:
    checked_item.publish()
    checked_item.held(units=2)
    with pytest.raises(StoreUnreachable, match=says("units are whole, 1 or more")):
        checked_item.reserve(buyer=7, units=units)


@pytest.mark.parametrize("units", ["1.5", "", "many", "1e400", "nan"])
def test_units_that_are_not_an_integer_are_refused(checked_item: CheckedItem, units: str) -> None:
    checked_item.publish(quantity=None)
    args = [str(checked_item.new_id()), "7", units, "100"]
    checked_item.is_refused(scripts.RESERVE, keys=5, args=args, message="units are whole, 1 or more")


@pytest.mark.parametrize("hold", ["", "held", "held:7:1", "held:7:1:soon", "held:7:1:1767226500012:more"])
def test_a_malformed_hold_is_a_fault_and_not_an_answer(checked_item: CheckedItem, hold: str) -> None:
    checked_item.publish()
    damaged: UUID = checked_item.held()
    checked_item.client.hset(checked_item.keys.holds, str(damaged), hold)
    with pytest.raises(StoreUnreachable, match=says("the hold is malformed")):
        checked_item.reserve(damaged)


# --- units for the waiting list ---


@pytest.mark.parametrize(("left", "waits_for"), [(1, 1), (2, 1), (2, 2)])
def test_newcomers_do_not_get_what_somebody_in_line_could_have(
    checked_item: CheckedItem, left: int, waits_for: int
) -> None:
    checked_item.publish(quantity=left, per_buyer_max=3)
    checked_item.client.hset(checked_item.keys.item, "smallest_waiting", waits_for)
    assert checked_item.reserve(units=1).outcome == Outcome.HELD_BY_OTHERS
    # As where nothing is left: before what depends on the buyer.
    assert checked_item.reserve(units=9).outcome == Outcome.HELD_BY_OTHERS


@pytest.mark.parametrize("waits_for", ["3", "10", "many", "", "1.5"])
def test_units_that_nobody_in_line_could_have_are_for_newcomers(checked_item: CheckedItem, waits_for: str) -> None:
    checked_item.publish(quantity=2)
    checked_item.client.hset(checked_item.keys.item, "smallest_waiting", waits_for)
    with checked_item.unguarded():
        assert checked_item.reserve(units=1).outcome == Outcome.RESERVED


def test_an_unlimited_item_keeps_nothing_for_a_line(checked_item: CheckedItem) -> None:
    checked_item.publish(quantity=None)
    checked_item.client.hset(checked_item.keys.item, "smallest_waiting", "1")
    with checked_item.unguarded():
        assert checked_item.reserve(units=1).outcome == Outcome.RESERVED
