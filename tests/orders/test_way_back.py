"""Where the order's page leads: back from the payment page, on to the other orders, back to the sale.

And what it says of an order that ended while a payment page was open: until that is closed, nobody knows whether it was
paid.
"""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from orders import tasks
from orders.life import lifecycle
from orders.mails.message import message_of
from orders.models import Mail, Order, OrderStatus, Payment
from orders.payments.simulated import company
from orders.payments.simulated.models import SimulatedSession
from seckill.models import Sale, SaleItem
from shop.languages.page_language import path_in
from shop.models import Product
from tests.steps.buying import buyer_of, let_deadlines_pass, order_of, signed_in, with_address
from tests.steps.paying import payment_row
from tests.steps.shop import make_item

pytestmark = pytest.mark.django_db(transaction=True)

WAITING = "We are waiting for your payment to be confirmed."
NOT_PAID = "You have not paid yet."


def text_of(client: Client, order: Order, path: str = "", **headers: str) -> str:
    client.force_login(buyer_of(order))
    return client.get(path or order.get_absolute_url(), headers=headers).content.decode()


def press(client: Client, payment: Payment, action: str) -> str:
    """Press a button of the simulated payment page. Returns where it leads."""
    return str(client.post(payment.url, {"action": action})["Location"])


# --- back from the payment page ---


def test_a_buyer_who_goes_back_has_not_paid_yet_and_one_who_has_paid_waits(
    client: Client, order: Order, payment: Payment
) -> None:
    # Back from the payment page
    text = text_of(client, order)
    assert WAITING not in text
    assert "We have not received a payment for this order yet." in text
    assert "Continue payment" in text
    # By the link of the payment page
    page = text_of(client, order, payment.url)
    [link] = re.findall(r'<p class="aside">\s*<a href="([^"]+)"', page)
    english, chinese = (text_of(client, order, path_in(language, link)) for language in ("en", "zh-hans"))
    assert NOT_PAID in english
    assert WAITING not in english
    assert "Continue payment" in english
    assert "您尚未付款" in chinese
    # The page asks again at the same address, so that it goes on saying so.
    assert f'hx-get="{link}"' in english
    # By its button
    back = press(client, payment, "pay")
    text = text_of(client, order, back)
    assert WAITING in text
    assert f'hx-get="{back}"' in text


def test_a_page_of_the_release_before_leads_back_all_the_same(client: Client, order: Order, payment: Payment) -> None:
    SimulatedSession.objects.update(cancel_url="", return_url=order.get_absolute_url())
    assert f'<a href="{order.get_absolute_url()}">' in text_of(client, order, payment.url)


# --- without JavaScript ---


def test_a_page_that_says_that_it_updates_does_so_without_javascript(
    client: Client, order: Order, payment: Payment, item: SaleItem, rival: User
) -> None:
    order_of(item, rival)
    for back in ("?payment=returned", "?payment=left", ""):
        text = text_of(client, order, order.get_absolute_url() + back)
        head = text.split("</head>")[0]
        updates = back == "?payment=returned"
        assert ('<noscript><meta http-equiv="refresh" content="5"' in head) == updates, back
        assert ('<noscript><meta http-equiv="refresh"' in head) == updates, back
        assert ("updates automatically" in text) == updates, back
        # The orders of others are not shown.
        assert "Another order" not in text
    # An ended order whose payment is unknown does, too.
    let_deadlines_pass()
    tasks.expire_overdue()
    assert '<noscript><meta http-equiv="refresh" content="5">' in text_of(client, order)
    tasks.close_sessions()
    assert "http-equiv" not in text_of(client, order)


# --- other orders ---


def test_the_page_shows_that_another_order_awaits_payment(client: Client, product: Product, buyer: User) -> None:
    # Given two orders whose units are held, and one that is paid
    item = make_item(product, per_buyer_max=3)
    first, second, paid = (order_of(item, buyer) for _ in range(3))
    Order.objects.filter(pk=paid.pk).update(status=OrderStatus.PAID, ended_at=timezone.now())
    Order.objects.filter(pk=second.pk).update(expires_at=first.expires_at + timedelta(minutes=1))
    second.refresh_from_db()
    # Then each page shows the countdown of the other one
    for shown, other in ((first, second), (second, first)):
        text = text_of(client, shown)
        assert "Another order is awaiting payment" in text
        assert f'href="{other.get_absolute_url()}"' in text
        assert f'data-countdown="{int(other.expires_at.timestamp() * 1000)}"' in text
    assert "另有一笔订单待付款" in text_of(client, first, path_in("zh-hans", first.get_absolute_url()))
    # And a paid one the countdown that ends first
    assert f'href="{first.get_absolute_url()}"' in text_of(client, paid)
    lifecycle.cancel(order_id=second.pk)
    assert "Another order" not in text_of(client, first)


# --- back to the sale ---


def test_an_order_that_ended_leads_back_to_its_item_while_the_sale_is_open(
    client: Client, order: Order, item: SaleItem
) -> None:
    link = f'href="/sales/{item.sale_id}/#item-{item.pk}"'
    assert link not in text_of(client, order)
    for status in (OrderStatus.EXPIRED, OrderStatus.CANCELLED):
        Order.objects.filter(pk=order.pk).update(status=status, ended_at=timezone.now())
        text = text_of(client, order)
        assert link in text
        assert "The sale is still open" in text
    Sale.objects.update(closes_at=timezone.now())
    assert link not in text_of(client, order)


# --- an ended order whose payment is unknown ---


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
    english, chinese = (text_of(client, order, path_in(it, order.get_absolute_url())) for it in ("en", "zh-hans"))
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
    assert "Nothing was charged" not in text_of(client, order)
    assert tasks.close_sessions() == 1
    text = text_of(client, order)
    assert "Nothing was charged." in text
    assert "hx-trigger" not in text
    body = signed_in(buyer_of(order)).get(f"/api/v1/reservations/{order.reservation_id}/").json()
    assert body["poll_after_ms"] is None


def test_a_cancelled_order_is_as_unknown(client: Client, order: Order, payment: Payment) -> None:
    company.pay_slowly(reference=payment.provider_reference)
    assert lifecycle.cancel(order_id=order.pk)
    text = text_of(client, order)
    assert "Nothing was charged" not in text
    assert "If you did, we will refund you in full." in text
    assert "hx-trigger" in text


def test_a_page_that_the_buyer_never_saw_leaves_nothing_unknown(client: Client, order: Order) -> None:
    # Given a press of the button to which the provider did not answer
    payment_row(order)
    expire(order)
    assert "Nothing was charged." in text_of(client, order)
