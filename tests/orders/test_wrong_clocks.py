"""Clocks that are an hour off: no order expires early, none stays for ever, and every task still runs."""

from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from celery import current_app
from django.contrib.auth.models import User
from django.core import mail
from django.utils import timezone
from django_redis import get_redis_connection
from pytest_django import Settings

from orders import tasks
from orders.approvals import approved_changes
from orders.cart.cart_holder import Holder
from orders.checkout.placement import place_order
from orders.life import intake, lifecycle
from orders.models import (
    ApprovalRequest,
    Document,
    Mail,
    Order,
    OrderStatus,
    Payment,
    PaymentEvent,
    Refund,
    Rehearsal,
    Reminder,
    StoreRepair,
)
from orders.payments import refunds
from orders.rehearsal import running
from orders.rehearsal.plan import Refused
from orders.reminders import due_reminders, reminder_mails
from orders.repair.reconcile import reconcile
from seckill import ledger
from seckill.models import Sale, SaleItem
from seckill.outbox import doorbell
from seckill.passes import passes
from seckill.publication import draft_terms
from seckill.store.keys import keys_of
from shop.background import queued_tasks
from shop.databases.database_clock import database_now
from shop.models import Product
from shop.times.timestamps import from_ms, to_ms
from tests.steps.buying import fill, order_of, wish_of
from tests.steps.paying import message, payment_of, send_webhook
from tests.steps.shop import goods, make_item, make_product

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def host_clock(clock: timedelta) -> Any:
    """The clock of web servers and workers is off by `clock`."""
    return mock.patch.object(timezone, "now", return_value=timezone.now() + clock)


def reserve_by(clock: timedelta, item: SaleItem, buyer: User) -> None:
    """A reservation written by a store whose clock is off by `clock`."""
    now_ms = to_ms(timezone.now() + clock)
    fields: dict[Any, Any] = {
        "reservation": str(passes.new_reservation_id(item.pk)),
        "buyer": buyer.pk,
        "units": 1,
        "reserved_ms": now_ms,
        "deadline_ms": now_ms + 900_000,
    }
    get_redis_connection("seckill").xadd(keys_of(item.pk).outbox, fields)


@pytest.mark.parametrize("clock", [-HOUR, HOUR], ids=["an hour behind", "an hour ahead"])
def test_a_store_whose_clock_is_off_gives_a_buyer_the_whole_time_to_pay(
    item: SaleItem, buyer: User, clock: timedelta
) -> None:
    reserve_by(clock, item, buyer)
    with mock.patch.object(ledger, "clock_ms", return_value=to_ms(timezone.now() + clock)):
        intake.drain_once(item_id=item.pk)
    assert tasks.expire_overdue() == 0
    order = Order.objects.get()
    assert order.status == OrderStatus.AWAITING_PAYMENT
    assert abs(order.expires_at - timezone.now() - timedelta(seconds=900)) < timedelta(seconds=20)


def test_a_deadline_is_the_one_that_the_buyer_was_told(item: SaleItem, buyer: User) -> None:
    reservation_id = passes.new_reservation_id(item.pk)
    answer = ledger.reserve(item_id=item.pk, reservation_id=reservation_id, buyer_id=buyer.pk, units=1)
    with mock.patch.object(ledger, "clock_ms", side_effect=AssertionError("the store is asked only on suspicion")):
        intake.drain_once(item_id=item.pk)
    assert Order.objects.get().expires_at == from_ms(answer.deadline_ms)


@pytest.mark.parametrize("clock", [-HOUR, HOUR], ids=["an hour behind", "an hour ahead"])
def test_orders_payments_and_refunds_end_by_the_clock_of_postgresql(
    product: Product, buyer: User, clock: timedelta
) -> None:
    # Given three orders, one of them past its deadline
    item = make_item(product, quantity=5, per_buyer_max=3)
    cancelled, expired, paid = [order_of(item, buyer) for _ in range(3)]
    Order.objects.filter(pk=expired.pk).update(expires_at=database_now())
    event = message(payment_of(paid))
    with host_clock(clock):
        # When they end, and all money goes back
        assert lifecycle.cancel(order_id=cancelled.pk)
        assert lifecycle.expire_overdue() == 1
        assert send_webhook(event).status_code == 200
        paid.refresh_from_db()
        assert lifecycle.refund(order_id=paid.pk, units_back=True)
        assert refunds.finish(refund_id=Refund.objects.get().pk)
    # Then each time is PostgreSQL's
    payment, received = Payment.objects.get(), PaymentEvent.objects.get()
    times = [paid.ended_at, payment.captured_at, received.applied_at, Refund.objects.get().ended_at]
    times += Order.objects.values_list("ended_at", flat=True)
    # And so are those that tell when the rows were made
    times += [payment.created_at, received.received_at, Refund.objects.get().created_at]
    times += [*Mail.objects.values_list("created_at", flat=True), *Document.objects.values_list("made_at", flat=True)]
    assert [time for time in times if time is None or abs(database_now() - time) > timedelta(minutes=1)] == []


