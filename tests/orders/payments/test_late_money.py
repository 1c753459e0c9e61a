"""Money for an order that has expired: units taken again, or money back, never both; whatever dies in between."""

from typing import Any
from unittest import mock

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User

from orders import lifecycle, settlement, tasks
from orders.models import Attention, Mail, Order, OrderStatus, Payment
from orders.payments import late_money
from orders.payments.inbox import EventOutcome
from seckill import ledger
from seckill.models import LatePayment, Sale, SaleItem
from shop.models import Product
from tests.conftest import make_item
from tests.orders.payments.payment_steps import (
    figures,
    let_deadlines_pass,
    message,
    order_of,
    payment_of,
    store_away,
    tell,
)

pytestmark = pytest.mark.django_db(transaction=True)


class Died(BaseException):
    """Stands for SIGKILL within a test: no handler of ours catches it."""


def expired(item: SaleItem, buyer: User, units: int = 1) -> tuple[Order, Payment]:
    """An order that expired while its payment page was open."""
    order = order_of(item, buyer, units)
    payment = payment_of(order)
    let_deadlines_pass()
    assert tasks.expire_overdue() == 1
    return order, payment


def stands(order: Order, payment: Payment) -> tuple[str, str, str]:
    order.refresh_from_db()
    payment.refresh_from_db()
    return order.status, payment.status, order.attention


KEPT = (OrderStatus.PAID, Payment.Status.CAPTURED, Attention.LATE_PAYMENT_KEPT)
GOES_BACK = (OrderStatus.REFUND_DUE, Payment.Status.REFUND_DUE, Attention.LATE_PAYMENT_REFUNDED)


def test_units_that_are_left_are_taken_again(item: SaleItem, buyer: User) -> None:
    order, payment = expired(item, buyer)
    assert figures(item) == (5, 0, 0, 0)
    assert tell(message(payment)).status_code == 200
    assert stands(order, payment) == KEPT
    assert figures(item) == (4, 0, 1, 1)
    assert {mail.kind for mail in order.mails.all()} == {Mail.Kind.EXPIRED, Mail.Kind.PAID}
    assert order.settled_at is not None


def test_units_that_others_have_by_now_are_not(product: Product, buyer: User, rival: User) -> None:
    item = make_item(product, quantity=1)
    order, payment = expired(item, buyer)
    lifecycle.pay(order_id=order_of(item, rival).pk)
    tell(message(payment))
    assert stands(order, payment) == GOES_BACK
    assert figures(item) == (0, 0, 1, 1)


def test_nor_are_units_beyond_the_buyers_limit(item: SaleItem, buyer: User) -> None:
    order, payment = expired(item, buyer)
    order_of(item, buyer)
    tell(message(payment))
    assert stands(order, payment) == GOES_BACK
    assert figures(item) == (4, 1, 0, 1)


def test_a_sale_may_rather_give_late_money_back(item: SaleItem, buyer: User) -> None:
    order, payment = expired(item, buyer)
    Sale.objects.update(late_payment=LatePayment.REFUND)
    tell(message(payment))
    assert stands(order, payment) == GOES_BACK
    assert figures(item) == (5, 0, 0, 0)


def test_postgresql_refuses_what_the_store_would_give(product: Product, buyer: User) -> None:
    """The store has a unit too many: it is taken there, refused by PostgreSQL, and given back there."""
    item = make_item(product, quantity=1)
    order, payment = expired(item, buyer)
    SaleItem.objects.filter(pk=item.pk).update(taken=1)
    tell(message(payment))
    assert stands(order, payment) == GOES_BACK
    assert figures(item) == (1, 0, 0, 1)


def test_late_money_waits_for_a_store_that_is_away(item: SaleItem, buyer: User, settings: LazySettings) -> None:
    order, payment = expired(item, buyer)
    healthy = store_away(settings)
    assert tell(message(payment)).status_code == 200
    assert stands(order, payment) == (OrderStatus.EXPIRED, Payment.Status.CAPTURED, "")
    assert late_money.settle_late_payment(order_id=order.pk) is late_money.LatePaymentOutcome.UNAVAILABLE
    settings.CACHES = healthy
    due_now()
    assert tasks.apply_waiting_events() == 1
    assert tasks.apply_waiting_events() == 0
    assert stands(order, payment) == KEPT
    assert figures(item) == (4, 0, 1, 1)


def test_money_does_not_wait_for_the_store_for_ever(item: SaleItem, buyer: User, store: Any) -> None:
    order, payment = expired(item, buyer)
    store.hset(f"seckill:{{{item.pk}}}:holds", str(order.reservation_id), "gibberish")
    store.hdel(f"seckill:{{{item.pk}}}:item", "held")
    tell(message(payment))
    for _ in range(late_money.ATTEMPTS_MAX):
        assert stands(order, payment)[0] == OrderStatus.EXPIRED
        due_now()
        if tasks.apply_waiting_events():
            break
    assert stands(order, payment) == GOES_BACK


