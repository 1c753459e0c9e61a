"""The checker finds what is wrong: histories and snapshots made by hand, each with one mistake."""

from dataclasses import replace
from typing import Any

import pytest

from bench.faults.checker import Findings, check, nothing_sold, seconds_of_failed_calls
from bench.faults.history import UNKNOWN, Action, Event
from bench.faults.store_snapshot import OrderRow, StoreSnapshot
from bench.faults.wire.http_client import BROUGHT_BACK, CHARGED, ENDED, NOT_LOST
from seckill.ledger import Counters
from seckill.ledger_words import Hold

# Ten units; Ann has paid for two, Ben's one has expired, Cid awaits nothing: he was refused.
ANN, BEN, CID = "ann-pass", "ben-pass", "cid-pass"


def said(
    reservation_id: str, outcome: str, *, action: Action = Action.RESERVE, status: int = 201, units: int = 0
) -> list[Event]:
    """An intent and its answer."""
    buyer_id = {ANN: 1, BEN: 2, CID: 3}[reservation_id]
    intent = Event("trial", 0, "client", action, reservation_id, buyer_id, at_s=1.0, wall_s=1.0)
    id_in_answer = reservation_id if status == 201 else ""
    return [intent, replace(intent, outcome=outcome, status=status, units=units, id_in_answer=id_in_answer, at_s=1.5)]


def order(reservation_id: str, **more: object) -> OrderRow:
    row = {
        ANN: OrderRow(reservation_id=ANN, buyer_id=1, units=2, status="paid", keeps_units=True, captures=1),
        BEN: OrderRow(reservation_id=BEN, buyer_id=2, units=1, status="expired", keeps_units=False),
        CID: OrderRow(reservation_id=CID, buyer_id=3, units=1, status="paid", keeps_units=True),
    }[reservation_id]
    return replace(row, **more)  # type: ignore[arg-type]


def counters(*, left: int = 8, held: int = 0, sold: int = 2) -> Counters:
    return Counters(
        now_ms=0,
        opens_ms=0,
        closes_ms=1,
        hold_ms=1,
        per_buyer_max=2,
        price_minor=1,
        currency="CNY",
        state="open",
        quantity=10,
        left=left,
        held=held,
        sold=sold,
        reservations=2,
    )


EVENTS = [
    *said(ANN, "reserved", units=2),
    *said(ANN, CHARGED, action=Action.PAY, status=302),
    *said(BEN, UNKNOWN, status=0),
    *said(BEN, "already_reserved", units=1),
    *said(CID, "held_by_others", status=409),
]
SNAPSHOT = StoreSnapshot(
    quantity=10,
    per_buyer_max=2,
    taken=2,
    orders=[order(ANN), order(BEN)],
    counters=counters(),
    holds={
        ANN: Hold(state="sold", buyer_id=1, units=2, deadline_ms=0),
        BEN: Hold(state="ended", buyer_id=2, units=1, deadline_ms=0),
    },
    backlog=0,
)


def asked_again(reservation_id: str, outcome: str, *, status: int = 409) -> list[Event]:
    """A call that is sent after the answers of `EVENTS`."""
    intent, answer = said(reservation_id, outcome, status=status)
    return [replace(intent, call=1, at_s=2.0), replace(answer, call=1, at_s=2.5)]


def judged(*, events: list[Event] | None = None, may_be_lost: tuple[str, ...] = (), **more: object) -> Findings:
    return check(EVENTS if events is None else events, replace(SNAPSHOT, **more), may_be_lost=may_be_lost)  # type: ignore[arg-type]


def test_a_sale_that_went_well_holds() -> None:
    found = judged()
    assert found.holds
    assert (found.told_yes, found.kept) == (2, 2)
    assert not SNAPSHOT.pending_work()


