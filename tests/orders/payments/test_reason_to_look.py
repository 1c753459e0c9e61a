"""An order has one reason to look at it: what a person must do is not overwritten, and comes back after a failure."""

from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client

from orders import tasks
from orders.life import lifecycle
from orders.models import Attention, Order, OrderStatus, Payment, PaymentEvent, Refund
from orders.payments import inbox, refunds
from orders.payments.provider.interface import ProviderRefused, ProviderUnreachable, RefundAnswer, RefundReply
from orders.payments.simulated.adapter import SimulatedProvider
from seckill.models import SaleItem
from tests.steps.buying import let_deadlines_pass, order_of
from tests.steps.guarding import guarded_by
from tests.steps.paying import make_due, message, payment_of, refund_part, send_webhook
from tests.steps.staff import LOOK_AT, ORDERS, mark_resolved

pytestmark = pytest.mark.django_db(transaction=True)

AWAY = ProviderUnreachable("away")
REFUSED = ProviderRefused("disputed")
PENDING = RefundReply(RefundAnswer.UNDER_WAY, "re_1")
DONE = RefundReply(RefundAnswer.DONE, "re_1")


def reason_of(order: Order) -> str:
    return Order.objects.values_list("attention", flat=True).get(pk=order.pk)


def ask_provider(answer: Any, times: int = 1) -> None:
    """The provider is asked for all refunds that are due, each time with this answer."""
    with mock.patch.object(SimulatedProvider, "refund", side_effect=[answer] * 50):
        for _ in range(times):
            make_due(Refund)
            tasks.move_refunds()


def fail_for_long(error: Exception) -> None:
    ask_provider(error, times=refunds.ATTEMPTS_BEFORE_ATTENTION)


@pytest.fixture
def paid(order: Order, payment: Payment) -> Order:
    send_webhook(message(payment))
    return order


@pytest.fixture
def paid_with_second_page(order: Order, payment: Payment) -> tuple[Order, Payment]:
    """The page that was opened second is superseded by the payment on the first."""
    send_webhook(message(payment, "declined"))
    second = payment_of(order, key="second")
    send_webhook(message(payment))
    return order, second


def test_a_second_payment_is_told_of_once_the_failing_refund_is_done(
    paid_with_second_page: tuple[Order, Payment],
) -> None:
    # Given a part that fails
    order, second = paid_with_second_page
    part = refund_part(order, 700)
    fail_for_long(AWAY)
    # When the buyer has paid twice, and the second payment goes back
    send_webhook(message(second))
    assert reason_of(order) == Attention.REFUND_FAILS
    refunds.finish(refund_id=second.refunds.get().pk)
    assert Payment.objects.get(pk=second.pk).status == Payment.Status.REFUNDED
    # Then the part is still to do
    assert reason_of(order) == Attention.REFUND_FAILS
    refunds.finish(refund_id=part.pk)
    assert reason_of(order) == Attention.PAID_TWICE


def test_a_refund_that_was_slow_leaves_one_that_failed_on_the_list(paid: Order) -> None:
    """Each question about a refund that the provider has accepted is an attempt too."""
    refund_part(paid, 700)
    fail_for_long(REFUSED)
    slow = refund_part(paid, 300)
    ask_provider(PENDING, times=refunds.ATTEMPTS_BEFORE_ATTENTION)
    assert refunds.finish(refund_id=slow.pk)
    assert reason_of(paid) == Attention.REFUND_FAILS


def test_of_two_refunds_that_fail_the_last_one_that_is_done_ends_the_reason(paid: Order) -> None:
    parts = [refund_part(paid, amount_minor) for amount_minor in (700, 300)]
    fail_for_long(AWAY)
    reasons = []
    for part in parts:
        refunds.finish(refund_id=part.pk)
        reasons.append(reason_of(paid))
    assert reasons == [Attention.REFUND_FAILS, ""]


def test_a_failed_refund_is_not_to_do_once_all_of_the_money_went_back(paid: Order) -> None:
    refund_part(paid, 700)
    fail_for_long(REFUSED)
    assert lifecycle.refund(order_id=paid.pk, units_back=True)
    fail_for_long(AWAY)
    ask_provider(DONE)
    paid.refresh_from_db()
    assert (paid.status, paid.attention) == (OrderStatus.REFUNDED, "")


