"""PostgreSQL was restored from a backup: what the store and the payment company still know is brought back."""

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from orders import tasks
from orders.life import cancelling, lifecycle
from orders.models import Attention, Document, Mail, Order, OrderLine, OrderStatus, Payment
from orders.payments.simulated.models import SimulatedSession
from orders.repair.audit import audit
from orders.repair.reconcile import reconcile
from orders.units.lost_payments import sold_in_the_store
from seckill.items import item_state
from seckill.ledger_words import Hold
from seckill.models import SaleItem
from shop.models import Product
from tests.steps.buying import let_deadlines_pass, order_of, reserve_often, signed_in
from tests.steps.operating import run_command
from tests.steps.paying import let_events_wait, message, payment_of, press_cancel, press_pay, send_webhook
from tests.steps.shop import make_item
from tests.steps.store import figures, store_away

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def event(item: SaleItem, buyer: User) -> dict[str, Any]:
    """An order that was paid after the backup: in PostgreSQL it awaits payment. Yields the company's event."""
    payment = payment_of(order_of(item, buyer))
    captured = message(payment)
    send_webhook(captured)
    forget_payment()
    assert figures(item) == (4, 0, 1, 1)
    return captured


def forget_payment() -> None:
    assert Order.objects.get().status == OrderStatus.PAID
    Mail.objects.all().delete()
    Payment.objects.all().delete()
    Order.objects.update(status=OrderStatus.AWAITING_PAYMENT, ended_at=None, settled_at=None)


def forget_order(item: SaleItem) -> None:
    """The order was made after the backup too."""
    Document.objects.all().delete()
    OrderLine.objects.all().delete()
    Order.objects.all().delete()
    SaleItem.objects.filter(pk=item.pk).update(taken=0)


def status_by_reservation(reservation_id: UUID | str | None) -> str:
    return Order.objects.get(reservation_id=reservation_id).status


def is_clean(item: SaleItem) -> bool:
    return audit(item_id=item.pk, patience_seconds=5).comparison.problem_count == 0


def test_an_order_that_was_paid_does_not_expire_and_does_not_hold_up_the_others(
    item: SaleItem, buyer: User, rival: User, event: dict[str, Any]
) -> None:
    unpaid = order_of(item, rival)
    let_deadlines_pass()
    # The paid one is the first in the queue.
    Order.objects.filter(pk=unpaid.pk).update(expires_at=Order.objects.get(pk=unpaid.pk).reserved_at)
    assert lifecycle.expire_overdue(batch_max=1) == 1
    assert tasks.expire_overdue() == 0
    assert status_by_reservation(event["reservation"]) == OrderStatus.AWAITING_PAYMENT
    assert status_by_reservation(unpaid.reservation_id) == OrderStatus.EXPIRED
    assert figures(item) == (4, 0, 1, 1)


def test_the_event_that_the_company_sends_again_pays_the_order_long_after_its_deadline(
    item: SaleItem, event: dict[str, Any]
) -> None:
    let_deadlines_pass()
    tasks.expire_overdue()
    for _time in range(2):
        assert send_webhook(event | {"id": "evt_again"}).status_code == 200
    let_events_wait()
    assert tasks.apply_waiting_events() == 1
    payment = Payment.objects.get()
    assert (str(payment.pk), payment.status) == (event["payment"], Payment.Status.CAPTURED)
    assert status_by_reservation(event["reservation"]) == OrderStatus.PAID
    assert figures(item) == (4, 0, 1, 1)
    assert is_clean(item)


def test_money_for_a_page_that_was_opened_after_the_backup_finds_its_order(order: Order, buyer: User) -> None:
    lost = payment_of(order)
    captured = message(lost)
    Payment.objects.all().delete()
    # The buyer opens a second page, as PostgreSQL knows of none, and pays on both.
    assert press_pay(signed_in(buyer), order.number).status_code == 201
    second = Payment.objects.get()
    for paid in (captured, message(second)):
        assert send_webhook(paid).status_code == 200
    let_events_wait()
    tasks.apply_waiting_events()
    assert status_by_reservation(order.reservation_id) == OrderStatus.PAID
    assert Payment.objects.get(pk=second.pk).status == Payment.Status.CAPTURED
    assert Payment.objects.get(pk=lost.pk).status == Payment.Status.REFUND_DUE
    assert SimulatedSession.objects.count() == 2