# What is wrong with the snapshot or the events, and what the findings count.
COUNTED: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "a yes without an order": ({"orders": [order(ANN)]}, {"told_yes": 2, "kept": 1, "lost": 1}),
    "a rejected order": ({"orders": [order(ANN), order(BEN, status="rejected")]}, {"lost": 1}),
    "other units": ({"orders": [order(ANN), order(BEN, units=2)]}, {"lost": 1}),
    # The expired order does not count for the limit of the buyer whom it has.
    "another buyer": ({"orders": [order(ANN), order(BEN, buyer_id=1)]}, {"lost": 1, "duplicated": 0}),
    "an order that cannot be paid": ({"orders": [order(ANN), order(BEN, payable=False)]}, {"lost": 1}),
    "two orders of one pass": ({"orders": [order(ANN), order(BEN), order(BEN)]}, {"duplicated": 1}),
    "an order paid twice": ({"orders": [order(ANN, captures=2), order(BEN)]}, {"duplicated": 1}),
    "a second yes with other units": (
        {"events": [*EVENTS, replace(said(ANN, "reserved", units=2)[1], units=1)]},
        {"duplicated": 1},
    ),
    "a second yes with another id": (
        {"events": [*EVENTS, replace(said(ANN, "reserved", units=2)[1], id_in_answer="another")]},
        {"duplicated": 1},
    ),
    "the only yes with another id": (
        {"events": [replace(event, id_in_answer="another") if event.is_yes else event for event in EVENTS[:2]]},
        {"duplicated": 1},
    ),
    "a buyer above the limit": (
        {"orders": [order(ANN), order(BEN), order(CID, buyer_id=1)], "taken": 3, "counters": counters(left=7, sold=3)},
        {"duplicated": 1},
    ),
    "a unit too many in orders": ({"orders": [order(ANN, units=11)]}, {"oversold": 1}),
    "a unit too many taken": ({"taken": 11}, {"oversold": 1}),
    "a unit too many in the store": ({"counters": counters(left=0, held=1, sold=10)}, {"oversold": 1}),
}
# Units that still wait, and work that is pending.
STUCK: dict[str, tuple[dict[str, Any], int]] = {
    "unaccounted": ({"counters": counters(left=7)}, 1),
    "held for nobody": ({"counters": counters(left=7, held=1)}, 1),
    "outbox": ({"backlog": 3}, 3),
    "events": ({"waiting": 2}, 2),
    "overdue": ({"orders": [order(ANN), order(BEN, status="awaiting_payment", overdue=True, keeps_units=True)]}, 1),
    "unsettled": ({"orders": [order(ANN), order(BEN, settled=False)]}, 1),
    "refund due": ({"orders": [order(ANN), order(BEN, money_pending=True)]}, 1),
    "lost store": ({"counters": None}, 8),
}
# Every other broken promise, and the words for it.
NAMED: dict[str, tuple[dict[str, Any], str]] = {
    "paid and expired": (
        {"orders": [order(ANN, status="expired"), order(BEN)]},
        "not paid and the payment company keeps their money",
    ),
    "paid for nothing": ({"orders": [order(ANN, captures=0), order(BEN)]}, "paid and the payment company has no money"),
    "charged for nothing": (
        {"orders": [order(ANN, captures=0), order(BEN)]},
        "neither a paid order nor their money back",
    ),
    "example": (
        {"orders": [order(ANN, captures=0), order(BEN)]},
        f"for example {ANN}: order paid, hold sold, 0 captures",
    ),
    "taken": ({"orders": [order(ANN), order(BEN), order(CID)]}, "between taken and the live orders"),
    "hold without order": ({"holds": {**SNAPSHOT.holds, CID: Hold("held", 3, 1, 0)}}, "holds have no order"),
    "hold differs": ({"holds": {**SNAPSHOT.holds, BEN: Hold("sold", 2, 1, 0)}}, "orders do not match their holds"),
    "awaiting payment without a hold": (
        {"orders": [order(ANN), order(BEN, status="awaiting_payment")]},
        "1 orders do not match their holds",
    ),
    "hold missing": ({"holds": {BEN: SNAPSHOT.holds[BEN]}}, "orders do not match their holds"),
    "pass that nobody used": (
        {"events": [event for event in EVENTS if event.reservation_id != BEN]},
        "passes that were never used",
    ),
    "no answer of the shop": (
        {"events": [*EVENTS, *said(CID, "http_404", status=404)]},
        "1 answers were neither a yes nor a refusal by the shop",
    ),
    "sold out": ({"events": [*EVENTS, *said(CID, "sold_out", status=410)]}, "sold out although units were never sold"),
}


