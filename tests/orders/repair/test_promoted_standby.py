"""A standby takes over from a PostgreSQL that was killed. Real servers; the store goes on meanwhile."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from structlog.testing import capture_logs

from orders import tasks
from orders.life import intake, lifecycle
from orders.models import Attention, Order, OrderStatus
from orders.payments import late_money
from orders.payments.late_money import LatePaymentOutcome
from orders.repair import replaced_database
from seckill.items import item_state
from seckill.items.item_state import Condition
from seckill.models import SaleChange, SaleItem
from seckill.outcomes import Outcome
from shop.databases.timeline import database_timeline
from tests.other_database import shop_on
from tests.own_postgres import Pair, running_pair
from tests.steps.item_journey import ItemJourney
from tests.steps.shop import other_item

pytestmark = pytest.mark.django_db(transaction=True)

QUANTITY = 12


@pytest.fixture
def pair(server_directory: Path) -> Iterator[Pair]:
    with running_pair(server_directory) as pair:
        yield pair


def open_sale(store: Any, slug: str = "longjing") -> ItemJourney:
    """Of twelve units, in the database that the shop has now."""
    item = other_item(slug, quantity=QUANTITY, per_buyer_max=QUANTITY)
    own_store: Any = SimpleNamespace(client=store)
    return ItemJourney(own_store, item)


def condition(journey: ItemJourney) -> Condition:
    item_id = journey.item_id
    return item_state.conditions(item_ids=[item_id], timeline=database_timeline())[item_id]


def refund(reservation_id: UUID) -> None:
    assert lifecycle.refund(order_id=Order.objects.get(reservation_id=reservation_id).pk, units_back=True)


def test_orders_that_a_standby_lacks_come_back_from_the_store_or_are_listed_and_the_others_go_on(
    pair: Pair, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaced_database, "BATCH_MAX", 2)
    with shop_on(pair.primary.url):
        journey, other, whole = open_sale(store), open_sale(store, "oolong"), open_sale(store, "sencha")
        known = whole.ordered(), whole.paid(), whole.cancelled(), whole.reserved()
        stays, expires, is_paid, late = (journey.ordered() for _ in range(4))
        is_refunded = journey.paid()
        # A reason that is for information keeps no order from the list.
        Order.objects.filter(reservation_id=is_refunded).update(attention=Attention.PAID_TWICE)
        journey.let_time_pass(late)
        tasks.expire_overdue()
        buyers = [journey.new_buyer().pk for _ in range(4)]
        ends, newcomer = other.ordered(units=QUANTITY), other.new_buyer().pk
        journey.change(SaleChange.Kind.UNITS_PER_BUYER, units=QUANTITY - 1)
        before = database_timeline()
        pair.catch_up()
        pair.cut()
        # What the standby never hears of.
        lifecycle.cancel(order_id=journey.order(expires).pk)
        lifecycle.pay(order_id=journey.order(is_paid).pk)
        refund(is_refunded)
        lost = [reserved_by(journey, buyer) for buyer in buyers]
        lifecycle.pay(order_id=journey.order(lost[0]).pk)
        journey.change(SaleChange.Kind.UNITS_PER_BUYER, units=5)
        # A payment came after all, and the order got its units again.
        order = journey.order(late)
        with transaction.atomic():
            assert late_money.reclaim_units(order=order) is LatePaymentOutcome.KEPT
            lifecycle.mark_paid_late(order)
        # All units of the other item go to somebody else.
        lifecycle.cancel(order_id=other.order(ends).pk)
        assert other.try_to_reserve(buyer_id=newcomer, units=QUANTITY) == Outcome.RESERVED
    pair.primary.kill()
    pair.standby.promote()
    with shop_on(pair.standby.url):
        # As soon as the standby takes writes, long before its first checkpoint.
        server, timeline = database_timeline().split("/")
        assert (before, timeline) == (f"{server}/1", "2")
        assert {condition(each) for each in (journey, other, whole)} == {Condition.OUTDATED}
        assert not Order.objects.filter(reservation_id__in=lost).exists()
        # A worker that is faster than the watch would reject the order: the standby counts the units of the former one.
        assert intake.drain_once(item_id=other.item_id) == 0
        with capture_logs() as logs:
            assert tasks.watch_store() == 3
        assert {condition(each) for each in (journey, other, whole)} == {Condition.VERIFIED}
        assert tasks.watch_store() == 0
        replaced = {line["item_id"]: line for line in logs if line["event"] == "item_of_a_replaced_database"}
        # An item of which the standby has everything goes on.
        assert replaced[whole.item_id]["log_level"] == "warning"
        assert [whole.order(each).status for each in known] == [
            OrderStatus.AWAITING_PAYMENT,
            OrderStatus.PAID,
            OrderStatus.CANCELLED,
            OrderStatus.AWAITING_PAYMENT,
        ]
        assert whole.counters() == ("9", "2", "1")
        assert whole.is_clean()
        found = replaced[journey.item_id]
        assert (found["log_level"], found["orders_brought_back"], found["orders_ended"]) == ("error", 4, 1)
        assert (found["payments_lost"], found["refunds_lost"], len(found["changes_lost"])) == (3, 1, 1)

        # Everybody who was told yes has an order, and nobody who had ended has.
        assert {journey.order(each).status for each in (stays, is_paid, *lost)} == {OrderStatus.AWAITING_PAYMENT}
        assert journey.order(expires).status == OrderStatus.EXPIRED
        # Staff see what only they can decide.
        listed = {order.reservation_id: order.attention for order in Order.objects.exclude(attention="")}
        paid = dict.fromkeys((is_paid, lost[0], late), Attention.PAYMENT_LOST)
        assert listed == paid | {is_refunded: Attention.REFUND_LOST}
        assert str(journey.order(lost[0]).number) in found["orders"]
        # Who has paid keeps the units, however late it is, and leaves the list with the payment.
        journey.let_time_pass(is_paid)
        tasks.expire_overdue()
        assert lifecycle.pay(order_id=journey.order(is_paid).pk)
        assert journey.order(is_paid).attention == ""

        assert Order.objects.get(buyer=newcomer).status == OrderStatus.AWAITING_PAYMENT
        assert other.order(ends).status == OrderStatus.EXPIRED
        assert other.is_clean()
        # Nothing is sold twice: what is left can be had, and not one unit more.
        while journey.try_to_reserve() == Outcome.RESERVED:
            pass
        intake.drain_all(item_id=journey.item_id)
        assert not Order.objects.filter(status=OrderStatus.REJECTED).exists()
        assert SaleItem.objects.get(pk=journey.item_id).taken == QUANTITY
        assert sum(int(figure or 0) for figure in journey.counters()) == QUANTITY


def reserved_by(journey: ItemJourney, buyer_id: int) -> UUID:
    """An order of a buyer whom the standby knows."""
    before = {str(pk) for pk in Order.objects.values_list("reservation_id", flat=True)}
    assert journey.try_to_reserve(buyer_id=buyer_id) == Outcome.RESERVED
    intake.drain_once(item_id=journey.item_id)
    (new,) = [pk for pk in Order.objects.values_list("reservation_id", flat=True) if pk and str(pk) not in before]
    return new