def test_staff_are_not_sent_to_the_providers_site_while_the_shop_asks_for_a_part(
    paid: Order, as_manager: Client
) -> None:
    """Otherwise the buyer would be paid twice: the shop takes what was refunded there for its own refund."""
    elsewhere, asks = "refund it on the provider&#x27;s own site.", "Do not refund it on the provider&#x27;s own site"
    refund_part(paid, 700)
    for error, said, not_said in ((AWAY, asks, elsewhere), (REFUSED, elsewhere, asks)):
        fail_for_long(error)
        for page in (LOOK_AT, f"{ORDERS}{paid.pk}/change/"):
            text = as_manager.get(page).content.decode()
            assert (said in text, not_said in text) == (True, False), page


def test_a_wrong_amount_is_still_to_do_after_its_refund_failed_for_a_while(order: Order, payment: Payment) -> None:
    send_webhook(message(payment, amount_minor=1))
    fail_for_long(AWAY)
    assert reason_of(order) == Attention.REFUND_FAILS
    # Also if the right amount comes meanwhile
    send_webhook(message(payment_of(order, key="again")))
    ask_provider(DONE)
    assert reason_of(order) == Attention.AMOUNT_DIFFERS


def test_a_late_payment_that_is_kept_leaves_a_wrong_amount_to_do(order: Order, payment: Payment) -> None:
    send_webhook(message(payment, amount_minor=1))
    late = payment_of(order, key="late")
    let_deadlines_pass()
    tasks.expire_overdue()
    send_webhook(message(late))
    order.refresh_from_db()
    assert (order.status, order.attention) == (OrderStatus.PAID, Attention.AMOUNT_DIFFERS)


def test_a_buyer_still_reads_why_a_second_purchase_is_refunded_after_its_refund_failed_for_a_while(
    item: SaleItem, buyer: User, rival: User, client: Client
) -> None:
    guarded_by(item, one_per_card=True)
    send_webhook(message(payment_of(order_of(item, buyer)), card="card_1"))
    second = order_of(item, rival)
    send_webhook(message(payment_of(second), card="card_1"))
    fail_for_long(AWAY)
    ask_provider(DONE)
    assert reason_of(second) == Attention.ONE_EACH
    client.force_login(rival)
    page = client.get(second.get_absolute_url()).content.decode()
    assert "one purchase for each payment card, and yours has had its own." in page


@pytest.mark.parametrize("is_kept", [True, False])
def test_the_reason_of_a_late_payment_comes_back_after_a_refund_failed(
    order: Order, payment: Payment, is_kept: bool
) -> None:
    if is_kept:
        let_deadlines_pass()
        tasks.expire_overdue()
    else:
        lifecycle.end_unpaid(order_ids=[order.pk], status=OrderStatus.CANCELLED)
    send_webhook(message(payment))
    before = reason_of(order)
    if is_kept:
        refund_part(order, 700)
    fail_for_long(AWAY)
    assert reason_of(order) == Attention.REFUND_FAILS
    ask_provider(DONE)
    expected = Attention.LATE_PAYMENT_KEPT if is_kept else Attention.LATE_PAYMENT_REFUNDED
    assert before == reason_of(order) == expected


def test_a_refund_without_a_payment_is_to_do_on_an_order_that_was_paid_twice(
    paid_with_second_page: tuple[Order, Payment],
) -> None:
    """And until the capture of that payment comes."""
    order, second = paid_with_second_page
    Order.objects.update(attention=Attention.PAID_TWICE)
    send_webhook(message(second, "refunded"))
    PaymentEvent.objects.filter(applied_at=None).update(received_at=F("received_at") - inbox.GIVEN_UP_AFTER)
    tasks.apply_waiting_events()
    assert reason_of(order) == Attention.REFUND_WITHOUT_PAYMENT
    send_webhook(message(second))
    assert reason_of(order) == Attention.PAID_TWICE
    assert tasks.apply_waiting_events() == 1


# --- what staff have resolved ---


def fail_for_a_while() -> None:
    fail_for_long(AWAY)
    ask_provider(DONE)


