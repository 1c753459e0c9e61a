"""A rush of real processes: exactly as many yeses as units, and exactly as many pass as a limit allows."""

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from seckill import ledger
from seckill.ledger import Reservation
from seckill.ledger_words import Confirmed, Published, Released, ReleaseReason
from seckill.outcomes import Outcome
from seckill.passes import passes
from shop.http.rate_limits import LimitReached, take
from tests.races.racing_processes import Call, RacingProcesses, racing_processes
from tests.steps.store import StoredItem

ITEM_ID = 42
HOUR_MS = 3_600_000
CALLS = 200


@pytest.fixture(scope="module")
def racers() -> Iterator[RacingProcesses]:
    with racing_processes() as racers:
        yield racers


@pytest.fixture
def stored(store: Any) -> StoredItem:
    return StoredItem(store, ITEM_ID)


def publish(*, quantity: int, per_buyer_max: int = 1) -> None:
    now_ms = int(time.time() * 1000)
    terms = ledger.Terms(
        quantity=quantity,
        opens_ms=now_ms - HOUR_MS,
        closes_ms=now_ms + HOUR_MS,
        hold_ms=HOUR_MS,
        per_buyer_max=per_buyer_max,
        price_minor=1900,
        currency="CNY",
    )
    assert ledger.publish(item_id=ITEM_ID, terms=terms) == Published.PUBLISHED


def attempt(buyer: int, *, units: int = 1) -> Call:
    reservation_id = passes.new_reservation_id(ITEM_ID)
    return {"reservation_id": reservation_id, "buyer_id": buyer, "units": units}


def reserve(call: Call) -> Reservation:
    return ledger.reserve(item_id=ITEM_ID, **call)


def settle(call: Call) -> Released | Confirmed | Reservation:
    """One call of reserve, release or confirm."""
    call = dict(call)
    verb = call.pop("verb")
    if verb == "reserve":
        return reserve(call)
    reservation_ids = [call["reservation_id"]]
    if verb == "confirm":
        return ledger.confirm(item_id=ITEM_ID, reservation_ids=reservation_ids)[0]
    return ledger.release(item_id=ITEM_ID, reservation_ids=reservation_ids, reason=ReleaseReason(verb))[0]


def outcomes(answers: list[Any]) -> Counter[Any]:
    """How often each word was said. An exception in a buyer's process is an answer of its own, and never expected."""
    return Counter(answer.outcome if isinstance(answer, Reservation) else answer for answer in answers)


def test_of_505_buyers_for_500_units_exactly_500_are_told_yes(stored: StoredItem, racers: RacingProcesses) -> None:
    publish(quantity=500)
    answers = racers.race(reserve, [attempt(buyer) for buyer in range(1, 506)])
    assert outcomes(answers) == {Outcome.RESERVED: 500, Outcome.HELD_BY_OTHERS: 5}
    assert stored.counters() == ("0", "500", "0")
    assert len(stored.entries()) == len(stored.holds()) == len(stored.buyers()) == 500
    stored.check_invariants()
    # Every yes saw another number of units left.
    left = [answer.left for answer in answers if answer.outcome == Outcome.RESERVED]
    assert sorted(left) == list(range(500))


def test_a_pass_sent_fifty_times_at_once_holds_once_and_is_told_yes_each_time(
    stored: StoredItem, racers: RacingProcesses
) -> None:
    publish(quantity=500)
    answers = racers.race(reserve, [attempt(7)] * 50)
    assert outcomes(answers) == {Outcome.RESERVED: 1, Outcome.ALREADY_RESERVED: 49}
    assert {(answer.units, answer.deadline_ms) for answer in answers} == {(1, answers[0].deadline_ms)}
    assert len(stored.entries()) == len(stored.holds()) == 1
    assert stored.counters() == ("499", "1", "0")
    stored.check_invariants()


def test_fifty_passes_of_one_buyer_at_once_get_no_more_than_the_limit(
    stored: StoredItem, racers: RacingProcesses
) -> None:
    publish(quantity=500, per_buyer_max=3)
    answers = racers.race(reserve, [attempt(7) for _ in range(50)])
    assert outcomes(answers) == {Outcome.RESERVED: 3, Outcome.LIMIT_REACHED: 47}
    assert stored.buyers() == {"7": "3"}
    stored.check_invariants()


def test_buyers_who_ask_for_one_to_three_units_never_get_more_than_there_are(
    stored: StoredItem, racers: RacingProcesses
) -> None:
    publish(quantity=100, per_buyer_max=3)
    answers = racers.race(reserve, [attempt(buyer, units=buyer % 3 + 1) for buyer in range(1, 201)])
    given = sum(answer.units for answer in answers if answer.outcome == Outcome.RESERVED)
    assert set(outcomes(answers)) <= {Outcome.RESERVED, Outcome.TOO_FEW_LEFT, Outcome.HELD_BY_OTHERS}
    assert stored.counters() == (str(100 - given), str(given), "0")
    # Buyers of one unit had every chance, so none can be left over.
    assert given == 100
    stored.check_invariants()


def test_units_that_come_back_in_the_rush_are_given_once_each(stored: StoredItem, racers: RacingProcesses) -> None:
    publish(quantity=50)
    held = [attempt(buyer) for buyer in range(1, 51)]
    assert {reserve(call).outcome for call in held} == {Outcome.RESERVED}
    back = [{"verb": "expired", "reservation_id": call["reservation_id"]} for call in held]
    new = [{"verb": "reserve", **attempt(buyer)} for buyer in range(101, 201)]
    # Each release twice, as two sweeps would, with a rival beside it.
    answers = outcomes(
        racers.race(settle, [call for three in zip(back, new[:50], back, strict=True) for call in three])
    )
    assert answers[Released.RELEASED] == answers[Released.ALREADY_RELEASED] == 50
    won = answers[Outcome.RESERVED]
    assert won + answers[Outcome.HELD_BY_OTHERS] + answers[Outcome.SOLD_OUT] == 50
    assert stored.counters() == (str(50 - won), str(won), "0")
    stored.check_invariants()


def test_of_a_payment_and_an_expiry_at_once_exactly_one_wins(stored: StoredItem, racers: RacingProcesses) -> None:
    publish(quantity=100)
    held = [attempt(buyer) for buyer in range(1, 101)]
    assert {reserve(call).outcome for call in held} == {Outcome.RESERVED}
    ids = [{"reservation_id": call["reservation_id"]} for call in held]
    answers = outcomes(racers.race(settle, [{"verb": verb, **one} for one in ids for verb in ("confirm", "expired")]))
    sold, ended = answers[Confirmed.CONFIRMED], answers[Released.RELEASED]
    assert sold + ended == 100
    assert (answers[Released.ALREADY_CONFIRMED], answers[Confirmed.HOLD_ENDED]) == (sold, ended)
    assert stored.counters() == (str(ended), "0", str(sold))
    stored.check_invariants()


def test_of_200_parallel_calls_under_a_limit_exactly_that_many_pass(racers: RacingProcesses) -> None:
    answers = racers.race(take_of_limit, [{"rate": "5/minute"}] * CALLS)
    assert Counter(answers) == {"passed": 5, "refused": CALLS - 5}


def take_of_limit(call: Call) -> str:
    try:
        take(action="a_race", rate=call["rate"], key="one buyer")
    except LimitReached:
        return "refused"
    return "passed"
