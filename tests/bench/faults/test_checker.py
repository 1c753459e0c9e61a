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
    intent = Event(
        trial="trial",
        call=0,
        client="client",
        action=action,
        reservation_id=reservation_id,
        buyer_id=buyer_id,
        at_s=1.0,
        wall_s=1.0,
    )
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


def judged(*, events: list[Event] | None = None, may_be_lost: tuple[str, ...] = (), **more: object) -> Findings:
    return check(EVENTS if events is None else events, replace(SNAPSHOT, **more), may_be_lost=may_be_lost)  # type: ignore[arg-type]


def test_a_sale_that_went_well_holds() -> None:
    found = judged()
    assert found.holds
    assert (found.told_yes, found.kept) == (2, 2)
    assert not SNAPSHOT.pending_work()


def test_a_yes_without_an_order_is_lost() -> None:
    found = judged(orders=[order(ANN)])
    assert (found.told_yes, found.kept, found.lost) == (2, 1, 1)
    assert not found.holds


@pytest.mark.parametrize("wrong", [{"status": "rejected"}, {"units": 2}, {"buyer_id": 1}, {"payable": False}], ids=str)
def test_an_order_that_is_not_what_was_promised_is_lost(wrong: dict[str, object]) -> None:
    assert judged(orders=[order(ANN), order(BEN, **wrong)]).lost == 1


def test_a_yes_that_nobody_promised_to_keep_is_counted_apart() -> None:
    found = judged(orders=[order(ANN)], holds={ANN: SNAPSHOT.holds[ANN]}, may_be_lost=(BEN,))
    assert (found.lost, found.not_promised) == (0, 1)
    assert found.holds


def test_one_that_was_kept_all_the_same_counts_as_kept() -> None:
    found = judged(may_be_lost=(BEN,))
    assert (found.kept, found.not_promised) == (2, 0)


def test_two_orders_of_one_pass_are_a_duplicate() -> None:
    assert judged(orders=[order(ANN), order(BEN), order(BEN)]).duplicated == 1


def test_a_buyer_whose_money_went_back_was_treated_well() -> None:
    snapshot: dict[str, Any] = {"orders": [order(ANN, status="refunded", keeps_units=False, captures=0), order(BEN)]}
    ended = Hold(state="ended", buyer_id=1, units=2, deadline_ms=0)
    all_back: dict[str, Any] = {"taken": 0, "counters": counters(left=10, sold=0), "given_back": frozenset([ANN])}
    assert judged(**snapshot, **all_back, holds={**SNAPSHOT.holds, ANN: ended}).holds


def test_money_that_went_back_counts_by_the_company_s_records_where_its_order_was_lost() -> None:
    lost: dict[str, Any] = {"orders": [order(BEN)], "taken": 0, "counters": counters(left=10, sold=0), "holds": {}}
    wrong = "neither a paid order nor their money back"
    assert wrong in " ".join(judged(**lost, may_be_lost=(ANN,)).violations)
    assert judged(**lost, may_be_lost=(ANN,), given_back=frozenset([ANN])).holds


def test_money_of_an_order_that_was_lost_waits_for_staff_only_if_it_was_not_promised() -> None:
    lost: dict[str, Any] = {"orders": [order(BEN)], "taken": 0, "counters": counters(left=10, sold=0), "holds": {}}
    assert judged(**lost, may_be_lost=(ANN,), listed=frozenset([ANN])).holds
    assert judged(**lost, listed=frozenset([ANN])).violations


def test_an_order_without_money_is_named() -> None:
    found = judged(orders=[order(ANN, captures=0), order(BEN)])
    assert f"for example {ANN}: order paid, hold sold, 0 captures" in found.violations


def test_an_order_paid_twice_is_a_duplicate() -> None:
    assert judged(orders=[order(ANN, captures=2), order(BEN)]).duplicated == 1


@pytest.mark.parametrize("again", [{"units": 1}, {"id_in_answer": "another"}], ids=str)
def test_two_different_yeses_for_one_pass_are_a_duplicate(again: dict[str, object]) -> None:
    second = replace(said(ANN, "reserved", units=2)[1], **again)  # type: ignore[arg-type]
    assert judged(events=[*EVENTS, second]).duplicated == 1


