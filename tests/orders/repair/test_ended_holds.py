"""Ended holds leave the store once their passes are of no use; audit and reconcile agree with that."""

from datetime import timedelta
from unittest import mock
from uuid import UUID

import pytest
from django.db.models import F

from orders import tasks
from orders.life import lifecycle, settlement
from orders.models import Order, OrderStatus, Payment
from orders.payments import late_money
from orders.payments.late_money import LatePaymentOutcome
from orders.repair.reconcile import reconcile
from seckill.items import item_state
from seckill.line.waiting_list import sweep_lines
from seckill.models import Sale, SaleChange, SaleItem
from seckill.outcomes import Outcome
from seckill.passes import passes
from tests.steps.item_journey import ItemJourney
from tests.steps.paying import payment_row
from tests.steps.shop import other_item
from tests.steps.waiting import join

pytestmark = pytest.mark.django_db(transaction=True)

QUANTITY = 20
LIFE_MS = 900_000


def let_hours_pass(journey: ItemJourney, hours: float) -> None:
    """Let the deadlines of all holds, and of their orders, be that much earlier."""
    for name, hold in journey.holds().items():
        state, buyer, units, deadline_ms = hold.split(":")
        earlier_ms = int(deadline_ms) - int(hours * 3_600_000)
        journey.client.hset(journey.keys.holds, name, f"{state}:{buyer}:{units}:{earlier_ms}")
    Order.objects.update(expires_at=F("expires_at") - timedelta(hours=hours))


def counted(journey: ItemJourney) -> tuple[int, int, int]:
    """reservations, forgotten, holds"""
    item = journey.item()
    return int(item["reservations"]), int(item.get("forgotten", 0)), len(journey.holds())


def test_a_loop_of_reserving_and_cancelling_does_not_fill_the_store(journey: ItemJourney) -> None:
    kept = journey.paid()
    for _round in range(2):
        for _ in range(2):
            journey.cancelled()
        let_hours_pass(journey, hours=3)
        assert tasks.forget_ended_holds() == 2
        assert set(journey.states()) == {str(kept)}
    assert counted(journey) == (5, 4, 1)
    assert item_state.totals(item_id=journey.item_id).consistent
    assert journey.is_clean()


def test_a_hold_is_kept_while_its_pass_may_still_be_used(journey: ItemJourney) -> None:
    journey.paid()
    reservation_id = journey.cancelled()
    # The deadline is in a quarter of an hour. Then come the life of the pass and two hours for clocks that differ.
    let_hours_pass(journey, hours=2.45)
    assert tasks.forget_ended_holds() == 0
    assert journey.try_to_reserve(reservation_id=reservation_id) == Outcome.HOLD_ENDED
    let_hours_pass(journey, hours=0.1)
    assert tasks.forget_ended_holds() == 1


def test_a_pass_lives_shorter_than_its_hold_is_kept() -> None:
    assert passes.life_after_deadline_ms() == LIFE_MS + 2 * 3_600_000


def test_live_holds_and_those_whose_order_says_otherwise_are_kept(journey: ItemJourney) -> None:
    live = journey.paid(), journey.ordered(), journey.reserved()
    wrong, unsettled = journey.cancelled(), journey.cancelled()
    Order.objects.filter(reservation_id=wrong).update(status=OrderStatus.PAID)
    Order.objects.filter(reservation_id=unsettled).update(settled_at=None)
    let_hours_pass(journey, hours=48)
    assert tasks.forget_ended_holds() == 0
    Order.objects.filter(reservation_id=wrong).update(status=OrderStatus.CANCELLED)
    assert settlement.settle_orders() == 1
    assert tasks.forget_ended_holds() == 2
    assert set(journey.states()) == {str(each) for each in live}


def test_a_hold_that_never_became_an_order_is_forgotten(journey: ItemJourney) -> None:
    journey.paid()
    reservation_id = passes.new_reservation_id(journey.item_id)
    assert journey.try_to_reserve(reservation_id=reservation_id, buyer_id=2**40) == Outcome.RESERVED
    assert tasks.drain_outbox(item_id=journey.item_id) == 1
    assert journey.states()[str(reservation_id)] == "ended"
    let_hours_pass(journey, hours=3)
    assert tasks.forget_ended_holds() == 1