def test_late_money_for_an_end_that_the_store_was_not_told(item: SaleItem, buyer: User, settings: LazySettings) -> None:
    """The hold still stands when the money comes; a sweep that is about to release it must not release what is sold."""
    order = order_of(item, buyer)
    payment = payment_of(order)
    let_deadlines_pass()
    healthy = store_away(settings)
    tasks.expire_overdue()
    stale = Order.objects.get()
    settings.CACHES = healthy
    tell(message(payment))
    assert stands(order, payment) == KEPT
    settlement.tell_ledger(item_id=item.pk, orders=[stale])
    assert figures(item) == (4, 0, 1, 1)


@pytest.mark.parametrize(
    "place", ["payments.before_commit", "payments.after_commit", "late_payment.after_restore", "lifecycle.after_commit"]
)
def test_whoever_dies_anywhere_leaves_it_to_the_next(item: SaleItem, buyer: User, place: str) -> None:
    order, payment = expired(item, buyer)
    said = message(payment)

    def die(name: str) -> None:
        if name == place:
            raise Died

    with mock.patch("shop.failpoints.reach", die), pytest.raises(Died):
        tell(said)
    # The provider repeats until it is answered, and the sweeps come by; in any order, and more than once.
    for _ in range(2):
        tell(said)
        due_now()
        tasks.apply_waiting_events()
        tasks.settle_orders()
    assert stands(order, payment) == KEPT
    assert figures(item) == (4, 0, 1, 1)


def test_a_refund_decided_after_a_crash_gives_the_units_back_that_were_taken_again(item: SaleItem, buyer: User) -> None:
    order, payment = expired(item, buyer)

    def die(name: str) -> None:
        if name == "late_payment.after_restore":
            raise Died

    with mock.patch("shop.failpoints.reach", die), pytest.raises(Died):
        tell(message(payment))
    assert figures(item) == (4, 0, 1, 0)
    Sale.objects.update(late_payment=LatePayment.REFUND)
    due_now()
    tasks.apply_waiting_events()
    assert stands(order, payment) == GOES_BACK
    assert figures(item) == (5, 0, 0, 0)


def test_money_that_the_provider_gives_back_after_a_crash_leaves_no_units_taken(item: SaleItem, buyer: User) -> None:
    """The units were taken again, nobody had written it down yet, and then somebody refunded the payment elsewhere."""
    order, payment = expired(item, buyer)

    def die(name: str) -> None:
        if name == "late_payment.after_restore":
            raise Died

    with mock.patch("shop.failpoints.reach", die), pytest.raises(Died):
        tell(message(payment))
    assert tell(message(payment, "refunded")).status_code == 200
    due_now()
    tasks.apply_waiting_events()
    tasks.settle_orders()
    assert stands(order, payment) == (OrderStatus.REFUNDED, Payment.Status.REFUNDED, "")
    assert figures(item) == (5, 0, 0, 0)


def test_a_second_late_payment_of_the_same_order_goes_back(item: SaleItem, buyer: User) -> None:
    order = order_of(item, buyer)
    first = payment_of(order)
    tell(message(first, "declined"))
    second = payment_of(order, key="second")
    let_deadlines_pass()
    tasks.expire_overdue()
    tell(message(first))
    tell(message(second))
    assert stands(order, first) == (OrderStatus.PAID, Payment.Status.CAPTURED, Attention.PAID_TWICE)
    second.refresh_from_db()
    assert second.status == Payment.Status.REFUND_DUE
    assert figures(item) == (4, 0, 1, 1)


def test_nothing_is_decided_twice(item: SaleItem, buyer: User) -> None:
    order, payment = expired(item, buyer)
    tell(message(payment))
    for _ in range(2):
        assert late_money.settle_late_payment(order_id=order.pk) is late_money.LatePaymentOutcome.NOTHING_TO_DECIDE
    assert figures(item) == (4, 0, 1, 1)
    assert order.payments.get().status == Payment.Status.CAPTURED
    assert EventOutcome.LATE.value == "late"


def test_with_the_holds_lost_the_money_waits_until_the_store_was_compared(
    item: SaleItem, buyer: User, store: Any
) -> None:
    order, payment = expired(item, buyer)
    store.hdel(f"seckill:{{{item.pk}}}:holds", str(order.reservation_id))
    tell(message(payment))
    assert stands(order, payment) == (OrderStatus.EXPIRED, Payment.Status.CAPTURED, "")
    assert tasks.watch_store() == 1
    due_now()
    assert late_money.settle_waiting() == 1
    assert stands(order, payment) == KEPT
    hold = ledger.find_hold(item_id=item.pk, reservation_id=order.reservation_id)  # type: ignore[arg-type]
    assert hold is not None
    assert hold.state == "sold"


def due_now() -> None:
    """The time to wait between attempts is over."""
    Payment.objects.exclude(next_attempt_at=None).update(next_attempt_at="2000-01-01T00:00Z")
