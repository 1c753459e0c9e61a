"""Late payments for expired orders: units taken again or payment refunded, never both, after any crash."""

from threading import Event
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User

from orders import tasks
from orders.account import deletion
from orders.account.deletion import delete_account, remove_belongings
from orders.cart.cart_holder import Holder
from orders.checkout.placement import place_order
from orders.life import lifecycle, settlement
from orders.models import Attention, Mail, Order, OrderStatus, Payment
from orders.payments import late_money
from seckill.items import holdings
from seckill.models import LatePayment, Sale, SaleItem
from shop.models import Product
from tests.processes import wait_until
from tests.steps.at_once import at_once
from tests.steps.buying import fill, let_deadlines_pass, order_of, wish_of, with_address
from tests.steps.crash import killed_at
from tests.steps.operating import waiting_for_locks
from tests.steps.paying import make_due, message, payment_of, send_webhook
from tests.steps.shop import goods, make_item, units_in
from tests.steps.store import figures, store_away

pytestmark = pytest.mark.django_db(transaction=True)


def expired(item: SaleItem, buyer: User, units: int = 1) -> tuple[Order, Payment]:
    """An order that expired while its payment page was open."""
    order = order_of(item, buyer, units)
    payment = payment_of(order)
    let_deadlines_pass()
    assert tasks.expire_overdue() == 1
    return order, payment


def statuses_of(order: Order, payment: Payment) -> tuple[str, str, str]:
    order.refresh_from_db()
    payment.refresh_from_db()
    return order.status, payment.status, order.attention


KEPT = (OrderStatus.PAID, Payment.Status.CAPTURED, Attention.LATE_PAYMENT_KEPT)
GOES_BACK = (OrderStatus.REFUND_DUE, Payment.Status.REFUND_DUE, Attention.LATE_PAYMENT_REFUNDED)


def test_units_that_are_left_are_taken_again(item: SaleItem, buyer: User) -> None:
    with_address(buyer)
    order, payment = expired(item, buyer)
    assert figures(item) == (5, 0, 0, 0)
    assert send_webhook(message(payment)).status_code == 200
    assert statuses_of(order, payment) == KEPT
    assert figures(item) == (4, 0, 1, 1)
    assert {mail.kind for mail in order.mails.all()} == {Mail.Kind.EXPIRED, Mail.Kind.PAID}
    assert order.settled_at is not None
    # Nothing is decided twice.
    for _ in range(2):
        assert late_money.settle_late_payment(order_id=order.pk) is late_money.LatePaymentOutcome.NOTHING_TO_DECIDE
    assert statuses_of(order, payment) == KEPT
    assert figures(item) == (4, 0, 1, 1)


def test_units_are_not_taken_again_beyond_the_buyers_limit_of_others_or_if_the_sale_refunds(
    product: Product, buyer: User, rival: User, stranger: User
) -> None:
    # Given three orders that have expired, of three buyers who may have one unit each
    item = make_item(product, quantity=2)
    payments = [payment_of(order_of(item, each)) for each in (buyer, rival)]
    let_deadlines_pass()
    assert tasks.expire_overdue() == 2
    payments.append(expired(item, stranger)[1])

    def pay_late(payment: Payment) -> None:
        send_webhook(message(payment))
        assert statuses_of(payment.order, payment) == GOES_BACK

    # When the first has another unit by now
    order_of(item, buyer)
    pay_late(payments[0])
    assert figures(item) == (1, 1, 0, 1)
    # Or the sale refunds all late payments
    Sale.objects.update(late_payment=LatePayment.REFUND)
    pay_late(payments[1])
    assert figures(item) == (1, 1, 0, 1)
    # Or somebody else has the last unit
    Sale.objects.update(late_payment=LatePayment.TAKE_AGAIN)
    lifecycle.pay(order_id=order_of(item, rival).pk)
    pay_late(payments[2])
    assert figures(item) == (0, 1, 1, 2)


