"""The checker of the ordinary shop finds what is wrong: histories and snapshots made by hand, each with one mistake."""

from dataclasses import replace

import pytest

from bench.faults.checker import Findings
from bench.faults.history import UNKNOWN, Action, Event
from bench.faults.shopping.purchase_check import check_purchases, split
from bench.faults.shopping.purchase_snapshot import GoodsRow, PurchaseRow, PurchaseSnapshot
from bench.faults.wire.http_client import CHARGED

# Ann has paid two units, Ben's one has expired, Cid was refused.
BUYERS = {"ann-key": 1, "ben-key": 2, "cid-key": 3}
ANN, BEN, CID = BUYERS


def said(
    key: str, outcome: str, *, action: Action = Action.CHECK_OUT, status: int = 201, units: int = 0
) -> list[Event]:
    """A request and its answer."""
    request = Event(
        trial="trial",
        call=0,
        client="client",
        action=action,
        reservation_id=key,
        buyer_id=BUYERS[key],
        at_s=1.0,
        wall_s=1.0,
    )
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


def judged(events: list[Event] | None = None, **more: object) -> Findings:
    return check_purchases(EVENTS if events is None else events, replace(SNAPSHOT, **more))  # type: ignore[arg-type]


def test_a_shop_that_did_well_holds() -> None:
    found = judged()
    assert found.holds
    assert (found.told_yes, found.kept) == (2, 2)
    assert not SNAPSHOT.pending_work()


def test_a_yes_without_an_order_is_lost() -> None:
    found = judged(purchases=[purchase(ANN)])
    assert (found.told_yes, found.kept, found.lost) == (2, 1, 1)
    assert not found.holds


@pytest.mark.parametrize(
    "wrong", [{"status": "rejected"}, {"units": 2}, {"buyer_id": 1}, {"number": "another"}], ids=str
)
def test_an_order_that_is_not_what_was_promised_is_lost(wrong: dict[str, object]) -> None:
    assert judged(purchases=[purchase(ANN), purchase(BEN, **wrong)]).lost == 1


def test_two_orders_of_one_purchase_are_a_duplicate() -> None:
    assert judged(purchases=[purchase(ANN), purchase(BEN), purchase(BEN, number="another")]).duplicated == 1


def test_a_repeated_checkout_that_is_told_another_order_is_a_duplicate() -> None:
    again = replace(said(ANN, "ordered", units=2)[1], id_in_answer="another")
    assert judged([*EVENTS, again]).duplicated == 1


def test_an_order_that_was_paid_twice_is_a_duplicate() -> None:
    found = judged(purchases=[purchase(ANN, captures=2, kept_minor=400), purchase(BEN)])
    assert found.duplicated == 1
    assert any("another amount" in violation for violation in found.violations)


def test_more_units_in_orders_and_sales_than_there_were_are_oversold() -> None:
    assert judged(goods=[replace(GOODS, start=4)]).oversold == 1
    assert judged(goods=[replace(GOODS, ordered_held=6, held=6, available=0)]).oversold == 1


@pytest.mark.parametrize("available", [4, 6])
def test_units_that_are_nowhere_or_twice_are_stuck(available: int) -> None:
    snapshot = replace(SNAPSHOT, goods=[replace(GOODS, available=available)])
    assert check_purchases(EVENTS, snapshot).stuck == 1
    assert "1 units of goods that are missing" in snapshot.pending_work()


@pytest.mark.parametrize(
    "waits",
    [
        {"unreturned": 1},
        {"waiting": 1},
        {"purchases": [purchase(ANN, settled=False), purchase(BEN)]},
        {"purchases": [purchase(ANN, money_pending=True), purchase(BEN)]},
        {"purchases": [purchase(ANN), purchase(BEN, status="awaiting_payment", overdue=True)]},
    ],
    ids=str,
)
def test_unfinished_work_is_stuck_and_waited_for(waits: dict[str, object]) -> None:
    assert judged(EVENTS, **waits).stuck == 1
    assert replace(SNAPSHOT, **waits).pending_work()  # type: ignore[arg-type]


def test_counters_that_differ_from_the_orders_are_named() -> None:
    found = judged(goods=[replace(GOODS, ordered_sold=1)])
    assert found.violations == ["1 units by which the counters of the stock differ from the orders"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kept_minor": 100},
        {"status": "expired", "due_minor": 0},
        {"due_minor": 150},
    ],
    ids=["too little kept", "kept for nothing", "part refund not paid"],
)
def test_money_that_is_not_what_the_shop_says_is_named(wrong: dict[str, object]) -> None:
    found = judged(purchases=[purchase(ANN, **wrong), purchase(BEN)])
    assert any("another amount" in violation for violation in found.violations)
    assert any("order of ann-key" in violation for violation in found.violations)


def test_a_buyer_who_was_charged_for_nothing_is_named() -> None:
    found = judged([*EVENTS, *said(BEN, CHARGED, action=Action.PAY, status=302)])
    assert found.violations == ["1 buyers of the shop were charged and have neither a paid order nor their money back"]
    gave_back = [purchase(ANN), purchase(BEN, status="refunded", refunds=1)]
    assert judged([*EVENTS, *said(BEN, CHARGED, action=Action.PAY, status=302)], purchases=gave_back).holds


def test_an_order_of_a_buyer_who_was_refused_is_named() -> None:
    found = judged(purchases=[purchase(ANN), purchase(BEN), purchase(CID)])
    assert "1 purchases were refused and ordered all the same" in found.violations
    # A buyer without an answer may have an order.
    unknown = [event for event in EVENTS if event.outcome != "stock_changed"] + said(CID, UNKNOWN, status=0)
    assert judged(unknown, purchases=[purchase(ANN), purchase(BEN), purchase(CID)]).holds


def test_an_order_that_nobody_asked_for_is_named() -> None:
    asked_by_two = [event for event in EVENTS if event.reservation_id != BEN]
    assert "1 ordinary orders came from nobody's checkout" in judged(asked_by_two).violations


def test_differences_in_the_stock_count_as_violations() -> None:
    assert judged(audit=["tea: sold, by counter and orders: 3 and 2"]).violations == [
        "stock audit: tea: sold, by counter and orders: 3 and 2"
    ]


def test_purchases_are_told_from_reservations_and_both_count() -> None:
    reservation = replace(said(ANN, "reserved", action=Action.RESERVE)[0], reservation_id="a-pass")
    of_sale, of_shop = split([reservation, *EVENTS])
    assert of_sale == [reservation]
    assert of_shop == EVENTS
    both = judged().plus(judged(purchases=[purchase(ANN)]))
    assert (both.told_yes, both.kept, both.lost) == (4, 3, 1)
    assert not both.holds