@pytest.mark.parametrize("clock", [-HOUR, HOUR], ids=["an hour behind", "an hour ahead"])
def test_a_checkout_holds_units_by_the_clock_of_postgresql(buyer: User, clock: timedelta) -> None:
    goods("cup")
    wish = wish_of(fill(Holder(buyer_id=buyer.pk), cup=1))
    with host_clock(clock):
        order = place_order(wish).order
    assert order is not None
    assert order.expires_at - order.reserved_at == timedelta(minutes=30)
    assert abs(order.created_at - order.reserved_at) < timedelta(minutes=1)


@pytest.mark.parametrize("clock", [-HOUR, HOUR], ids=["an hour behind", "an hour ahead"])
def test_a_report_tells_by_the_clock_of_postgresql_when_an_item_was_compared(item: SaleItem, clock: timedelta) -> None:
    with host_clock(clock):
        reconcile(item_id=item.pk)
    repair = StoreRepair.objects.get()
    assert repair.ended_at
    assert repair.began_at < repair.ended_at < database_now() < repair.began_at + timedelta(minutes=1)


@pytest.mark.parametrize("clock", [-HOUR, HOUR], ids=["an hour behind", "an hour ahead"])
def test_reminders_leave_before_the_opening_by_the_clock_of_postgresql(product: Product, clock: timedelta) -> None:
    sale = make_item(product, opens_in_seconds=301, closes_in_seconds=1200).sale
    for number in (1, 2):
        row = Reminder(sale=sale, email=f"p{number}@example.com", mailbox=str(number), language="en")
        row.confirmed_at = timezone.now()
        row.save()
    with host_clock(clock):
        due_reminders.make_due()
        reminder_mails.send_due(seconds_max=60)
    assert ["opens at" in sent.subject for sent in mail.outbox] == [True, True]


@pytest.mark.parametrize("clock", [-HOUR, HOUR], ids=["an hour behind", "an hour ahead"])
def test_a_sale_is_published_and_rehearsed_by_the_clock_of_postgresql(
    product: Product, item: SaleItem, buyer: User, clock: timedelta, settings: Settings
) -> None:
    settings.REHEARSALS = True
    other = make_product(slug="cup", name="Cup", price_minor=9900)
    draft = make_item(other, opens_in_seconds=600, closes_in_seconds=1200, published=False).sale
    asked = {"terms": draft_terms(draft), "was_late": False}
    with host_clock(clock):
        approved_changes.publish(ApprovalRequest(subject_id=draft.pk, details=asked, asked_by=buyer))
        rehearsal = Rehearsal.objects.create(sale=draft, buyers=1)
        rehearsal.go_on()
        # While the buyers of another sale need the machines
        with pytest.raises(Refused, match="Its buyers need the machines"):
            running.start(item.sale, buyers=1)
        assert running.end_silent() == 0
    assert running.end_silent() == 0
    assert Sale.objects.get(pk=draft.pk).is_published


def test_messages_outlive_clocks_that_are_an_hour_off() -> None:
    """Celery drops a message that has expired by the worker's clock."""
    current_app.loader.import_default_modules()
    lives = [entry["options"]["expires"] for entry in current_app.conf.beat_schedule.values()]
    assert min([*lives, doorbell.EXPIRES_SECONDS]) >= 2 * HOUR.total_seconds()


def test_of_many_queued_messages_one_does_the_work() -> None:
    """After an hour without workers: duplicates right after a sweep are skipped, a later message works again."""
    done = []

    def work() -> int:
        done.append(1)
        return 1

    work.__name__, work.__module__ = "work_of_a_test", __name__
    task = queued_tasks.sweep(queue="celery", every_seconds=None, name="tests.work_of_a_test")(work)
    # So long that the fifty come in time on any machine.
    with mock.patch.object(queued_tasks, "GAP_SECONDS", 60.0):
        rings = [task.apply().get() for _ in range(50)]
    assert (sum(rings), len(done)) == (1, 1)
    # A direct call is never skipped.
    assert task() == 1
    with mock.patch.object(queued_tasks, "GAP_SECONDS", 0.0):
        assert task.apply().get() == 1