def waits_with_an_ended_hold(journey: ItemJourney) -> UUID:
    """A pass that waits for two units, and with which one was reserved and cancelled, long ago. One unit is left."""
    Sale.objects.update(waiting_list=True)
    sweep_lines()
    journey.paid(units=2)
    journey.change(SaleChange.Kind.WITHDRAW_UNITS, QUANTITY - 3)
    buyer = journey.new_buyer()
    place = join(SaleItem.objects.get(), buyer, units=2)
    assert journey.try_to_reserve(reservation_id=place, buyer_id=buyer.pk) == Outcome.RESERVED
    assert tasks.drain_outbox(item_id=journey.item_id) == 1
    assert lifecycle.cancel(order_id=journey.order(place).pk)
    let_hours_pass(journey, hours=3)
    return place


def test_an_ended_hold_is_kept_while_its_pass_waits_in_line(journey: ItemJourney) -> None:
    place = waits_with_an_ended_hold(journey)
    assert tasks.forget_ended_holds() == 0
    # With the second unit the place has its turn. Its id has an order already, so it gets no units.
    journey.change(SaleChange.Kind.ADD_UNITS, 1)
    assert journey.counters() == ("2", "0", "2")
    assert journey.states()[str(place)] == "ended"
    assert tasks.forget_ended_holds() == 1
    assert journey.is_clean()


def test_a_rebuild_writes_an_ended_hold_again_whose_pass_waits_in_line(journey: ItemJourney) -> None:
    place = waits_with_an_ended_hold(journey)
    assert reconcile(item_id=journey.item_id, rebuild=True).rebuilt
    assert journey.states()[str(place)] == "ended"
    journey.change(SaleChange.Kind.ADD_UNITS, 1)
    assert journey.counters() == ("2", "0", "2")
    assert journey.is_clean()


def test_many_holds_are_looked_through_in_portions(journey: ItemJourney, monkeypatch: pytest.MonkeyPatch) -> None:
    # Small hashes are stored, and scanned, in one piece.
    journey.client.config_set("hash-max-listpack-entries", 8)
    monkeypatch.setattr(item_state, "SCAN_COUNT", 10)
    journey.paid()
    ended_ms = 1_700_000_000_000
    holds = {str(passes.new_reservation_id(journey.item_id)): f"ended:7:1:{ended_ms}" for _ in range(100)}
    journey.client.hset(journey.keys.holds, mapping=holds)
    journey.client.hincrby(journey.keys.item, "reservations", 100)
    first = tasks.forget_ended_holds()
    assert 0 < first < 50, "one portion"
    rounds = 1
    while len(journey.holds()) > 1:
        rounds += 1
        assert rounds < 40
        tasks.forget_ended_holds()
    assert counted(journey) == (101, 100, 1)


def test_neither_a_reconcile_nor_a_rebuild_writes_forgotten_holds_again(journey: ItemJourney) -> None:
    paid = journey.paid()
    journey.cancelled()
    let_hours_pass(journey, hours=3)
    assert tasks.forget_ended_holds() == 1
    recent = journey.cancelled()
    for lose, counts in ((journey.restart, (3, 1, 2)), (journey.client.flushall, (2, 0, 2))):
        lose()
        assert tasks.watch_store() == 1
        assert journey.states() == {str(paid): "sold", str(recent): "ended"}
        assert counted(journey) == counts
        assert journey.is_clean()


def test_a_late_payment_of_a_forgotten_hold_takes_its_units_again(journey: ItemJourney) -> None:
    journey.paid()
    order = journey.order(expired(journey))
    assert tasks.forget_ended_holds() == 1
    payment_row(order, Payment.Status.CAPTURED)
    assert late_money.settle_late_payment(order_id=order.pk) is LatePaymentOutcome.KEPT
    assert journey.counters() == (str(QUANTITY - 2), "0", "2")
    assert item_state.totals(item_id=journey.item_id).consistent
    assert journey.is_clean()


def expired(journey: ItemJourney) -> UUID:
    reservation_id = journey.expired()
    let_hours_pass(journey, hours=3)
    return reservation_id


def test_a_cache_that_is_away_only_delays_it_and_a_broken_item_keeps_no_other_waiting(
    journey: ItemJourney, caplog: pytest.LogCaptureFixture
) -> None:
    journey.paid()
    expired(journey)
    with mock.patch("orders.repair.ended_holds.cache.get_many", side_effect=ConnectionError("away")):
        assert tasks.forget_ended_holds() == 0
    assert caplog.text.count("forgetting_waits_for_cache") == 1
    broken = ItemJourney(journey.own_store, other_item())
    broken.client.set(broken.keys.holds, "no hash")
    assert tasks.forget_ended_holds() == 1
    assert caplog.text.count("holds_not_forgotten") == 1
