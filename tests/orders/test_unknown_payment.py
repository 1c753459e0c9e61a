"""An order that ended while a payment page was open: until the page is closed, nobody knows whether it was paid."""

import pytest
from django.test import Client

from orders import tasks
from orders.life import lifecycle
from orders.mails.message import message_of
from orders.models import Mail, Order, Payment
from orders.payments.simulated import company
from shop.languages.page_language import path_in
from tests.steps.buying import buyer_of, let_deadlines_pass, signed_in, with_address
from tests.steps.paying import payment_row

pytestmark = pytest.mark.django_db(transaction=True)


def page_of(client: Client, order: Order, language: str = "en") -> str:
    client.force_login(buyer_of(order))
    return client.get(path_in(language, order.get_absolute_url())).content.decode()


def expire(order: Order) -> None:
    let_deadlines_pass()
    assert tasks.expire_overdue() == 1


def test_while_the_page_is_open_the_buyer_is_not_told_that_nothing_was_charged(
    client: Client, order: Order, payment: Payment
) -> None:
    # Given a buyer who pays slowly, and whose deadline passes while the money is on its way
    with_address(buyer_of(order))
    company.pay_slowly(reference=payment.provider_reference)
    expire(order)
    assert tasks.close_sessions() == 0
    # Then the page says what is known, and goes on asking
    english, chinese = (page_of(client, order, language) for language in ("en", "zh-hans"))
    assert "Nothing was charged" not in english
    assert "we do not know yet whether you paid there" in english
    assert "hx-trigger" in english
    assert "未扣款" not in chinese
    assert "尚不清楚您是否已在该页面付款" in chinese
    body = signed_in(buyer_of(order)).get(f"/api/v1/reservations/{order.reservation_id}/").json()
    assert (body["status"], body["poll_after_ms"]) == ("expired", 3000)
    # And the mail says no more
    message = message_of(Mail.objects.get(kind=Mail.Kind.EXPIRED))
    assert message is not None
    assert "Nothing was charged" not in str(message.body)
    assert "If you did, you get either your order or a full refund." in str(message.body)


def test_once_the_page_is_closed_nothing_was_charged(client: Client, order: Order, payment: Payment) -> None:
    assert not order.payment_unknown
    expire(order)
    assert "Nothing was charged" not in page_of(client, order)
    assert tasks.close_sessions() == 1
    text = page_of(client, order)
    assert "Nothing was charged." in text
    assert "hx-trigger" not in text
    body = signed_in(buyer_of(order)).get(f"/api/v1/reservations/{order.reservation_id}/").json()
    assert body["poll_after_ms"] is None


def test_a_cancelled_order_is_as_unknown(client: Client, order: Order, payment: Payment) -> None:
    company.pay_slowly(reference=payment.provider_reference)
    assert lifecycle.cancel(order_id=order.pk)
    text = page_of(client, order)
    assert "Nothing was charged" not in text
    assert "If you did, we will refund you in full." in text
    assert "hx-trigger" in text


def test_a_page_that_the_buyer_never_saw_leaves_nothing_unknown(client: Client, order: Order) -> None:
    # Given a press of the button to which the provider did not answer
    payment_row(order)
    expire(order)
    assert "Nothing was charged." in page_of(client, order)
