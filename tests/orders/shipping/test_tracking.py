"""An order that was sent: carrier, number, mail, and the page that follows the parcel."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from orders.life import lifecycle
from orders.models import Mail, Order, OrderStatus
from orders.shipping.carriers import tracking_url
from seckill.models import SaleItem
from tests.steps.buying import order_of, signed_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def order(item: SaleItem, buyer: User) -> Order:
    User.objects.filter(pk=buyer.pk).update(email="buyer@example.com")
    order = order_of(item, buyer)
    assert lifecycle.pay(order_id=order.pk)
    return order


def test_sending_an_order_is_written_down_and_said_by_mail_once(order: Order) -> None:
    assert lifecycle.ship(order_id=order.pk, carrier=" SF Express ", tracking_number=" SF123 ")
    assert not lifecycle.ship(order_id=order.pk, carrier="DHL", tracking_number="2")
    order.refresh_from_db()
    assert (order.status, order.carrier, order.tracking_number) == (OrderStatus.SHIPPED, "SF Express", "SF123")
    assert order.shipped_at is not None
    assert order.mails.filter(kind=Mail.Kind.SHIPPED).count() == 1


def test_a_wrong_number_is_corrected_after_the_order_was_sent(order: Order) -> None:
    assert not lifecycle.correct_tracking(order_id=order.pk, carrier="DHL", tracking_number="7")
    lifecycle.ship(order_id=order.pk, carrier="SF Express", tracking_number="SF123")
    lifecycle.complete(order_id=order.pk)
    assert lifecycle.correct_tracking(order_id=order.pk, carrier="DHL", tracking_number="7")
    order.refresh_from_db()
    assert (order.status, order.carrier, order.tracking_number) == (OrderStatus.COMPLETED, "DHL", "7")
    assert order.mails.filter(kind=Mail.Kind.SHIPPED).count() == 1


def test_the_page_and_the_api_show_the_parcel(order: Order, buyer: User, as_buyer: Client) -> None:
    api = signed_in(buyer)
    path = f"/api/v1/orders/{order.number}/"
    assert api.get(path).json()["tracking"] is None
    lifecycle.ship(order_id=order.pk, carrier="顺丰速运", tracking_number="SF123")
    tracking = api.get(path).json()["tracking"]
    url = "https://www.sf-express.com/chn/sc/waybill/waybill-detail/SF123"
    assert (tracking["carrier"], tracking["number"], tracking["url"]) == ("顺丰速运", "SF123", url)
    assert f'href="{url}"' in as_buyer.get(order.get_absolute_url()).content.decode()


def test_a_carrier_that_is_not_known_is_text(order: Order, as_buyer: Client) -> None:
    lifecycle.ship(order_id=order.pk, carrier="<b>Uncle Wang</b>", tracking_number="javascript:1")
    page = as_buyer.get(order.get_absolute_url()).content.decode()
    assert 'id="tracking"' not in page
    assert "&lt;b&gt;Uncle Wang" in page
    assert "javascript:1" in page


@pytest.mark.parametrize(
    ("carrier", "number", "begins"),
    [
        ("DHL Express", "1 2", "https://www.dhl.com/"),
        ("ups", "1Z/9", "https://www.ups.com/"),
        ("Groups Ltd", "1", ""),
        ("中通快递", "7", "https://www.zto.com/"),
        ("DHL", "", ""),
        ("", "1", ""),
    ],
)
def test_which_carriers_are_known(carrier: str, number: str, begins: str) -> None:
    url = tracking_url(carrier=carrier, tracking_number=number)
    assert url.startswith(begins)
    assert bool(url) == bool(begins)
    assert " " not in url


def test_the_short_number_stands_where_people_read_one(order: Order, buyer: User, as_buyer: Client) -> None:
    shown = f"{order.code[:4]}-{order.code[4:]}"
    assert order.shown_code == shown
    for path in ("/orders/", order.get_absolute_url()):
        page = as_buyer.get(path).content.decode()
        assert shown in page
        assert f">{order.number}<" not in page
    body = signed_in(buyer).get(f"/api/v1/orders/{order.number}/").json()
    assert (body["number"], body["code"]) == (str(order.number), order.code)
    (line,) = body["lines"]
    assert (line["sku"], line["options"], line["name"]) == (order.lines.get().variant.sku, [], "Longjing tea")
