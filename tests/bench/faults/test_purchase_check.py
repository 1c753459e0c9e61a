"""The checker of the ordinary shop finds what is wrong: histories and snapshots made by hand, each with one mistake."""

from dataclasses import replace
from typing import Any

import pytest

from bench.faults.checker import Findings
from bench.faults.history import UNKNOWN, Action, Event
from bench.faults.shopping.purchase_check import check_purchases, split
from bench.faults.shopping.purchase_snapshot import GoodsRow, PurchaseRow, PurchaseSnapshot
from bench.faults.shopping.shopping_trip import RUNNING
from bench.faults.wire.http_client import CHARGED

# Ann has paid two units, Ben's one has expired, Cid was refused.
BUYERS = {"ann-key": 1, "ben-key": 2, "cid-key": 3}
ANN, BEN, CID = BUYERS


def said(
    key: str, outcome: str, *, action: Action = Action.CHECK_OUT, status: int = 201, units: int = 0
) -> list[Event]:
    """A request and its answer."""
    request = Event("trial", 0, "client", action, key, BUYERS[key], at_s=1.0, wall_s=1.0)
    number = f"order of {key}" if status == 201 else ""
    return [request, replace(request, outcome=outcome, status=status, units=units, id_in_answer=number)]


def purchase(key: str, **more: object) -> PurchaseRow:
    number = f"order of {key}"
    row = {
        ANN: PurchaseRow(
            key=ANN, number=number, buyer_id=1, units=2, status="paid", captures=1, kept_minor=200, due_minor=200
        ),
        BEN: PurchaseRow(key=BEN, number=number, buyer_id=2, units=1, status="expired"),
        CID: PurchaseRow(key=CID, number=number, buyer_id=3, units=1, status="awaiting_payment"),
    }[key]
    return replace(row, **more)  # type: ignore[arg-type]


EVENTS = [
    *(event for key in BUYERS for event in said(key, "ok", action=Action.FILL_CART, status=200)),
    *said(ANN, "ordered", units=2),
    *said(ANN, CHARGED, action=Action.PAY, status=302),
    *said(BEN, UNKNOWN, status=0),
    *said(BEN, "already_ordered", units=1),
    *said(CID, "stock_changed", status=409),
]
GOODS = GoodsRow(sku="tea", start=10, available=5, held=0, sold=2, in_sales=3, ordered_sold=2)
SNAPSHOT = PurchaseSnapshot(purchases=[purchase(ANN), purchase(BEN)], goods=[GOODS])


def judged(events: list[Event] | None = None, **more: Any) -> Findings:
    return check_purchases(EVENTS if events is None else events, replace(SNAPSHOT, **more))


def test_a_shop_that_did_well_holds() -> None:
    found = judged()
    assert found.holds
    assert (found.told_yes, found.kept) == (2, 2)
    assert not SNAPSHOT.pending_work()


# What is wrong with the snapshot, and what the findings count.
COUNTED: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "a yes without an order": ({"purchases": [purchase(ANN)]}, {"told_yes": 2, "kept": 1, "lost": 1}),
    "a rejected order": ({"purchases": [purchase(ANN), purchase(BEN, status="rejected")]}, {"lost": 1}),
    "other units": ({"purchases": [purchase(ANN), purchase(BEN, units=2)]}, {"lost": 1}),
    "another buyer": ({"purchases": [purchase(ANN), purchase(BEN, buyer_id=1)]}, {"lost": 1}),
    "another number": ({"purchases": [purchase(ANN), purchase(BEN, number="another")]}, {"lost": 1}),
    "two orders": ({"purchases": [purchase(ANN), purchase(BEN), purchase(BEN, number="another")]}, {"duplicated": 1}),
    "told another order": (
        {"events": [*EVENTS, replace(said(ANN, "ordered", units=2)[1], id_in_answer="another")]},
        {"duplicated": 1},
    ),
    "paid twice": ({"purchases": [purchase(ANN, captures=2, kept_minor=400), purchase(BEN)]}, {"duplicated": 1}),
    "more sold than there was": ({"goods": [replace(GOODS, start=4)]}, {"oversold": 1}),
    "more held than there was": ({"goods": [replace(GOODS, ordered_held=6, held=6, available=0)]}, {"oversold": 1}),
    "a unit is nowhere": ({"goods": [replace(GOODS, available=4)]}, {"stuck": 1}),
    "a unit is there twice": ({"goods": [replace(GOODS, available=6)]}, {"stuck": 1}),
    "unreturned": ({"unreturned": 1}, {"stuck": 1}),
    "waiting": ({"waiting": 1}, {"stuck": 1}),
    "unsettled": ({"purchases": [purchase(ANN, settled=False), purchase(BEN)]}, {"stuck": 1}),
    "money pending": ({"purchases": [purchase(ANN, money_pending=True), purchase(BEN)]}, {"stuck": 1}),
    "overdue": ({"purchases": [purchase(ANN), purchase(BEN, status="awaiting_payment", overdue=True)]}, {"stuck": 1}),
}


