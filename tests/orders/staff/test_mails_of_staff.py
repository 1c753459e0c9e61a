"""Staff read the text of a mail and send it again, as a message of its own; the order's history says who did so."""

from typing import Any
from unittest.mock import Mock

import pytest
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core import mail as outgoing
from django.core.cache import cache
from django.test import Client

from orders import tasks
from orders.life import lifecycle
from orders.mails import sending
from orders.models import Mail, Order, OrderStatus
from seckill.models import SaleItem
from shop.mails.outgoing_mail import Delivery
from tests.steps.buying import make_orders, order_of, with_address
from tests.steps.staff import MAILS, ORDERS, admin_page, employee, messages_on

pytestmark = pytest.mark.usefixtures("_manager_signed_in")


@pytest.fixture
def sent(buyer: User, item: SaleItem) -> Mail:
    """The confirmation of a payment, which has left."""
    with_address(buyer)
    order = order_of(item, buyer)
    lifecycle.pay(order_id=order.pk)
    assert tasks.send_mails() == 1
    return Mail.objects.get()


def page_of(mail: Mail) -> str:
    return f"{MAILS}{mail.pk}/change/"


def again(client: Client, mail: Mail) -> Any:
    return client.post(f"{MAILS}{mail.pk}/again/", follow=True)


def retry(client: Client) -> list[str]:
    """The action of the list, for all mails. Returns what it says."""
    chosen = {"action": "send_again", "_selected_action": list(Mail.objects.values_list("pk", flat=True))}
    return messages_on(client.post(MAILS, chosen, follow=True))


def test_the_page_of_a_mail_shows_its_text_without_the_link_of_a_guest(client: Client, sent: Mail) -> None:
    page = client.get(page_of(sent)).content.decode()
    assert "Payment received: 1 × Longjing tea" in page
    assert "We have received your payment of CN¥19.00." in page
    Order.objects.update(buyer=None, email="guest@example.com", language="zh-hans")
    order = Order.objects.get()
    for language in ("en", "zh-hans"):
        client.cookies[settings.LANGUAGE_COOKIE_NAME] = language
        page = client.get(page_of(sent)).content.decode()
        assert order.shown_code in page
        assert order.get_absolute_url().rpartition("/orders/")[2] not in page
        assert f"{settings.SHOP_URL}/" not in page


def test_a_mail_that_was_sent_is_sent_again_after_a_question(client: Client, sent: Mail) -> None:
    # Given a mail that the buyer does not find
    url = f"{MAILS}{sent.pk}/again/"
    assert url in client.get(page_of(sent)).content.decode()
    question = client.get(url).content.decode()
    assert "buyer@example.com gets this mail again: confirmation." in question
    assert tasks.send_mails() == 0
    # When staff send it again
    assert messages_on(again(client, sent)) == ["The mail will be sent in a moment."]
    assert messages_on(again(client, sent)) == ["The mail is due anyway."]
    # Then it leaves once, and mail programs show it beside the first one
    assert tasks.send_mails() == 1
    first, second = outgoing.outbox
    assert first.subject == second.subject
    assert first.extra_headers["Message-ID"] != second.extra_headers["Message-ID"]
    history = client.get(f"{ORDERS}{sent.order_id}/history/").content.decode()
    assert "Mail sent again: confirmation." in history
    # It is kept for longer than the account.
    assert "buyer@example.com" not in LogEntry.objects.get().change_message


def test_a_mail_that_a_worker_is_just_sending_is_not_sent_beside_it(client: Client, sent: Mail) -> None:
    # Given a worker that tries a mail, which was refused before
    Mail.objects.update(sent_at=None, next_attempt_at=sent.created_at, attempts=1, last_error="450 try later")
    claimed = sending.claim_next()
    assert claimed is not None
    # When staff want it to be sent, then it is left to the worker
    assert retry(client) == ["1 mail is just being sent."]
    assert tasks.send_mails() == 0
    # And where the worker does not reach the server, the attempt does not count, and staff can have it sent
    server_away = Mock(**{"open.side_effect": ConnectionRefusedError("away")})
    assert sending.deliver(claimed, server_away) is Delivery.NO_ANSWER
    assert Mail.objects.get().attempts == 1
    assert not LogEntry.objects.exists()
    assert retry(client) == ["1 mail will be sent in a moment."]
    assert tasks.send_mails() == 1
    assert retry(client) == ["1 mail was already sent and will not be sent again."]
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.change_message) == (str(sent.order_id), "Mail sent again: confirmation.")


def test_a_mail_that_would_be_one_too_many_stays_as_it_is(
    client: Client, buyer: User, item: SaleItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given two orders of an address that expired, of which one mail a day may tell
    monkeypatch.setitem(sending.PER_DAY_MAX, Mail.Kind.EXPIRED, 1)
    with_address(buyer)
    for order in make_orders(2, buyer=buyer, item=item, status=OrderStatus.EXPIRED):
        sending.enqueue(order_ids=[order.pk], kind=Mail.Kind.EXPIRED)
    assert tasks.send_mails() == 1
    before = list(Mail.objects.order_by("pk").values())
    note = "This address had too many such mails today."
    for mail in Mail.objects.order_by("pk"):
        assert messages_on(again(client, mail)) == [note]
    assert retry(client) == [
        "1 mail was already sent and will not be sent again.",
        f"1 mail cannot be sent. {note}",
    ]
    assert list(Mail.objects.order_by("pk").values()) == before
    assert tasks.send_mails() == 0
    assert not LogEntry.objects.exists()
    # And of mails that are retried together only as many as may leave are due
    Mail.objects.update(sent_at=None, next_attempt_at=None, last_error="550 no such user")
    cache.delete(f"daily:{sending.count_name(Mail.objects.earliest('pk'))}")
    assert retry(client) == ["1 mail will be sent in a moment.", f"1 mail cannot be sent. {note}"]
    assert tasks.send_mails() == 1


def test_a_mail_that_has_no_address_or_is_true_no_more_is_neither_sent_again_nor_retried(
    client: Client, sent: Mail
) -> None:
    Mail.objects.update(kind=Mail.Kind.EXPIRED)
    assert messages_on(again(client, sent)) == ["No longer applies: the order has moved on."]
    assert "No longer applies" in client.get(page_of(sent)).content.decode()
    Mail.objects.update(sent_at=None, next_attempt_at=None, last_error="550 no such user")
    assert retry(client) == ["1 mail cannot be sent. No longer applies: the order has moved on."]
    User.objects.update(email="")
    assert retry(client) == ["1 mail cannot be sent. The buyer has no address."]
    assert messages_on(again(client, sent)) == ["The buyer has no address."]
    assert client.get(MAILS, {"state": "given_up"}).context["cl"].result_count == 1
    assert Mail.objects.get().last_error == "550 no such user"


def test_staff_who_may_only_look_send_nothing(client: Client, sent: Mail) -> None:
    path = f"{MAILS}{sent.pk}/again/"
    pages = (page_of(sent), admin_page(sent.order))
    assert all(path in client.get(page).content.decode() for page in pages)
    client.force_login(employee("view_order"))
    assert not any(path in client.get(page).content.decode() for page in pages)
    assert client.post(path).status_code == 403
    assert tasks.send_mails() == 0