@pytest.mark.parametrize("wrong", COUNTED)
def test_a_broken_promise_is_counted(wrong: str) -> None:
    changes, expected = COUNTED[wrong]
    found = judged(**changes)
    assert {name: getattr(found, name) for name in expected} == expected
    assert not found.holds


@pytest.mark.parametrize("wrong", STUCK)
def test_units_that_still_wait_are_stuck(wrong: str) -> None:
    changes, units = STUCK[wrong]
    found = judged(**changes)
    assert found.stuck == units
    assert not found.holds
    assert replace(SNAPSHOT, **changes).pending_work()


@pytest.mark.parametrize("wrong", NAMED)
def test_other_broken_promises_are_named(wrong: str) -> None:
    changes, words = NAMED[wrong]
    found = judged(**changes)
    assert words in " ".join(found.violations)
    assert not found.holds


def test_a_yes_that_nobody_promised_to_keep_is_counted_apart() -> None:
    found = judged(orders=[order(ANN)], holds={ANN: SNAPSHOT.holds[ANN]}, may_be_lost=(BEN,))
    assert (found.lost, found.not_promised) == (0, 1)
    assert found.holds
    # One that was kept all the same counts as kept.
    found = judged(may_be_lost=(BEN,))
    assert (found.kept, found.not_promised) == (2, 0)


def test_a_buyer_whose_money_went_back_was_treated_well() -> None:
    snapshot: dict[str, Any] = {"orders": [order(ANN, status="refunded", keeps_units=False, captures=0), order(BEN)]}
    ended = Hold(state="ended", buyer_id=1, units=2, deadline_ms=0)
    all_back: dict[str, Any] = {"taken": 0, "counters": counters(left=10, sold=0), "given_back": frozenset([ANN])}
    assert judged(**snapshot, **all_back, holds={**SNAPSHOT.holds, ANN: ended}).holds


def test_money_of_an_order_that_was_lost_went_back_by_the_company_s_records_or_waits_for_staff() -> None:
    lost: dict[str, Any] = {"orders": [order(BEN)], "taken": 0, "counters": counters(left=10, sold=0), "holds": {}}
    wrong = "neither a paid order nor their money back"
    assert wrong in " ".join(judged(**lost, may_be_lost=(ANN,)).violations)
    assert judged(**lost, may_be_lost=(ANN,), given_back=frozenset([ANN])).holds
    # Staff have it in their list, but only one that was not promised may wait there.
    assert judged(**lost, may_be_lost=(ANN,), listed=frozenset([ANN])).holds
    assert judged(**lost, listed=frozenset([ANN])).violations


ALL_SOLD: dict[str, Any] = {"quantity": 2, "counters": replace(counters(left=0), quantity=2)}
SOLD_OUT = [*EVENTS, *said(CID, "sold_out", status=410)]


def test_sold_out_is_right_if_all_units_are_sold_and_a_new_yes_after_it_is_named() -> None:
    assert judged(events=SOLD_OUT, **ALL_SOLD).holds
    new = [*SOLD_OUT, *asked_again(ANN, "reserved", status=201)]
    words = "1 buyers were told yes after others were told that all is sold"
    assert words in judged(events=new, **ALL_SOLD).violations
    # A repeated yes may follow it, and a new one for units that came back.
    repeated = [*SOLD_OUT, *asked_again(ANN, "already_reserved", status=201)]
    refunded = [order(ANN), order(BEN, status="refunded")]
    for found in (
        judged(events=repeated, **ALL_SOLD),
        judged(events=new, **ALL_SOLD, may_be_lost=(BEN,)),
        judged(events=new, **ALL_SOLD, orders=refunded),
        check(new, replace(SNAPSHOT, **ALL_SOLD), quantity_moved=True),
    ):
        assert words not in found.violations