def test_an_account_that_is_blocked_buys_no_ordinary_units_either(buyer: User) -> None:
    variant = goods("cup", units=10)
    order = place_order(wish_of(fill(Holder(buyer_id=buyer.pk), cup=2))).order
    assert order is not None
    payment = payment_of(order)
    let_deadlines_pass()
    tasks.expire_overdue()
    User.objects.filter(pk=buyer.pk).update(is_active=False)
    send_webhook(message(payment))
    assert statuses_of(order, payment) == GOES_BACK
    assert units_in(variant) == (10, 0, 0)


def test_a_payment_that_arrives_while_its_account_is_deleted_goes_back(
    item: SaleItem, buyer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a deletion that has found no open order, and has not committed yet
    order, payment = expired(item, buyer)
    said, has_looked, answered = message(payment), Event(), Event()

    def pay_meanwhile(user: User) -> None:
        has_looked.set()
        wait_until(lambda: answered.is_set() or waiting_for_locks() > 0, seconds_max=30)
        remove_belongings(user)

    monkeypatch.setattr(deletion, "remove_belongings", pay_meanwhile)

    def report() -> None:
        assert has_looked.wait(timeout=30)
        assert send_webhook(said).status_code == 200
        answered.set()

    # When the payment arrives
    at_once([lambda: delete_account(buyer.pk), report])
    # Then no paid order is left to an account that is gone
    assert statuses_of(order, payment) == GOES_BACK
    assert figures(item) == (5, 0, 0, 0)


def test_postgresql_can_refuse_units_that_the_store_gives(product: Product, buyer: User) -> None:
    """The store has one unit too many. It is restored there, refused by PostgreSQL, and released again."""
    item = make_item(product, quantity=1)
    order, payment = expired(item, buyer)
    SaleItem.objects.filter(pk=item.pk).update(taken=1)
    send_webhook(message(payment))
    assert statuses_of(order, payment) == GOES_BACK
    assert figures(item) == (1, 0, 0, 1)


def test_a_late_payment_waits_for_an_unreachable_store(item: SaleItem, buyer: User, settings: LazySettings) -> None:
    order, payment = expired(item, buyer)
    healthy = store_away(settings)
    assert send_webhook(message(payment)).status_code == 200
    assert statuses_of(order, payment) == (OrderStatus.EXPIRED, Payment.Status.CAPTURED, "")
    assert late_money.settle_late_payment(order_id=order.pk) is late_money.LatePaymentOutcome.UNAVAILABLE
    settings.CACHES = healthy
    make_due(Payment)
    assert tasks.apply_waiting_events() == 1
    assert tasks.apply_waiting_events() == 0
    assert statuses_of(order, payment) == KEPT
    assert figures(item) == (4, 0, 1, 1)


@pytest.fixture
def undecided(item: SaleItem, buyer: User) -> tuple[Order, Payment]:
    """A late payment of 19.00 that is not decided yet, of which 3.00 were refunded on the provider's site."""
    order, payment = expired(item, buyer)
    with killed_at("payments.after_commit"):
        send_webhook(message(payment))
    send_webhook(message(payment, "refunded_so_far", amount_minor=300))
    assert statuses_of(order, payment) == (OrderStatus.EXPIRED, Payment.Status.CAPTURED, "")
    make_due(Payment)
    return order, payment


def documents_of(order: Order) -> list[tuple[str, int]]:
    tasks.write_invoices()
    return list(order.documents.order_by("pk").values_list("kind", "total_minor"))


def test_an_order_whose_late_payment_goes_back_in_parts_has_no_invoice(undecided: tuple[Order, Payment]) -> None:
    # Given a shop that refunds late payments
    Sale.objects.update(late_payment=LatePayment.REFUND)
    # When it decides about the rest, which is then refunded
    assert tasks.apply_waiting_events() == 1
    assert statuses_of(*undecided) == GOES_BACK
    order, payment = undecided
    send_webhook(message(payment, "refunded"))
    # Then nothing was sold
    assert statuses_of(order, payment)[:2] == (OrderStatus.REFUNDED, Payment.Status.REFUNDED)
    assert sorted(order.refunds.values_list("amount_minor", "is_surplus")) == [(300, True), (1600, True)]
    assert (order.refunded_minor, documents_of(order)) == (0, [])


@pytest.mark.parametrize("kind", ["refunded", "refunded_so_far"])
def test_an_order_whose_late_payment_was_refunded_in_parts_on_the_providers_site_has_no_invoice(
    undecided: tuple[Order, Payment], kind: str
) -> None:
    order, payment = undecided
    send_webhook(message(payment, kind))
    assert statuses_of(order, payment)[:2] == (OrderStatus.REFUNDED, Payment.Status.REFUNDED)
    assert (order.refunded_minor, documents_of(order)) == (0, [])


def test_an_order_that_keeps_its_late_payment_has_a_credit_note_for_the_part_that_went_back(
    undecided: tuple[Order, Payment],
) -> None:
    assert tasks.apply_waiting_events() == 1
    assert statuses_of(*undecided) == KEPT
    order, _payment = undecided
    assert (order.refunded_minor, documents_of(order)) == (300, [("invoice", 1900), ("credit_note", 300)])


def test_a_late_payment_is_refunded_after_too_many_attempts(
    item: SaleItem, buyer: User, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_money, "ATTEMPTS_MAX", 3)
    order, payment = expired(item, buyer)
    store.hset(f"seckill:{{{item.pk}}}:holds", str(order.reservation_id), "gibberish")
    store.hdel(f"seckill:{{{item.pk}}}:item", "held")
    send_webhook(message(payment))
    for decided in (0, 1):
        assert statuses_of(order, payment)[0] == OrderStatus.EXPIRED
        make_due(Payment)
        assert tasks.apply_waiting_events() == decided
    assert statuses_of(order, payment) == GOES_BACK


def test_a_late_payment_for_an_expiry_that_was_not_settled(
    order: Order, payment: Payment, item: SaleItem, settings: LazySettings
) -> None:
    """The hold is still there when the payment arrives; a sweep about to release it must not release sold units."""
    let_deadlines_pass()
    healthy = store_away(settings)
    tasks.expire_overdue()
    stale = Order.objects.get()
    settings.CACHES = healthy
    send_webhook(message(payment))
    assert statuses_of(order, payment) == KEPT
    settlement.tell_ledger(item_id=item.pk, orders=[stale])
    assert figures(item) == (4, 0, 1, 1)


@pytest.mark.parametrize(
    "place", ["payments.before_commit", "payments.after_commit", "late_payment.after_restore", "lifecycle.after_commit"]
)
def test_after_a_crash_anywhere_the_next_process_finishes(item: SaleItem, buyer: User, place: str) -> None:
    order, payment = expired(item, buyer)
    said = message(payment)
    with killed_at(place):
        send_webhook(said)
    # The provider repeats until it is answered, and the sweeps run; in any order, and more than once.
    for _ in range(2):
        send_webhook(said)
        make_due(Payment)
        tasks.apply_waiting_events()
        tasks.settle_orders()
    assert statuses_of(order, payment) == KEPT
    assert figures(item) == (4, 0, 1, 1)


def test_a_refund_decided_after_a_crash_gives_the_units_back_that_were_taken_again(item: SaleItem, buyer: User) -> None:
    order, payment = expired(item, buyer)
    with killed_at("late_payment.after_restore"):
        send_webhook(message(payment))
    assert figures(item) == (4, 0, 1, 0)
    Sale.objects.update(late_payment=LatePayment.REFUND)
    make_due(Payment)
    tasks.apply_waiting_events()
    assert statuses_of(order, payment) == GOES_BACK
    assert figures(item) == (5, 0, 0, 0)


def test_money_that_the_provider_gives_back_after_a_crash_leaves_no_units_taken(item: SaleItem, buyer: User) -> None:
    """The hold was restored, the transaction was lost, and then somebody refunded on the provider's site."""
    order, payment = expired(item, buyer)
    with killed_at("late_payment.after_restore"):
        send_webhook(message(payment))
    assert send_webhook(message(payment, "refunded")).status_code == 200
    make_due(Payment)
    tasks.apply_waiting_events()
    tasks.settle_orders()
    assert statuses_of(order, payment) == (OrderStatus.REFUNDED, Payment.Status.REFUNDED, "")
    assert figures(item) == (5, 0, 0, 0)


def test_a_second_late_payment_of_the_same_order_is_refunded(order: Order, item: SaleItem) -> None:
    first = payment_of(order)
    send_webhook(message(first, "declined"))
    second = payment_of(order, key="second")
    let_deadlines_pass()
    tasks.expire_overdue()
    send_webhook(message(first))
    send_webhook(message(second))
    assert statuses_of(order, first) == (OrderStatus.PAID, Payment.Status.CAPTURED, Attention.PAID_TWICE)
    second.refresh_from_db()
    assert second.status == Payment.Status.REFUND_DUE
    assert figures(item) == (4, 0, 1, 1)


def test_a_wrong_amount_that_goes_back_after_the_expiry_leaves_a_late_payment_its_units(
    order: Order, item: SaleItem
) -> None:
    # Given an order that has not taken a payment, and was not paid until its deadline
    wrong = payment_of(order)
    send_webhook(message(wrong, amount_minor=1))
    right = payment_of(order, key="right")
    let_deadlines_pass()
    tasks.expire_overdue()
    # When the payment is back
    send_webhook(message(wrong, "refunded"))
    # Then the order is still one that has expired, and can take a late payment
    assert statuses_of(order, wrong)[:2] == (OrderStatus.EXPIRED, Payment.Status.REFUNDED)
    send_webhook(message(right))
    assert statuses_of(order, right)[:2] == KEPT[:2]
    assert figures(item) == (4, 0, 1, 1)


def test_a_late_payment_at_which_something_raises_keeps_no_other_waiting(
    item: SaleItem, buyer: User, rival: User, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given two late payments that wait for the store, of which the first raises when it is decided
    late = [expired(item, each) for each in (buyer, rival)]
    healthy = store_away(settings)
    for _order, payment in late:
        send_webhook(message(payment))
    settings.CACHES = healthy
    make_due(Payment)
    reclaim_units = late_money.reclaim_units

    def reclaim_all_but_the_first(*, order: Order) -> late_money.LatePaymentOutcome:
        if order == late[0][0]:
            raise ValueError("an order that breaks it")
        return reclaim_units(order=order)

    with monkeypatch.context() as broken:
        broken.setattr(late_money, "reclaim_units", reclaim_all_but_the_first)
        # Then the other is decided
        assert late_money.settle_waiting() == 1
    assert statuses_of(*late[1]) == KEPT
    # And the first is tried again later
    assert (late_money.settle_waiting(), statuses_of(*late[0])[0]) == (0, OrderStatus.EXPIRED)
    make_due(Payment)
    assert late_money.settle_waiting() == 1
    assert statuses_of(*late[0]) == KEPT


def test_with_the_holds_lost_a_late_payment_waits_for_the_reconcile(item: SaleItem, buyer: User, store: Any) -> None:
    order, payment = expired(item, buyer)
    store.hdel(f"seckill:{{{item.pk}}}:holds", str(order.reservation_id))
    send_webhook(message(payment))
    assert statuses_of(order, payment) == (OrderStatus.EXPIRED, Payment.Status.CAPTURED, "")
    assert tasks.watch_store() == 1
    make_due(Payment)
    assert late_money.settle_waiting() == 1
    assert statuses_of(order, payment) == KEPT
    hold = holdings.find_hold(item_id=item.pk, reservation_id=order.reservation_id)  # type: ignore[arg-type]
    assert hold is not None
    assert hold.state == "sold"
