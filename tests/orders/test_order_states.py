"""The page of an order in each of its states: nothing on it belongs to another state."""

import re
from datetime import timedelta
from html import unescape
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.test import Client
from django.utils import timezone

from orders.models import Attention, Order, OrderStatus, Payment, Refund
from seckill.models import SaleItem
from shop.languages.page_language import path_in
from tests.steps.buying import make_orders
from tests.steps.paying import payment_row
from tests.steps.shop import text_of

pytestmark = pytest.mark.django_db

# How each status is explained, and the one time that matters then.
EXPLAINED = {
    OrderStatus.AWAITING_PAYMENT: ("Reserved for you until the countdown ends", "To be paid by"),
    OrderStatus.PAID: ("We have received your payment. Thank you!", "Paid on"),
    OrderStatus.SHIPPED: ("on its way to you", "Paid on"),
    OrderStatus.COMPLETED: ("Your order is complete.", "Paid on"),
    OrderStatus.EXPIRED: ("The payment deadline has passed", "Payment deadline"),
    OrderStatus.CANCELLED: ("This order was cancelled", "Cancelled on"),
    OrderStatus.REJECTED: ("We are sorry", None),
    OrderStatus.REFUND_DUE: ("We will refund you in full", None),
    OrderStatus.REFUNDED: ("We have refunded you.", None),
}
PART = "We have refunded part of your payment."
PART_DUE = "We are refunding part of your payment"
REFUNDED = "We have refunded you."
TOO_LATE = "Your payment arrived after the order had ended."


@pytest.fixture
def order(client: Client, buyer: User, item: SaleItem) -> Order:
    (made,) = make_orders(1, buyer=buyer, item=item)
    client.force_login(buyer)
    return made


def words_on(client: Client, order: Order) -> str:
    page = client.get(order.get_absolute_url()).content.decode()
    main = page[page.index("<main") : page.index("</main>")]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", main)).split())


def put(order: Order, status: OrderStatus, **fields: object) -> None:
    ended_at = None if status == OrderStatus.AWAITING_PAYMENT else timezone.now()
    Order.objects.filter(pk=order.pk).update(status=status, ended_at=ended_at, **fields)


def refund(order: Order, minor: int, status: Refund.Status) -> None:
    Order.objects.filter(pk=order.pk).update(refunded_minor=minor)
    Refund.objects.create(pk=uuid4(), order=order, amount_minor=minor, status=status)


def test_each_state_is_explained_and_has_its_own_time(client: Client, order: Order) -> None:
    times = {time for _words, time in EXPLAINED.values() if time}
    for status in OrderStatus:
        put(order, status)
        explained, its_time = EXPLAINED[status]
        words = words_on(client, order)
        assert explained in words, status
        assert {time for time in times if time in words} == {its_time} - {None}, status
        assert ("Show the invoice" in words) == (its_time == "Paid on")
    assert "款项已退还" in text_of(client, path_in("zh-hans", order.get_absolute_url()))


def test_a_refund_of_a_part_is_said_beside_the_status(client: Client, order: Order) -> None:
    put(order, OrderStatus.SHIPPED)
    refund(order, 500, Refund.Status.DUE)
    words = words_on(client, order)
    assert PART_DUE in words
    assert "Being refunded −CN¥5.00" in words
    for status in (OrderStatus.PAID, OrderStatus.COMPLETED):
        put(order, status)
        assert PART_DUE in words_on(client, order), status
    # It is told when it is done.
    assert "hx-trigger" in client.get(order.get_absolute_url()).content.decode()
    Refund.objects.update(status=Refund.Status.REFUNDED, ended_at=timezone.now())
    words = words_on(client, order)
    assert PART in words
    assert "Refunded −CN¥5.00" in words
    assert "hx-trigger" not in client.get(order.get_absolute_url()).content.decode()
    Refund.objects.update(status=Refund.Status.FAILED)
    assert "refund" not in words_on(client, order).lower()
    # All of it is not called a part.
    put(order, OrderStatus.REFUNDED)
    refund(order, 1900, Refund.Status.REFUNDED)
    words = words_on(client, order)
    assert REFUNDED in words
    assert PART not in words
    assert TOO_LATE not in words


def test_only_money_that_was_not_kept_is_called_too_late(client: Client, order: Order) -> None:
    # Given one whose money came after its end, and goes back
    put(order, OrderStatus.REFUND_DUE, attention=Attention.LATE_PAYMENT_REFUNDED)
    assert TOO_LATE in words_on(client, order)
    # And one whose late money was kept, before staff refunded it
    put(order, OrderStatus.PAID, attention=Attention.LATE_PAYMENT_KEPT)
    assert "units were still left, so your order stands" in words_on(client, order)
    put(order, OrderStatus.REFUND_DUE)
    refund(order, 1900, Refund.Status.DUE)
    words = words_on(client, order)
    assert TOO_LATE not in words
    assert "We will refund you in full" in words