def test_only_refusals_for_a_fault_within_the_time_are_timed() -> None:
    def answered(call: int, *, sent_s: float, seconds: float, status: int, outcome: str) -> list[Event]:
        intent, answer = said(ANN, outcome, status=status)
        return [replace(intent, call=call, at_s=sent_s), replace(answer, call=call, at_s=sent_s + seconds)]

    events = [
        *answered(1, sent_s=1.0, seconds=3.0, status=503, outcome="unavailable"),
        *answered(2, sent_s=10.0, seconds=1.5, status=503, outcome="unavailable"),
        *answered(3, sent_s=11.0, seconds=2.5, status=0, outcome=UNKNOWN),
        *answered(4, sent_s=12.0, seconds=5.0, status=410, outcome="sold_out"),
    ]
    assert seconds_of_failed_calls(events, since_s=9.0, until_s=20.0) == [1.5, 2.5]


def brought(outcome: str, *, reservation_id: str = ANN, status: int = 201) -> list[Event]:
    return said(reservation_id, outcome, action=Action.BRING_RECEIPT, status=status)


def test_a_lost_yes_that_came_back_is_kept_and_counted() -> None:
    found = judged(events=[*EVENTS, *brought(BROUGHT_BACK), *brought(NOT_LOST, status=200)], may_be_lost=(ANN,))
    assert (found.kept, found.brought_back, found.refused, found.not_promised) == (2, 1, 0, 0)
    assert found.holds


def test_a_receipt_that_was_accepted_is_a_promise_and_one_that_was_refused_is_none() -> None:
    for outcome in (BROUGHT_BACK, NOT_LOST):
        events = [*EVENTS, *brought(outcome, reservation_id=BEN)]
        found = judged(events=events, orders=[order(ANN)], may_be_lost=(BEN,))
        assert (found.lost, found.not_promised, found.holds) == (1, 0, False), outcome
    for outcome, refused in (("reservation_lost", 1), ("limit_reached", 1), (ENDED, 0)):
        last = brought(outcome, reservation_id=BEN, status=409)
        events = [*EVENTS, *brought(BROUGHT_BACK, reservation_id=BEN), *last]
        found = judged(events=events, orders=[order(ANN)], may_be_lost=(BEN,))
        counts = (found.lost, found.not_promised, found.refused, found.brought_back)
        assert counts == (0, 1, refused, 0), outcome


def test_a_pass_that_hears_no_after_its_yes_is_named() -> None:
    for outcome in ("paused", "not_open", "closed", "sold_out", "held_by_others", "limit_reached", "too_few_left"):
        found = judged(events=[*EVENTS, *asked_again(ANN, outcome)])
        assert f"client was told {outcome} after a yes for the same pass" in found.violations
    # The hold has ended, or the store is away.
    for outcome in ("hold_ended", "unavailable", UNKNOWN):
        assert judged(events=[*EVENTS, *asked_again(BEN, outcome)]).holds, outcome
    # Its yes came later, or may have been lost.
    assert judged(events=[*EVENTS, *asked_again(CID, "paused")]).holds
    sent_before_its_yes = [replace(event, at_s=event.at_s - 1.5) for event in asked_again(ANN, "held_by_others")]
    assert judged(events=[*EVENTS, *sent_before_its_yes]).holds
    assert judged(events=[*EVENTS, *asked_again(BEN, "held_by_others")], may_be_lost=(BEN,)).holds


def test_a_trial_whose_buyers_were_all_refused_proves_nothing() -> None:
    refused = [event for event in EVENTS if not event.is_yes]
    assert nothing_sold(refused, buyers={"client"})
    assert nothing_sold([*refused, *(replace(event, client="probe") for event in EVENTS)], buyers={"client"})
    assert not nothing_sold(EVENTS, buyers={"client"})
    assert not nothing_sold(refused, buyers=set())