def test_an_event_that_names_the_page_of_another_payment_makes_no_payment(item: SaleItem, buyer: User) -> None:
    payment = payment_of(order_of(item, buyer))
    assert send_webhook(message(payment) | {"payment": str(uuid4())}).status_code == 200
    let_events_wait()
    assert tasks.apply_waiting_events() == 0
    assert list(Payment.objects.all()) == [payment]
    assert Order.objects.get().status == OrderStatus.AWAITING_PAYMENT


def test_an_order_that_was_lost_whole_comes_back_and_is_paid_by_the_event_that_waited(
    item: SaleItem, event: dict[str, Any]
) -> None:
    forget_order(item)
    assert send_webhook(event | {"id": "evt_again"}).status_code == 200
    let_events_wait()
    assert tasks.apply_waiting_events() == 0
    call_command("sale_rebuild", str(item.pk), "--lost-orders")
    let_deadlines_pass()
    assert tasks.expire_overdue() == 0
    assert tasks.apply_waiting_events() == 1
    assert status_by_reservation(event["reservation"]) == OrderStatus.PAID
    assert figures(item) == (4, 0, 1, 1)
    assert is_clean(item)


def test_an_order_that_ended_after_the_backup_makes_room_for_one_that_is_lost(
    product: Product, buyer: User, rival: User
) -> None:
    item = make_item(product, per_buyer_max=5)
    ended = order_of(item, buyer)
    assert lifecycle.cancel(order_id=ended.pk)
    for _unit in range(5):
        lost = order_of(item, rival)
    # The backup is from before the cancellation, and has none of the rival's orders.
    Order.objects.filter(pk=ended.pk).update(status=OrderStatus.AWAITING_PAYMENT, ended_at=None, settled_at=None)
    OrderLine.objects.exclude(order=ended).delete()
    Order.objects.exclude(pk=ended.pk).delete()
    SaleItem.objects.filter(pk=item.pk).update(taken=1)
    for _time in range(2):
        call_command("sale_rebuild", str(item.pk), "--lost-orders")
    assert status_by_reservation(ended.reservation_id) == OrderStatus.EXPIRED
    assert status_by_reservation(lost.reservation_id) == OrderStatus.AWAITING_PAYMENT
    assert Order.objects.filter(status=OrderStatus.AWAITING_PAYMENT, buyer=rival).count() == 5
    assert figures(item) == (0, 5, 0, 5)
    assert is_clean(item)


def test_one_call_does_not_both_keep_the_store_and_write_it_again(item: SaleItem) -> None:
    with pytest.raises(CommandError, match="not allowed with"):
        call_command("sale_rebuild", str(item.pk), "--lost-orders", "--from-nothing")