@pytest.mark.parametrize("wrong", COUNTED)
def test_a_broken_promise_is_counted_and_unfinished_work_is_waited_for(wrong: str) -> None:
    changes, expected = COUNTED[wrong]
    found = judged(**changes)
    assert {name: getattr(found, name) for name in expected} == expected
    assert not found.holds
    if "stuck" in expected:
        assert replace(SNAPSHOT, **changes).pending_work()


def test_counters_that_differ_from_the_orders_and_differences_in_the_stock_are_named() -> None:
    found = judged(goods=[replace(GOODS, ordered_sold=1)])
    assert found.violations == ["1 units by which the counters of the stock differ from the orders"]
    assert judged(audit=["tea: sold, by counter and orders: 3 and 2"]).violations == [
        "stock audit: tea: sold, by counter and orders: 3 and 2"
    ]


def test_money_that_is_not_what_the_shop_says_is_named() -> None:
    # Too little is kept, it is kept for nothing, a refund of a part is not paid.
    for wrong in ({"kept_minor": 100}, {"status": "expired", "due_minor": 0}, {"due_minor": 150}):
        found = judged(purchases=[purchase(ANN, **wrong), purchase(BEN)])
        assert any("another amount" in violation for violation in found.violations), wrong
        assert any("order of ann-key" in violation for violation in found.violations), wrong


def test_a_buyer_who_was_charged_for_nothing_is_named() -> None:
    found = judged([*EVENTS, *said(BEN, CHARGED, action=Action.PAY, status=302)])
    assert found.violations == ["1 buyers of the shop were charged and have neither a paid order nor their money back"]
    gave_back = [purchase(ANN), purchase(BEN, status="refunded", refunds=1)]
    assert judged([*EVENTS, *said(BEN, CHARGED, action=Action.PAY, status=302)], purchases=gave_back).holds


def test_an_order_of_a_buyer_who_was_refused_is_named() -> None:
    found = judged(purchases=[purchase(ANN), purchase(BEN), purchase(CID)])
    assert "1 purchases were refused and ordered all the same" in found.violations
    # A buyer without an answer may have an order.
    others = [event for event in EVENTS if event.outcome != "stock_changed"]
    # So may one who was told that the first call still runs.
    for doubtful in (said(CID, UNKNOWN, status=0), said(CID, RUNNING, status=409)):
        assert judged([*others, *doubtful], purchases=[purchase(ANN), purchase(BEN), purchase(CID)]).holds


def test_an_order_that_nobody_asked_for_is_named() -> None:
    asked_by_two = [event for event in EVENTS if event.reservation_id != BEN]
    asked_by_two += said(BEN, "filled", action=Action.FILL_CART, status=200)
    assert "1 ordinary orders came from nobody's checkout" in judged(asked_by_two).violations


def test_purchases_are_told_from_reservations_and_both_count() -> None:
    reservation = replace(said(ANN, "reserved", action=Action.RESERVE)[0], reservation_id="a-pass")
    of_sale, of_shop = split([reservation, *EVENTS])
    assert of_sale == [reservation]
    assert of_shop == EVENTS
    both = judged().plus(judged(purchases=[purchase(ANN)]))
    assert (both.told_yes, both.kept, both.lost) == (4, 3, 1)
    assert not both.holds