def test_a_wrong_amount_that_staff_have_resolved_does_not_come_back_after_a_refund_failed(
    order: Order, payment: Payment, as_manager: Client
) -> None:
    send_webhook(message(payment, amount_minor=1))
    mark_resolved(as_manager, order)
    fail_for_long(AWAY)
    assert reason_of(order) == Attention.REFUND_FAILS
    ask_provider(DONE)
    assert reason_of(order) == ""
    # Another wrong amount is new
    send_webhook(message(payment_of(order, key="again"), amount_minor=2))
    assert reason_of(order) == Attention.AMOUNT_DIFFERS
    fail_for_a_while()
    assert reason_of(order) == Attention.AMOUNT_DIFFERS


def test_a_second_payment_that_staff_have_read_of_is_not_told_of_again(
    paid_with_second_page: tuple[Order, Payment], as_manager: Client
) -> None:
    order, second = paid_with_second_page
    send_webhook(message(second))
    mark_resolved(as_manager, order)
    fail_for_a_while()
    assert reason_of(order) == ""


def test_a_refund_whose_failing_staff_have_resolved_is_listed_again_only_if_it_fails_for_good_or_another_does(
    paid: Order, as_manager: Client
) -> None:
    refund_part(paid, 700)
    fail_for_long(AWAY)
    mark_resolved(as_manager, paid)
    ask_provider(AWAY)
    assert reason_of(paid) == ""
    ask_provider(REFUSED)
    assert reason_of(paid) == Attention.REFUND_FAILS
    mark_resolved(as_manager, paid)
    # Another one that fails is to do alone.
    part = refund_part(paid, 300)
    fail_for_long(AWAY)
    assert reason_of(paid) == Attention.REFUND_FAILS
    refunds.finish(refund_id=part.pk)
    assert reason_of(paid) == ""


def test_a_refund_of_all_whose_failing_staff_have_resolved_is_listed_again_once_it_is_reported(
    paid: Order, as_manager: Client
) -> None:
    lifecycle.refund(order_id=paid.pk, units_back=True)
    fail_for_long(AWAY)
    mark_resolved(as_manager, paid)
    ask_provider(REFUSED)
    assert reason_of(paid) == ""
    refund = paid.refunds.select_related("payment").get()
    assert refund.payment is not None
    send_webhook(message(refund.payment, "refund_failed", refund=str(refund.pk)))
    assert reason_of(paid) == Attention.REFUND_FAILS


def test_a_wrong_amount_is_to_do_once_staff_have_resolved_the_refund_that_fails(
    order: Order, payment: Payment, as_manager: Client
) -> None:
    send_webhook(message(payment, amount_minor=1))
    fail_for_long(AWAY)
    # Pressed twice: of a page that shows the first reason alone
    press = {"action": "mark_resolved", "_selected_action": [order.pk], f"seen-{order.pk}": Attention.REFUND_FAILS}
    page = as_manager.get(LOOK_AT).text
    assert f"<input type=hidden name=seen-{order.pk} value={Attention.REFUND_FAILS}>" in page
    for _ in range(2):
        as_manager.post(LOOK_AT, press)
        assert reason_of(order) == Attention.AMOUNT_DIFFERS
    mark_resolved(as_manager, order)
    assert reason_of(order) == ""


def test_a_refund_without_a_payment_that_staff_have_resolved_does_not_come_back_with_another_payment(
    paid_with_second_page: tuple[Order, Payment], as_manager: Client
) -> None:
    # Given a refund of a second payment that was never reported
    order, second = paid_with_second_page
    send_webhook(message(second, "refunded"))
    give_up_waiting()
    mark_resolved(as_manager, order)
    # When a refund of the first fails for a while
    refund_part(order, 700)
    fail_for_a_while()
    assert reason_of(order) == ""
    # Then only another report lists it
    send_webhook(message(second, "refunded"))
    give_up_waiting()
    assert reason_of(order) == Attention.REFUND_WITHOUT_PAYMENT


def give_up_waiting() -> None:
    PaymentEvent.objects.filter(applied_at=None).update(received_at=F("received_at") - inbox.GIVEN_UP_AFTER)
    assert tasks.apply_waiting_events() == 1