def test_a_payment_that_was_not_taken_is_said_to_be_refunded_once_it_is(client: Client, order: Order) -> None:
    put(order, OrderStatus.EXPIRED, expires_at=timezone.now() - timedelta(hours=1))
    assert "Nothing was charged." in words_on(client, order)
    payment_row(order, captured_at=timezone.now())
    in_full = "We will refund your payment in full."
    differs = f"The amount paid was not the amount due. {in_full}"
    for attention, status, goes_back in (
        (Attention.AMOUNT_DIFFERS, OrderStatus.EXPIRED, differs),
        (Attention.AMOUNT_DIFFERS, OrderStatus.CANCELLED, differs),
        (Attention.ONE_EACH, OrderStatus.EXPIRED, in_full),
        (Attention.PAID_TWICE, OrderStatus.PAID, "We refund the second payment."),
        ("", OrderStatus.CANCELLED, in_full),
    ):
        Payment.objects.update(status=Payment.Status.REFUND_DUE)
        put(order, status, attention=attention)
        words = words_on(client, order)
        assert goes_back in words, attention
        assert "Nothing was charged" not in words, attention
        assert 'hx-trigger="every 10s' in client.get(order.get_absolute_url()).content.decode(), attention
        Payment.objects.update(status=Payment.Status.REFUNDED)
        words = words_on(client, order)
        assert goes_back not in words, attention
        assert ("It may take a few days to appear in your account." if attention else REFUNDED) in words, attention


def test_a_paid_order_does_not_say_of_a_payment_that_it_did_not_take_that_all_is_refunded(
    client: Client, order: Order
) -> None:
    payment_row(order, captured_at=timezone.now())
    for attention in (Attention.ONE_EACH, Attention.AMOUNT_DIFFERS):
        put(order, OrderStatus.PAID, attention=attention)
        for status, says in (
            (Payment.Status.REFUND_DUE, "We refund the payment that this order did not take."),
            (Payment.Status.REFUNDED, "We have refunded the payment that this order did not take."),
        ):
            Payment.objects.update(status=status)
            words = words_on(client, order)
            assert says in words, attention
            assert "in full" not in words, attention
            assert "yours has had its own" not in words, attention
            assert REFUNDED not in words, attention


# What an order that expired says in each case, and a cancelled one where that differs. Where its units went depends on
# the sale: it may be over or paused by now, and others may wait for them.
CONTACT = "If you have not got your money back, please contact us."
GOES_BACK = "We will refund your payment in full. You do not need to do anything."
REPORT_AWAITED = "The payment company says that you paid, but has not sent us its report yet."
PAGE_OPEN = "You had opened a payment page, and we do not know yet whether you paid there."
UPDATES = "This page updates automatically."
EITHER = f"{REPORT_AWAITED} You get either your order or a full refund. {UPDATES}"
EITHER_IF_PAID = f"{PAGE_OPEN} If you did, you get either your order or a full refund. {UPDATES}"
ONE_EACH = "This sale has one purchase for each delivery address and each payment card, and yours has had its own."
ENDED: list[tuple[set[str], str, str | None]] = [
    (set(), "Nothing was charged.", None),
    ({"unknown"}, EITHER_IF_PAID, f"{PAGE_OPEN} If you did, we will refund you in full. {UPDATES}"),
    ({"unknown", "unreported"}, EITHER, f"{REPORT_AWAITED} We will refund you in full. {UPDATES}"),
    ({"other_amount"}, f"The amount paid was not the amount due. {GOES_BACK}", None),
    ({"one_each", "charged"}, f"{ONE_EACH} {GOES_BACK}", None),
    ({"charged"}, GOES_BACK, None),
    ({"never_reported"}, f"The payment company said that you paid, but never reported it to us. {CONTACT}", None),
]


def test_what_an_order_that_ended_unpaid_says_depends_on_its_money_and_on_how_it_ended() -> None:
    for cases, expired, cancelled in ENDED:
        for status, ended, says in (
            (OrderStatus.EXPIRED, "The payment deadline has passed, and the units", expired),
            (OrderStatus.CANCELLED, "This order was cancelled, and its units", cancelled or expired),
        ):
            context = {"order": SimpleNamespace(status=status, payment_goes_back=True)}
            text = render_to_string("orders/_explanation.html", context | dict.fromkeys(cases, True))
            words = " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())
            assert words == f"{ended} are no longer held for you. {says}", (status, cases)


def test_a_second_payment_after_the_deadline_does_not_make_the_order_late(client: Client, order: Order) -> None:
    # Given money that staff recorded in time, and a payment page that was paid after the deadline
    put(order, OrderStatus.PAID, attention=Attention.PAID_TWICE, expires_at=timezone.now() - timedelta(hours=1))
    twice = payment_row(order, Payment.Status.REFUND_DUE, captured_at=timezone.now())
    Refund.objects.create(order=order, payment=twice, amount_minor=1900, is_surplus=True)
    words = words_on(client, order)
    assert "You paid twice." in words
    assert "so your order stands" not in words
    # And one that staff refund later was not paid too late
    put(order, OrderStatus.REFUND_DUE)
    refund(order, 1900, Refund.Status.DUE)
    assert TOO_LATE not in words_on(client, order)


def test_a_guest_is_told_what_the_link_can_do_now(client: Client, order: Order) -> None:
    Order.objects.update(buyer=None, email="guest@example.com")
    guests = Order.objects.get()
    for status, words in (
        (OrderStatus.AWAITING_PAYMENT, "can see, pay and cancel the order, and change its delivery address."),
        (OrderStatus.PAID, "can see the order and change its delivery address."),
        (OrderStatus.SHIPPED, "can see the order."),
    ):
        put(order, status)
        assert f"Anyone who has it {words}" in words_on(client, guests), status
        address_form = client.get(f"{guests.get_absolute_url()}address/")
        assert ("delivery address" in words) == (address_form.status_code == 200), status