def test_a_buyer_above_the_limit_is_a_duplicate() -> None:
    found = judged(orders=[order(ANN), order(BEN), order(CID, buyer_id=1)], taken=3, counters=counters(left=7, sold=3))
    assert found.duplicated == 1


@pytest.mark.parametrize(
    "snapshot",
    [
        {"orders": [order(ANN, units=11)]},
        {"taken": 11},
        {"counters": counters(left=0, held=1, sold=10)},
    ],
    ids=["orders", "taken", "store"],
)
def test_a_unit_too_many_in_either_store_is_oversold(snapshot: dict[str, object]) -> None:
    assert judged(**snapshot).oversold == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("snapshot", "units"),
    [
        ({"counters": counters(left=7)}, 1),
        ({"counters": counters(left=7, held=1)}, 1),
        ({"backlog": 3}, 3),
        ({"waiting": 2}, 2),
        ({"orders": [order(ANN), order(BEN, status="awaiting_payment", overdue=True, keeps_units=True)]}, 1),
        ({"orders": [order(ANN), order(BEN, settled=False)]}, 1),
        ({"orders": [order(ANN), order(BEN, money_pending=True)]}, 1),
        ({"counters": None}, 8),
    ],
    ids=["unaccounted", "held for nobody", "outbox", "events", "overdue", "unsettled", "refund due", "lost store"],
)
def test_units_that_still_wait_are_stuck(snapshot: dict[str, object], units: int) -> None:
    found = judged(**snapshot)  # type: ignore[arg-type]
    assert found.stuck == units
    assert not found.holds
    assert replace(SNAPSHOT, **snapshot).pending_work()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("snapshot", "violation"),
    [
        ({"orders": [order(ANN, status="expired"), order(BEN)]}, "not paid and the payment company keeps their money"),
        ({"orders": [order(ANN, captures=0), order(BEN)]}, "paid and the payment company has no money"),
        ({"orders": [order(ANN, captures=0), order(BEN)]}, "neither a paid order nor their money back"),
        ({"orders": [order(ANN), order(BEN), order(CID)]}, "between taken and the live orders"),
        ({"holds": {**SNAPSHOT.holds, CID: Hold("held", 3, 1, 0)}}, "holds have no order"),
        ({"holds": {**SNAPSHOT.holds, BEN: Hold("sold", 2, 1, 0)}}, "orders do not match their holds"),
        ({"holds": {BEN: SNAPSHOT.holds[BEN]}}, "orders do not match their holds"),
    ],
    ids=[
        "paid and expired",
        "paid for nothing",
        "charged for nothing",
        "taken",
        "hold without order",
        "hold differs",
        "hold missing",
    ],
)
def test_other_broken_promises_are_named(snapshot: dict[str, object], violation: str) -> None:
    found = judged(**snapshot)  # type: ignore[arg-type]
    assert violation in " ".join(found.violations)
    assert not found.holds


def test_sold_out_was_wrong_if_units_were_never_sold() -> None:
    found = judged(events=[*EVENTS, *said(CID, "sold_out", status=410)])
    assert "sold out" in " ".join(found.violations)
    all_sold = judged(
        events=[*EVENTS, *said(CID, "sold_out", status=410)],
        quantity=2,
        counters=replace(counters(left=0), quantity=2),
    )
    assert all_sold.holds


def test_an_order_from_a_pass_that_nobody_used_is_named() -> None:
    assert "never used" in " ".join(
        judged(events=[event for event in EVENTS if event.reservation_id != BEN]).violations
    )


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


@pytest.mark.parametrize("outcome", [BROUGHT_BACK, NOT_LOST])
def test_a_receipt_that_was_accepted_is_a_promise(outcome: str) -> None:
    events = [*EVENTS, *brought(outcome, reservation_id=BEN)]
    found = judged(events=events, orders=[order(ANN)], may_be_lost=(BEN,))
    assert (found.lost, found.not_promised) == (1, 0)
    assert not found.holds


