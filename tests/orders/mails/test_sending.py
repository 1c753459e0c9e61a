"""Mails to buyers: each once, in their language, whatever the mail server does."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import count
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from orders import tasks
from orders.life import lifecycle
from orders.mails import sending
from orders.mails.message import message_of
from orders.models import Attention, Mail, Order, OrderLine, OrderStatus, Payment, Refund
from seckill.models import SaleItem
from shop.local.ports import free_port
from shop.mails.outgoing_mail import Delivery
from shop.models import Variant
from tests.orders.mails.mail_server import MailServer
from tests.steps.at_once import at_once, run_and_close
from tests.steps.buying import buyer_of, plain_order, with_address
from tests.steps.crash import killed_at
from tests.steps.paying import make_due, payment_row
from tests.steps.store import store_away

pytestmark = pytest.mark.django_db(transaction=True)

ADDRESS = "buyer@example.com"
MakeOrder = Callable[..., Order]


@pytest.fixture
def make_order(item: SaleItem, reachable: User) -> MakeOrder:
    """Makes orders of two units, of the reachable buyer or another."""

    def make(user: User = reachable) -> Order:
        Variant.objects.filter(pk=item.variant_id).update(held=F("held") + 2)
        return plain_order(item.variant, user, 2, 1900)

    return make


@pytest.fixture
def reachable(buyer: User) -> User:
    """A buyer with an address."""
    with_address(buyer)
    return buyer


@pytest.fixture
def paid(make_order: MakeOrder) -> Order:
    """An order that was just paid, so a mail is queued."""
    order = make_order()
    assert lifecycle.pay(order_id=order.pk)
    return order


def only_mail() -> Mail:
    return Mail.objects.get()


def enqueue_after(order: Order, kind: Mail.Kind, refund: Refund | None = None, **changes: Any) -> None:
    """Update the order with `changes`, then queue the mail."""
    Order.objects.filter(pk=order.pk).update(ended_at=timezone.now(), **changes)
    sending.enqueue(order_ids=[order.pk], kind=kind, refund=refund)


def text_of(server: MailServer) -> str:
    """The plain text of the only mail received."""
    (message,) = server.received
    part = message.get_body(("plain",))
    assert part is not None
    return str(part.get_content())


def test_a_payment_is_confirmed_by_mail_once(server: MailServer, paid: Order) -> None:
    assert tasks.send_mails() == 1
    assert tasks.send_mails() == 0
    (message,) = server.received
    assert message["To"] == ADDRESS
    assert message["Subject"] == "Payment received: 2 × Longjing tea"
    stamp = f"{Mail.objects.get().created_at:%Y%m%d%H%M%S%f}"
    # The header is folded.
    assert message["Message-ID"].strip() == f"<{paid.number}.paid-{stamp}@shop.example.com>"
    text = text_of(server)
    assert "We have received your payment of CN¥38.00." in text
    assert f"http://shop.example.com/orders/{paid.number}/" in text
    html = message.get_body(("html",))
    assert html is not None
    assert "CN¥38.00" in html.get_content()
    mail = only_mail()
    assert mail.sent_at is not None
    assert (mail.next_attempt_at, mail.attempts, mail.last_error) == (None, 1, "")


def test_the_mail_is_in_the_language_that_the_buyer_last_used(
    server: MailServer, paid: Order, client: Client, item: SaleItem
) -> None:
    client.force_login(buyer_of(paid))
    path = f"/api/v1/sale-items/{item.pk}/passes/"
    answer = client.post(path, content_type="application/json", headers={"accept-language": "zh-CN,zh;q=0.9"})
    assert answer.status_code == 201
    # A program that names no language does not change it.
    client.post(path, content_type="application/json")
    tasks.send_mails()
    assert server.received[0]["Subject"] == "付款成功：2 × 龙井茶"
    assert "¥38.00" in text_of(server)


def expire_orders(make_order: MakeOrder, *buyer: User, count: int) -> None:
    for _ in range(count):
        Order.objects.filter(pk=make_order(*buyer).pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert lifecycle.expire_overdue() == count


def test_expiring_holds_do_not_flood_an_address(server: MailServer, rival: User, make_order: MakeOrder) -> None:
    # Given two buyers who gave the same address, which neither had to verify, and many holds that expire
    User.objects.filter(pk=rival.pk).update(email=ADDRESS.upper())
    expire_orders(make_order, count=4)
    expire_orders(make_order, rival, count=4)
    # Then the address gets three mails in a day, and the others wait for nothing
    assert tasks.send_mails() == 3
    assert tasks.send_mails() == 0
    assert len(server.received) == 3
    assert not Mail.objects.filter(next_attempt_at__isnull=False).exists()
    assert Mail.objects.filter(sent_at=None, last_error=sending.TOO_MANY).count() == 5
    # And what the buyer pays for is confirmed all the same
    assert lifecycle.pay(order_id=make_order().pk)
    assert tasks.send_mails() == 1
    assert server.received[-1]["Subject"] == "Payment received: 2 × Longjing tea"


def test_other_spellings_of_an_address_reach_one_mailbox(server: MailServer, make_order: MakeOrder) -> None:
    local, _at, domain = ADDRESS.partition("@")
    for number in range(4):
        person = User.objects.create_user(f"new-{number}", email=f"{local}+{number}@{domain}")
        expire_orders(make_order, person, count=1)
    assert tasks.send_mails() == 3


def test_asking_for_a_link_again_and_again_does_not_flood_an_address(server: MailServer, make_order: MakeOrder) -> None:
    order = make_order()
    for _ in range(11):
        sending.enqueue_again(order=order, kind=Mail.Kind.LINK)
        tasks.send_mails()
    assert len(server.received) == 10


def test_a_refused_mail_does_not_count(server: MailServer, make_order: MakeOrder) -> None:
    server.refuses = {ADDRESS}
    expire_orders(make_order, count=4)
    assert tasks.send_mails() == 0
    server.refuses = set()
    make_due(Mail)
    assert tasks.send_mails() == 3


def test_without_the_cache_a_mail_is_sent_all_the_same(
    server: MailServer, make_order: MakeOrder, settings: Settings
) -> None:
    expire_orders(make_order, count=1)
    store_away(settings, "default")
    assert tasks.send_mails() == 1
    assert "Nothing was charged." in text_of(server)


def test_an_expiry_that_was_paid_late_says_what_becomes_of_the_money(make_order: MakeOrder) -> None:
    order = make_order()
    payment_row(order, Payment.Status.CAPTURED)
    for status, says in (
        (OrderStatus.EXPIRED, "We are checking availability and will email you"),
        (OrderStatus.REFUND_DUE, "We will refund it in full"),
        (OrderStatus.REFUNDED, "We have refunded you."),
    ):
        enqueue_after(order, Mail.Kind.EXPIRED, status=status)
        message = message_of(only_mail())
        assert message is not None
        assert says in str(message.body), status
        assert "Nothing was charged" not in str(message.body), status


def test_an_expiry_overtaken_by_a_late_payment_that_was_kept_is_not_sent(
    server: MailServer, make_order: MakeOrder
) -> None:
    order = make_order()
    enqueue_after(order, Mail.Kind.EXPIRED, status=OrderStatus.PAID, attention=Attention.LATE_PAYMENT_KEPT)
    assert tasks.send_mails() == 0
    assert (only_mail().next_attempt_at, only_mail().last_error) == (None, sending.OVERTAKEN)
    sending.enqueue(order_ids=[order.pk], kind=Mail.Kind.PAID)
    tasks.send_mails()
    assert "so your order stands" in text_of(server)


def test_nothing_is_queued_for_buyers_without_an_address(reachable: User, rival: User, make_order: MakeOrder) -> None:
    orders = [make_order(user).pk for user in (rival, reachable, rival)]
    sending.enqueue(order_ids=orders, kind=Mail.Kind.EXPIRED)
    sending.enqueue(order_ids=orders, kind=Mail.Kind.EXPIRED)
    assert only_mail().order.buyer == reachable


def test_a_confirmation_passes_those_that_are_being_sent(server: MailServer, make_order: MakeOrder) -> None:
    for _ in range(3):
        enqueue_after(make_order(), Mail.Kind.EXPIRED, status=OrderStatus.EXPIRED)
    real, sent = sending.deliver, list[str]()

    def deliver(mail: Mail, server: Any) -> Delivery:
        if not sent:
            enqueue_after(make_order(), Mail.Kind.PAID, status=OrderStatus.PAID)
        sent.append(mail.kind)
        return real(mail, server)

    with mock.patch.object(sending, "deliver", deliver):
        tasks.send_mails()
    assert sent == ["expired", "paid", "expired", "expired"]


def test_a_line_break_in_a_products_name_does_not_stop_its_mails(server: MailServer, paid: Order) -> None:
    line = paid.lines.get()
    name = dict.fromkeys(line.texts["name"], "Longjing\r\nBcc: everybody@example.com\ntea")
    OrderLine.objects.filter(pk=line.pk).update(texts={**line.texts, "name": name})
    assert tasks.send_mails() == 1
    (message,) = server.received
    assert " ".join(message["Subject"].split()) == "Payment received: 2 × Longjing Bcc: everybody@example.com tea"
    assert message["Bcc"] is None


def test_every_kind_of_mail_is_sent() -> None:
    assert set(sending.SENT_FIRST) == set(Mail.Kind)


@pytest.mark.slow
def test_a_task_sends_until_its_time_is_up(
    server: MailServer, make_order: MakeOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = [make_order().pk for _ in range(5)]
    sending.enqueue(order_ids=orders, kind=Mail.Kind.PAID)
    assert tasks.send_mails() == 5
    assert server.connections == 1
    Mail.objects.update(sent_at=None, next_attempt_at=timezone.now())
    # The third mail takes all of the time.
    real, tried = sending.deliver, count(1)

    def deliver(mail: Mail, server: Any) -> Delivery:
        if next(tried) == 3:
            time.sleep(1.0)
        return real(mail, server)

    monkeypatch.setattr(tasks, "BUDGET_SECONDS", 1.0)
    monkeypatch.setattr(sending, "deliver", deliver)
    assert 0 < tasks.send_mails() <= 3


def test_a_refused_mail_is_tried_again_later_and_does_not_block_the_others(
    server: MailServer, paid: Order, rival: User, make_order: MakeOrder
) -> None:
    # Given two mails, the first to an address that the server refuses
    server.refuses = {ADDRESS}
    with_address(rival)
    lifecycle.pay(order_id=make_order(rival).pk)
    # When they are sent, then the second arrives, over the same connection
    assert tasks.send_mails() == 1
    assert [message["To"] for message in server.received] == ["rival@example.com"]
    assert server.connections == 1
    # And the first is tried again, later and later
    mail = Mail.objects.get(order=paid)
    assert mail.next_attempt_at is not None
    assert mail.next_attempt_at > timezone.now() + timedelta(seconds=30)
    assert "no such buyer" in mail.last_error
    server.refuses = set()
    assert tasks.send_mails() == 0
    make_due(Mail)
    assert tasks.send_mails() == 1


def test_a_mail_that_cannot_be_rendered_does_not_block_the_others(
    server: MailServer, settings: Settings, paid: Order
) -> None:
    settings.SHOP_URL = "http://[not-an-address"
    with pytest.raises(ValueError, match="Invalid IPv6 URL"):
        tasks.send_mails()
    assert only_mail().last_error == "Invalid IPv6 URL"
    assert tasks.send_mails() == 0
    settings.SHOP_URL = "http://shop.example.com"
    make_due(Mail)
    assert tasks.send_mails() == 1


def test_after_enough_attempts_it_is_given_up_until_staff_say_again(
    server: MailServer, paid: Order, caplog: pytest.LogCaptureFixture
) -> None:
    server.refuses = {ADDRESS}
    tasks.send_mails()
    Mail.objects.update(attempts=sending.ATTEMPTS_MAX - 1, next_attempt_at=timezone.now())
    tasks.send_mails()
    mail = only_mail()
    assert (mail.next_attempt_at, mail.attempts) == (None, sending.ATTEMPTS_MAX)
    assert "no such buyer" in mail.last_error
    # The log has no address that a server refused.
    assert "mail_refused" in caplog.text
    assert "mail_given_up" in caplog.text
    assert ADDRESS not in caplog.text
    server.refuses = set()
    assert sending.retry_unsent(mail_ids=[mail.pk]) == {sending.DUE_NOW: 1}
    assert tasks.send_mails() == 1
    assert sending.retry_unsent(mail_ids=[mail.pk]) == {sending.ALREADY_SENT: 1}


def test_a_server_that_is_away_counts_against_no_mail(
    server: MailServer, settings: Settings, paid: Order, make_order: MakeOrder
) -> None:
    lifecycle.pay(order_id=make_order().pk)
    settings.EMAIL_PORT = free_port()
    assert tasks.send_mails() == 0
    assert set(Mail.objects.values_list("attempts", flat=True)) == {0}
    assert Mail.objects.exclude(last_error="").count() == 1
    settings.EMAIL_PORT = server.port
    make_due(Mail)
    assert tasks.send_mails() == 2


@pytest.mark.slow
@pytest.mark.parametrize("command", ["CONNECT", "DATA", "END"])
def test_a_silent_server_costs_a_timeout_and_holds_no_transaction_open(
    server: MailServer, paid: Order, command: str
) -> None:
    # Given a server that stops answering at this point
    server.silent_at = command
    with ThreadPoolExecutor(1) as thread:
        started = time.monotonic()
        sending = thread.submit(run_and_close(tasks.send_mails))
        assert server.is_silent.wait(10)
        # Then meanwhile no transaction is open and no row is locked
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL"
                " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
            assert cursor.fetchone() == (0,)
        # And it ends soon, with the mail still queued
        assert sending.result(10) == 0
        assert time.monotonic() - started < 5
    mail = only_mail()
    assert mail.sent_at is None
    assert mail.next_attempt_at is not None
    assert mail.next_attempt_at > timezone.now()
    assert "timed out" in mail.last_error


def test_a_quit_without_an_answer_sends_nothing_twice(server: MailServer, paid: Order) -> None:
    server.silent_at = "QUIT"
    assert tasks.send_mails() == 1
    assert tasks.send_mails() == 0
    assert len(server.received) == 1


def test_of_many_workers_one_sends_each_mail(server: MailServer, make_order: MakeOrder) -> None:
    orders = [make_order().pk for _ in range(10)]
    sending.enqueue(order_ids=orders, kind=Mail.Kind.PAID)
    counts = at_once([tasks.send_mails] * 4)
    while tasks.send_mails():
        pass
    assert len(server.received) == 10
    assert len({message["Message-ID"] for message in server.received}) == 10
    assert sum(counts) <= 10


def test_a_crash_after_sending_repeats_the_mail_under_the_same_id(server: MailServer, paid: Order) -> None:
    with killed_at("mails.after_send"):
        tasks.send_mails()
    assert len(server.received) == 1
    assert only_mail().sent_at is None
    # Then it is not sent again while the dead worker still has it claimed
    assert tasks.send_mails() == 0
    # And afterwards it is sent again as the same mail
    make_due(Mail)
    assert tasks.send_mails() == 1
    first, second = server.received
    assert first["Message-ID"] == second["Message-ID"]