def test_reservations_that_are_on_their_way_are_no_lost_orders(
    item: SaleItem, event: dict[str, Any], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a sale that goes on: one reservation is not an order yet, and one is made while the holds are read
    forget_order(item)
    made = reserve_often(item)

    def holds_beside_buyers(*, item_id: int) -> Iterator[dict[str, Hold | None]]:
        made.extend(reserve_often(item))
        yield from all_holds(item_id=item_id)

    all_holds = item_state.all_holds
    monkeypatch.setattr(item_state, "all_holds", holds_beside_buyers)
    # When the orders are brought back that PostgreSQL has lost
    assert "1 orders brought back" in run_command("sale_rebuild", str(item.pk), "--lost-orders")
    # Then these two are orders like others
    (logged,) = [record.msg for record in caplog.records if "holds_without_entry" in str(record.msg)]
    assert not any(str(reservation_id) in str(logged) for reservation_id in made)
    assert {status_by_reservation(reservation_id) for reservation_id in made} == {OrderStatus.AWAITING_PAYMENT}


def test_a_payment_without_an_event_is_recorded_by_staff_after_the_deadline(
    item: SaleItem, event: dict[str, Any]
) -> None:
    let_deadlines_pass()
    assert lifecycle.pay(order_id=Order.objects.get().pk)
    assert figures(item) == (4, 0, 1, 1)
    assert is_clean(item)


def test_an_order_whose_payment_was_lost_is_neither_cancelled_by_its_buyer_nor_charged_nor_expires(
    item: SaleItem, buyer: User, event: dict[str, Any], as_buyer: Client, settings: LazySettings
) -> None:
    order, healthy = Order.objects.get(), settings.CACHES

    def stays() -> None:
        # Its buyer cancels it, over the API and on the page, and hears why, as from Pay.
        cancelled = press_cancel(signed_in(buyer), order.number, f"cancel-{order.attention}")
        page = as_buyer.post(f"/orders/{order.number}/cancel/", follow=True)
        assert (cancelled.status_code, cancelled.json()["code"]) == (503, "record_lost")
        assert cancelled.json()["detail"] in page.text
        assert cancelling.cancel_unpaid_of(buyer_id=buyer.pk) == 0
        assert tasks.expire_overdue() == 0
        before = order.attention
        order.refresh_from_db()
        assert (order.status, order.attention) == (OrderStatus.AWAITING_PAYMENT, before)

    # Only the store has it as paid, or it is listed for staff while the store is away.
    stays()
    Order.objects.update(attention=Attention.PAYMENT_LOST)
    order.refresh_from_db()
    store_away(settings)
    stays()
    let_deadlines_pass()
    assert tasks.expire_overdue() == 0
    assert press_pay(signed_in(buyer), order.number).json()["code"] == "record_lost"
    # The event that the company sends again pays it also if the account was blocked: it was paid before.
    User.objects.filter(pk=buyer.pk).update(is_active=False)
    send_webhook(event | {"id": "evt_again"})
    let_events_wait()
    assert tasks.apply_waiting_events() == 1
    assert status_by_reservation(event["reservation"]) == OrderStatus.PAID
    settings.CACHES = healthy
    assert figures(item) == (4, 0, 1, 1)


def test_an_order_that_only_the_store_has_as_paid_stays_if_its_account_is_blocked(
    item: SaleItem, buyer: User, event: dict[str, Any]
) -> None:
    User.objects.filter(pk=buyer.pk).update(is_active=False)
    assert cancelling.cancel_unpaid_of(buyer_id=buyer.pk) == 0
    send_webhook(event | {"id": "evt_again"})
    let_events_wait()
    assert tasks.apply_waiting_events() == 1
    assert status_by_reservation(event["reservation"]) == OrderStatus.PAID
    assert figures(item) == (4, 0, 1, 1)


def test_an_order_that_is_paid_while_its_buyer_cancels_is_only_paid(
    item: SaleItem, buyer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = order_of(item, buyer)

    def pay_first(*, reservation_ids: Iterable[UUID | None]) -> set[UUID]:
        lifecycle.pay(order_id=order.pk)
        return sold_in_the_store(reservation_ids=reservation_ids)

    monkeypatch.setattr(cancelling, "sold_in_the_store", pay_first)
    answer = press_cancel(signed_in(buyer), order.number)
    assert (answer.status_code, answer.json()["code"]) == (409, "not_awaiting_payment")


@pytest.mark.slow
def test_a_reconcile_does_not_forget_who_had_paid(item: SaleItem, event: dict[str, Any]) -> None:
    result = reconcile(item_id=item.pk)
    assert not result.differed
    assert figures(item) == (4, 0, 1, 1)
    # The audit goes on showing it until a person has decided.
    assert not is_clean(item)
    assert lifecycle.cancel(order_id=Order.objects.get().pk)
    assert reconcile(item_id=item.pk).released == 1
    assert figures(item) == (5, 0, 0, 0)
    assert is_clean(item)