@pytest.mark.parametrize(("outcome", "refused"), [("reservation_lost", 1), ("limit_reached", 1), (ENDED, 0)])
def test_a_receipt_that_was_refused_leaves_the_yes_not_promised(outcome: str, refused: int) -> None:
    events = [*EVENTS, *brought(BROUGHT_BACK, reservation_id=BEN), *brought(outcome, reservation_id=BEN, status=409)]
    found = judged(events=events, orders=[order(ANN)], may_be_lost=(BEN,))
    assert (found.lost, found.not_promised, found.refused, found.brought_back) == (0, 1, refused, 0)


def asked_again(reservation_id: str, outcome: str, *, status: int = 409) -> list[Event]:
    """A call that is sent after the answers of `EVENTS`."""
    intent, answer = said(reservation_id, outcome, status=status)
    return [replace(intent, call=1, at_s=2.0), replace(answer, call=1, at_s=2.5)]


@pytest.mark.parametrize(
    "outcome", ["paused", "not_open", "closed", "sold_out", "held_by_others", "limit_reached", "too_few_left"]
)
def test_a_pass_that_hears_no_after_its_yes_is_named(outcome: str) -> None:
    found = judged(events=[*EVENTS, *asked_again(ANN, outcome)])
    assert f"client was told {outcome} after a yes for the same pass" in found.violations
    assert not found.holds


@pytest.mark.parametrize("outcome", ["hold_ended", "unavailable", UNKNOWN])
def test_a_pass_whose_hold_ended_or_whose_store_is_away_hears_no_false_no(outcome: str) -> None:
    assert judged(events=[*EVENTS, *asked_again(BEN, outcome)]).holds


def test_a_pass_may_hear_no_if_its_yes_came_later_or_may_have_been_lost() -> None:
    assert judged(events=[*EVENTS, *asked_again(CID, "paused")]).holds
    sent_before_its_yes = [replace(event, at_s=event.at_s - 1.5) for event in asked_again(ANN, "held_by_others")]
    assert judged(events=[*EVENTS, *sent_before_its_yes]).holds
    assert judged(events=[*EVENTS, *asked_again(BEN, "held_by_others")], may_be_lost=(BEN,)).holds


ALL_SOLD: dict[str, Any] = {"quantity": 2, "counters": replace(counters(left=0), quantity=2)}


def sold_out_before(*again: Event) -> list[Event]:
    return [*EVENTS, *said(CID, "sold_out", status=410), *again]


def test_a_new_yes_after_all_was_said_to_be_sold_is_named() -> None:
    found = judged(events=sold_out_before(*asked_again(ANN, "reserved", status=201)), **ALL_SOLD)
    assert "1 buyers were told yes after others were told that all is sold" in found.violations


def test_a_repeated_yes_and_one_for_units_that_came_back_may_follow_sold_out() -> None:
    repeated = sold_out_before(*asked_again(ANN, "already_reserved", status=201))
    assert "that all is sold" not in " ".join(judged(events=repeated, **ALL_SOLD).violations)
    new = sold_out_before(*asked_again(ANN, "reserved", status=201))
    refunded = [order(ANN), order(BEN, status="refunded")]
    for more in ({"may_be_lost": (BEN,)}, {"orders": refunded}):
        assert "that all is sold" not in " ".join(judged(events=new, **ALL_SOLD, **more).violations)
    moved = check(new, replace(SNAPSHOT, **ALL_SOLD), quantity_moved=True)
    assert "that all is sold" not in " ".join(moved.violations)


def test_a_trial_whose_buyers_were_all_refused_proves_nothing() -> None:
    refused = [event for event in EVENTS if not event.is_yes]
    assert nothing_sold(refused, buyers={"client"})
    assert nothing_sold([*refused, *(replace(event, client="probe") for event in EVENTS)], buyers={"client"})
    assert not nothing_sold(EVENTS, buyers={"client"})
    assert not nothing_sold(refused, buyers=set())
