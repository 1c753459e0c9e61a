"""What mails about an order show: one look, both languages, the number, the link, the parcel, what was refunded."""

from email.message import EmailMessage

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.utils import timezone
from pytest_django import Settings

from orders import tasks
from orders.life import lifecycle
from orders.mails import sending
from orders.models import Mail, Order, OrderStatus, ShippingAddress
from seckill.models import SaleItem
from shop.models import BuyerLanguage, Variant
from tests.orders.mails.mail_server import MailServer
from tests.steps.buying import ADDRESS, buyer_of, plain_order, with_address
from tests.steps.paying import refund_part
from tests.steps.staff import staff_pay_back

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _name_of_the_shop(settings: Settings) -> None:
    settings.SHOP_NAME = "Tea & Co"


@pytest.fixture
def order(buyer: User, item: SaleItem) -> Order:
    """Two units for 38.00, delivery for 10.00, taxes included."""
    with_address(buyer)
    Variant.objects.filter(pk=item.variant_id).update(held=F("held") + 2)
    delivery = {"shipping_minor": 1000, "shipping_name": "Express", "shipping_tax_percent": 13}
    order = plain_order(item.variant, buyer, 2, 1900, amount_minor=4800, **delivery)
    order.lines.update(tax_percent=13)
    ShippingAddress.objects.create(order=order, **ADDRESS)
    return order


def parts(message: EmailMessage) -> tuple[str, str]:
    """The text and the HTML of a mail."""
    text, html = message.get_body(("plain",)), message.get_body(("html",))
    assert text is not None
    assert html is not None
    return text.get_content(), html.get_content()


def sent(server: MailServer) -> tuple[str, str]:
    server.received.clear()
    assert tasks.send_mails() == 1
    (message,) = server.received
    return parts(message)


def test_a_confirmation_has_lines_sums_taxes_the_address_and_the_zone(
    server: MailServer, order: Order, settings: Settings
) -> None:
    settings.TIME_ZONE = "Asia/Shanghai"
    lifecycle.pay(order_id=order.pk)
    text, html = sent(server)
    for part in (text, html):
        for words in (
            "Longjing tea",
            "2 × CN¥19.00",
            "CN¥38.00",
            "Express",
            "CN¥10.00",
            "CN¥48.00",
            "Includes 13% tax",
            "CN¥5.52",
            order.shown_code,
            "Li Lei",
            "Tianshan Road 123",
            f"http://shop.example.com/orders/{order.number}/",
            "(Beijing time)",
        ):
            assert words in part, words
    assert "Tea & Co" in text
    assert "Tea &amp; Co" in html
    # It can be read in the dark and on a phone, and mail programs load nothing from elsewhere.
    for words in ("prefers-color-scheme: dark", 'name="color-scheme" content="light dark"', "max-width:600px"):
        assert words in html
    assert "<img" not in html
    assert "<script" not in html


def test_a_sent_order_names_carrier_and_number_and_links_the_parcel(server: MailServer, order: Order) -> None:
    lifecycle.pay(order_id=order.pk)
    sent(server)
    lifecycle.ship(order_id=order.pk, carrier="DHL", tracking_number="WRONG1")
    # Before the mail has left.
    lifecycle.correct_tracking(order_id=order.pk, carrier="DHL", tracking_number="JD 1<2")
    text, html = sent(server)
    assert server.received[0]["Subject"] == "On its way: 2 × Longjing tea"
    assert "Carrier: DHL" in text
    assert "JD 1<2" in text
    assert 'href="https://www.dhl.com/global-en/home/tracking.html?tracking-id=JD%201%3C2"' in html
    assert "JD 1&lt;2" in html
    assert "WRONG1" not in text + html


def refund(order: Order, amount_minor: int) -> None:
    refund_part(order, amount_minor)
    staff_pay_back(order)


def test_each_refund_of_a_part_has_its_own_mail_and_the_rest_names_the_rest(server: MailServer, order: Order) -> None:
    lifecycle.pay(order_id=order.pk)
    sent(server)
    refund(order, 500)
    refund(order, 700)
    server.received.clear()
    assert tasks.send_mails() == 2
    first, second = (parts(message)[0] for message in server.received)
    assert "We refund CN¥5.00 to you." in first
    assert "We refund CN¥7.00 to you." in second
    assert "That is a part of the CN¥48.00 that you paid." in first
    assert len({message["Message-ID"] for message in server.received}) == 2
    lifecycle.refund(order_id=order.pk, units_back=False)
    staff_pay_back(order)
    text, _ = sent(server)
    assert "We refund CN¥36.00 to you." in text
    assert "That is a part of the CN¥48.00 that you paid." in text


def test_every_mail_is_whole_in_chinese(server: MailServer, order: Order) -> None:
    BuyerLanguage.objects.create(user=buyer_of(order), language="zh-hans")
    parcel = {"shipped_at": timezone.now(), "carrier": "顺丰", "tracking_number": "SF1"}
    for kind, status, words in (
        (Mail.Kind.PAID, OrderStatus.PAID, ["感谢您的订单", "商品", "合计", "含 13% 税", "收货地址", "订单号"]),
        (Mail.Kind.SHIPPED, OrderStatus.SHIPPED, ["您的订单已发货", "运单号"]),
        (Mail.Kind.EXPIRED, OrderStatus.EXPIRED, ["订单已关闭（超时未付款）"]),
        (Mail.Kind.REFUNDED, OrderStatus.REFUNDED, ["您的退款", "我们已将 ¥48.00"]),
    ):
        Order.objects.update(status=status, ended_at=timezone.now(), **parcel)
        sending.enqueue(order_ids=[order.pk], kind=kind)
        text, html = sent(server)
        for word in words:
            assert word in text, word
            assert word in html, word
        assert order.shown_code in text, kind
        assert f"http://shop.example.com/zh-hans/orders/{order.number}/" in text, kind
        assert '<html lang="zh-hans">' in html, kind
