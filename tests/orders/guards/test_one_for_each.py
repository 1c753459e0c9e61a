"""One purchase of an item for each delivery address or payment card, where its sale asks for that."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.utils import timezone

from orders.account.deletion import delete_account
from orders.life import lifecycle
from orders.mails.message import message_of
from orders.models import Attention, Mail, Order, OrderStatus, Payment, RecordedPayment, Served, ShippingAddress
from orders.payments import refunds, sessions
from orders.payments.late_money import settle_waiting
from orders.payments.sessions import StartOutcome
from orders.payments.simulated.models import SimulatedMessage
from orders.shipping.order_address import store_address
from orders.units.one_for_each import address_text, forget_old
from seckill.live.answer_counts import answer_counts
from seckill.models import Sale, SaleItem
from shop.models import Product
from tests.processes import wait_until
from tests.steps.at_once import at_once, run_and_close
from tests.steps.buying import ADDRESS, let_deadlines_pass, new_buyers, order_of, signed_in, status_of, with_address
from tests.steps.guarding import guarded_by, replace_key
from tests.steps.operating import waiting_for_locks
from tests.steps.paying import make_due, message, payment_of, press_pay, send_webhook
from tests.steps.shop import make_item
from tests.steps.staff import ORDERS, messages_on, record_payment, sale_report

pytestmark = pytest.mark.django_db(transaction=True)

SAME_ADDRESS = {**ADDRESS, "line1": f" {ADDRESS['line1'].upper()}. ", "name": "Somebody Else"}


@pytest.fixture
def item(product: Product) -> SaleItem:
    return make_item(product, quantity=50)


def order_to(item: SaleItem, buyer: User, **changes: str) -> Order:
    order = order_of(item, buyer)
    ShippingAddress.objects.update_or_create(order=order, defaults={**ADDRESS, **changes})
    return order


def start(order: Order) -> StartOutcome:
    return sessions.start(order_id=order.pk, idempotency_key=str(uuid4())).outcome


def paid_with(order: Order, card: str = "") -> Any:
    return send_webhook(message(payment_of(order, str(uuid4())), card=card))


def test_one_address_is_one_however_it_is_written() -> None:
    assert address_text(ADDRESS) == address_text(SAME_ADDRESS)
    assert address_text({**ADDRESS, "line1": "１２ Ｒｏａｄ"}) == address_text({**ADDRESS, "line1": "12, road"})
    assert address_text(ADDRESS) != address_text({**ADDRESS, "line2": "Flat 2"})


def test_homes_whose_numbers_are_divided_elsewhere_are_two() -> None:
    for changes, others in (
        ({"line1": "阳光小区1-11-2"}, {"line1": "阳光小区11-1-2"}),
        ({"line1": "Road 1", "line2": "2"}, {"line1": "Road 12"}),
        ({"line1": "Road 1", "city": "", "postcode": "20005"}, {"line1": "Road 12", "city": "", "postcode": "0005"}),
    ):
        assert address_text(ADDRESS | changes) != address_text(ADDRESS | others), changes


def test_signs_between_two_numbers_unseen_signs_and_the_groups_of_a_postcode_do_not_count() -> None:
    (text,) = {
        address_text({**ADDRESS, "line1": line}) for line in ("Road 1-11", "Road 1, 11", "Road 1/11", "Road １＿11")
    }
    assert text == address_text({**ADDRESS, "line1": "Road 1", "line2": "11"})
    assert text == address_text({**ADDRESS, "line1": "Road 1-1\u200b1"})
    assert address_text({**ADDRESS, "postcode": "114 55"}) == address_text({**ADDRESS, "postcode": "11455"})


def test_the_second_order_to_an_address_is_refused_before_it_costs_anything(
    item: SaleItem, buyer: User, rival: User, client: Client
) -> None:
    guarded_by(item, one_per_address=True)
    first, second = order_to(item, buyer), order_to(item, rival, line1=SAME_ADDRESS["line1"])
    assert start(first) is StartOutcome.OPENED
    answer = press_pay(signed_in(rival), second.number)
    assert (answer.status_code, answer.json()["code"]) == (409, "address_taken")
    assert not second.payments.exists()
    answer_counts.write(second=int(timezone.now().timestamp()))
    assert sale_report(item).refused == {"one_per_address": 1}
    client.force_login(rival)
    page = client.post(f"/zh-hans/orders/{second.number}/pay/", follow=True).content.decode()
    assert "每个收货地址限购一次" in page
    # With another address it goes on.
    assert store_address(order_id=second.pk, values={**ADDRESS, "line1": "9 Other Road"})
    assert start(second) is StartOutcome.OPENED


def test_of_many_orders_to_one_address_at_once_one_can_be_paid(item: SaleItem) -> None:
    guarded_by(item, one_per_address=True)
    orders = [order_to(item, who) for who in new_buyers(5)]
    outcomes = at_once([partial(start, order) for order in orders])
    assert sorted(outcomes) == sorted([StartOutcome.OPENED] + [StartOutcome.ADDRESS_TAKEN] * 4)


def test_a_paid_order_cannot_be_sent_to_the_address_of_another(
    item: SaleItem, buyer: User, rival: User, as_manager: Client
) -> None:
    """Otherwise all would be paid with addresses that do not exist, and then be sent to one."""
    guarded_by(item, one_per_address=True)
    first, second = order_to(item, buyer), order_to(item, rival, line1="9 Other Road")
    paid_with(first)
    paid_with(second)
    assert not store_address(order_id=second.pk, values=ADDRESS)
    path = f"/api/v1/orders/{second.number}/shipping-address/"
    answer = signed_in(rival).put(path, ADDRESS).json()
    assert answer["code"] == "address_taken"
    assert "Nothing was charged" not in answer["detail"]
    # Staff read why, and the history tells of no change.
    page = as_manager.post(f"{ORDERS}{second.pk}/address/", ADDRESS)
    assert "another order goes to this one. The address was not changed." in page.content.decode()
    assert messages_on(page) == []
    assert not LogEntry.objects.filter(object_id=second.pk).exists()
    assert ShippingAddress.objects.get(order=second).line1 == "9 Other Road"
    # One's own can be corrected; the former one is free then.
    assert store_address(order_id=second.pk, values={**ADDRESS, "line1": "10 Other Road"})
    assert Served.objects.filter(order=second).count() == 1


def test_a_payment_that_staff_record_has_its_address_and_needs_one_that_is_free(
    item: SaleItem, buyer: User, rival: User, stranger: User, as_manager: Client
) -> None:
    guarded_by(item, one_per_address=True)
    first, second, third = order_to(item, buyer), order_to(item, rival), order_of(item, stranger)
    assert messages_on(record_payment(as_manager, first)) == ["1 order is now paid."]
    assert start(second) is StartOutcome.ADDRESS_TAKEN
    # A bank transfer for the second is not recorded, whether the form says so or staff were quicker than it.
    said = record_payment(as_manager, second).content.decode()
    assert "Another order of this sale goes to the same address, and each address has one purchase." in said
    assert not lifecycle.pay(order_id=second.pk)
    # Neither is one for an order that nobody knows where to send; it can be paid once it has an address.
    assert "Enter the delivery address first" in record_payment(as_manager, third).content.decode()
    assert not lifecycle.pay(order_id=third.pk)
    assert not RecordedPayment.objects.exclude(order=first).exists()
    for order, line in ((second, "9 Other Road"), (third, "10 Other Road")):
        assert store_address(order_id=order.pk, values={**ADDRESS, "line1": line})
        assert messages_on(record_payment(as_manager, order)) == ["1 order is now paid."]
    assert [status_of(order) for order in (first, second, third)] == [OrderStatus.PAID] * 3


def test_of_a_recorded_payment_and_a_payment_page_at_once_one_gets_the_address(
    item: SaleItem, buyer: User, rival: User
) -> None:
    guarded_by(item, one_per_address=True)
    first, second = order_to(item, buyer), order_to(item, rival)
    calls: list[Callable[[], object]] = [partial(lifecycle.pay, order_id=first.pk), partial(start, second)]
    is_paid, outcome = at_once(calls)
    assert (is_paid, outcome) in [(True, StartOutcome.ADDRESS_TAKEN), (False, StartOutcome.OPENED)]


def test_without_an_address_such_an_order_cannot_be_paid(item: SaleItem, buyer: User, settings: LazySettings) -> None:
    settings.SHIPPING_ADDRESS_REQUIRED = False
    guarded_by(item, one_per_address=True)
    order = order_of(item, buyer)
    assert press_pay(signed_in(buyer), order.number).json()["code"] == "address_needed"


def test_a_second_purchase_with_a_card_is_refunded_and_another_card_can_pay(
    item: SaleItem, buyer: User, rival: User, client: Client
) -> None:
    guarded_by(item, one_per_card=True)
    first, second = order_of(item, buyer), order_of(item, rival)
    paid_with(first, "card_1")
    paid_with(second, "card_1")
    assert [status_of(first), status_of(second)] == [OrderStatus.PAID, OrderStatus.AWAITING_PAYMENT]
    second.refresh_from_db()
    assert second.attention == Attention.ONE_EACH
    assert second.payments.get().status == Payment.Status.REFUND_DUE
    client.force_login(rival)
    page = client.get(second.get_absolute_url()).content.decode()
    assert "We will refund your payment in full." in page
    assert "one purchase for each payment card, and yours has had its own." in page
    assert "with another card" in page
    paid_with(second, "card_2")
    assert status_of(second) == OrderStatus.PAID
    assert "card_1" not in str(list(Served.objects.values())) + str(Payment.objects.values())


def test_a_buyer_whose_payment_was_refunded_hears_so_and_never_that_nothing_was_charged(
    item: SaleItem, buyer: User, rival: User, client: Client
) -> None:
    # Given an order whose payment came with a card that had its purchase, and went back
    guarded_by(item, one_per_card=True)
    with_address(rival)
    paid_with(order_of(item, buyer), "card_1")
    second = order_of(item, rival)
    paid_with(second, "card_1")
    assert refunds.finish(refund_id=second.refunds.get().pk)
    assert "We have refunded CN¥19.00" in mail_about(second, Mail.Kind.REFUNDED)
    # When it expires, and staff mark it as resolved
    let_deadlines_pass()
    lifecycle.expire_overdue()
    Order.objects.filter(pk=second.pk).update(attention="")
    # Then mail and page say that the money was refunded
    client.force_login(rival)
    for text in (mail_about(second, Mail.Kind.EXPIRED), client.get(second.get_absolute_url()).content.decode()):
        assert "Nothing was charged" not in text
        assert "We have refunded you." in text
        assert "Your payment arrived after" not in text


def mail_about(order: Order, kind: Mail.Kind) -> str:
    message = message_of(order.mails.get(kind=kind))
    assert message is not None
    return str(message.body)


def test_the_simulated_company_tells_cards_apart_and_no_number(
    item: SaleItem, buyer: User, rival: User, as_buyer: Client
) -> None:
    guarded_by(item, one_per_card=True)
    for order in (order_of(item, buyer), order_of(item, rival)):
        payment = payment_of(order)
        as_buyer.post(payment.url, {"action": "pay", "card": "4242 4242", "delivery": "once"})
    cards = {one.session.card for one in SimulatedMessage.objects.select_related("session")}
    assert len(cards) == 1
    assert "4242" not in str(cards)


def test_a_company_that_does_not_tell_cards_apart_takes_all_and_so_does_a_sale_without_the_rule(
    item: SaleItem, buyer: User, rival: User, stranger: User
) -> None:
    orders = [order_of(item, buyer), order_of(item, rival)]
    # Without the rule nothing is written.
    paid_with(order_to(item, stranger), "card_1")
    assert not Served.objects.exists()
    guarded_by(item, one_per_card=True)
    for order in orders:
        paid_with(order)
    assert [status_of(order) for order in orders] == [OrderStatus.PAID] * 2


def test_an_address_that_its_order_gives_up_at_the_same_moment_goes_to_the_one_who_asks(
    item: SaleItem, buyer: User, rival: User
) -> None:
    # Given an order that is being given another address, whose claim is locked meanwhile
    guarded_by(item, one_per_address=True)
    first, second = order_to(item, buyer), order_to(item, rival)
    start(first)
    with ThreadPoolExecutor(1) as thread, transaction.atomic():
        Served.objects.select_for_update().get(order=first)
        # When another one asks for the address, and waits
        asked = thread.submit(run_and_close(start), second)
        wait_until(lambda: waiting_for_locks() == 1, seconds_max=20)
        assert store_address(order_id=first.pk, values={**ADDRESS, "line1": "9 Other Road"})
    # Then it gets it
    assert asked.result(timeout=30) is StartOutcome.OPENED


def test_after_a_new_secret_key_an_address_that_had_its_purchase_is_still_known(
    item: SaleItem, buyer: User, rival: User, stranger: User, as_manager: Client, settings: LazySettings
) -> None:
    guarded_by(item, one_per_address=True)
    first, second, third = order_to(item, buyer), order_to(item, rival), order_to(item, stranger)
    assert start(first) is StartOutcome.OPENED
    replace_key(settings)
    assert start(second) is StartOutcome.ADDRESS_TAKEN
    assert "Another order of this sale" in record_payment(as_manager, third).content.decode()
    # The one that was refused has claimed nothing, and can have the address once it is given up.
    assert list(Served.objects.values_list("order", flat=True)) == [first.pk]
    lifecycle.cancel(order_id=first.pk)
    assert start(second) is StartOutcome.OPENED
    assert start(third) is StartOutcome.ADDRESS_TAKEN


def test_after_a_new_secret_key_a_card_that_had_its_purchase_is_still_known(
    item: SaleItem, buyer: User, rival: User, stranger: User, settings: LazySettings
) -> None:
    guarded_by(item, one_per_card=True)
    first, second, third = order_of(item, buyer), order_of(item, rival), order_of(item, stranger)
    paid_with(first, "card_1")
    replace_key(settings)
    paid_with(second, "card_1")
    paid_with(third, "card_2")
    assert [status_of(second), status_of(third)] == [OrderStatus.AWAITING_PAYMENT, OrderStatus.PAID]


def test_a_late_payment_keeps_the_rule(item: SaleItem, buyer: User, rival: User) -> None:
    """The first expired, the second took over its address and was paid: then the money of the first arrives."""
    guarded_by(item, one_per_address=True)
    first, second = order_to(item, buyer), order_to(item, rival)
    late = payment_of(first)
    Order.objects.filter(pk=first.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    lifecycle.expire_overdue()
    paid_with(second)
    send_webhook(message(late))
    make_due(Payment)
    settle_waiting()
    assert [status_of(first), status_of(second)] == [OrderStatus.REFUND_DUE, OrderStatus.PAID]
    first.refresh_from_db()
    assert first.attention == Attention.ONE_EACH
    client = Client()
    client.force_login(buyer)
    page = client.get(first.get_absolute_url()).content.decode()
    assert "one purchase for each delivery address, and another order goes to yours." in page
    assert "card" not in page.partition("<main")[2].partition("each delivery address")[2].partition("</p>")[0]


def test_marks_go_with_the_account_and_some_time_after_the_sale(item: SaleItem, buyer: User, rival: User) -> None:
    guarded_by(item, one_per_address=True)
    order, other = order_to(item, buyer), order_to(item, rival, line1="9 Other Road")
    start(other)
    start(order)
    lifecycle.cancel(order_id=order.pk)
    delete_account(buyer.pk)
    assert list(Served.objects.values_list("order", flat=True)) == [other.pk]
    assert forget_old() == 0
    Sale.objects.update(opens_at=timezone.now() - timedelta(days=40), closes_at=timezone.now() - timedelta(days=31))
    assert forget_old() == 1
    assert refunds.request_due_refunds() == 0
