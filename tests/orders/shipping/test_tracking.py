"""An order that was sent: carrier, number, mail, and the page that follows the parcel."""

from concurrent.futures import ThreadPoolExecutor
from html import unescape
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core import mail as outgoing
from django.db import transaction
from django.test import Client
from django.utils import timezone

from orders import tasks
from orders.life import lifecycle
from orders.mails import sending
from orders.mails.message import message_of
from orders.models import Mail, Order, OrderStatus, ShippingAddress
from orders.shipping.carriers import tracking_url
from seckill.models import SaleItem
from tests.processes import wait_until
from tests.steps.at_once import run_and_close
from tests.steps.buying import order_of, signed_in, with_address
from tests.steps.operating import waiting_for_locks
from tests.steps.staff import ORDERS, messages_on

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def order(item: SaleItem, buyer: User) -> Order:
    with_address(buyer)
    order = order_of(item, buyer)
    assert lifecycle.pay(order_id=order.pk)
    return order


def sent_again(order: Order) -> Mail:
    """The mail that was queued is sent."""
    order.mails.update(sent_at=timezone.now(), next_attempt_at=None, attempts=1)
    return Mail.objects.get(order=order, kind=Mail.Kind.TRACKING)


def test_a_number_that_is_added_or_changed_later_is_mailed_once(order: Order) -> None:
    assert not lifecycle.correct_tracking(order_id=order.pk, carrier="DHL", tracking_number="7")
    lifecycle.ship(order_id=order.pk)
    number: dict[str, Any] = {"order_id": order.pk, "carrier": "DHL", "tracking_number": "7"}
    # The mail that it was shipped still waits, and will say the number.
    lifecycle.correct_tracking(**number)
    assert not order.mails.filter(kind=Mail.Kind.TRACKING).exists()
    order.mails.update(sent_at=timezone.now(), next_attempt_at=None, attempts=1)
    lifecycle.correct_tracking(**number)
    assert not order.mails.filter(kind=Mail.Kind.TRACKING).exists()
    for tracking_number in ("8", "9"):
        number["tracking_number"] = tracking_number
        assert lifecycle.correct_tracking(**number)
        mail = sent_again(order)
        message = message_of(mail)
        assert message is not None
        assert tracking_number in message.body
        assert message.to == ["buyer@example.com"]
        lifecycle.correct_tracking(**number)
        assert order.mails.get(kind=Mail.Kind.TRACKING).sent_at == mail.sent_at
    # After the goods have arrived, too.
    assert lifecycle.complete(order_id=order.pk)
    assert lifecycle.correct_tracking(order_id=order.pk, carrier="", tracking_number="")
    assert order.mails.get(kind=Mail.Kind.TRACKING).sent_at == mail.sent_at


def test_a_number_that_is_corrected_while_its_mail_is_being_sent_is_mailed_too(order: Order) -> None:
    # Given a worker that sends the mail about the first number
    lifecycle.ship(order_id=order.pk)
    tasks.send_mails()
    lifecycle.correct_tracking(order_id=order.pk, carrier="DHL", tracking_number="NUMBER-1")
    claimed = sending.claim_next()
    assert claimed is not None
    # When staff correct the number before the worker has finished
    lifecycle.correct_tracking(order_id=order.pk, carrier="DHL", tracking_number="NUMBER-2")
    sending.deliver(claimed, outgoing.get_connection())
    # Then the buyer reads the new number after it
    assert tasks.send_mails() == 1
    first, second = outgoing.outbox[-2:]
    assert "NUMBER-1" in str(first.body)
    assert "NUMBER-2" in str(second.body)
    assert first.extra_headers["Message-ID"] != second.extra_headers["Message-ID"]


def test_a_worker_that_sends_during_a_correction_waits_for_the_new_number(order: Order) -> None:
    lifecycle.ship(order_id=order.pk, carrier="DHL", tracking_number="NUMBER-1")
    Mail.objects.exclude(kind=Mail.Kind.SHIPPED).delete()
    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            lifecycle.correct_tracking(order_id=order.pk, carrier="DHL", tracking_number="NUMBER-2")
            claim = thread.submit(run_and_close(sending.claim_next))
            wait_until(lambda: claim.done() or waiting_for_locks() == 1, seconds_max=30)
        claimed = claim.result(timeout=30)
    assert claimed is not None
    assert (claimed.kind, claimed.order.tracking_number) == (Mail.Kind.SHIPPED, "NUMBER-2")
    assert not order.mails.filter(kind=Mail.Kind.TRACKING).exists()


def test_many_orders_are_shipped_after_a_question_each_with_its_address_and_number(
    as_manager: Client, order: Order, item: SaleItem, rival: User
) -> None:
    other = order_of(item, rival)
    lifecycle.pay(order_id=other.pk)
    ShippingAddress.objects.create(
        order=order, name="Wang Li", line1="Nanjing Road 1", city="Shanghai", postcode="200000", country="CN"
    )
    chosen: dict[str, Any] = {"action": "ship_orders", "_selected_action": [order.pk, other.pk]}
    question = unescape(as_manager.post(ORDERS, chosen).content.decode())
    for words in ("Mark 2 orders as shipped?", order.shown_code, other.shown_code, "Wang Li", "Nanjing Road 1"):
        assert words in question
    assert not Order.objects.filter(status=OrderStatus.SHIPPED).exists()
    numbers = {f"order-{order.pk}-carrier": "DHL", f"order-{order.pk}-tracking_number": "7"}
    too_long = {f"order-{other.pk}-tracking_number": "x" * 101}
    refused = as_manager.post(ORDERS, {**chosen, "confirmed": "yes", **numbers, **too_long})
    assert "at most 100 characters" in refused.content.decode()
    assert not Order.objects.filter(status=OrderStatus.SHIPPED).exists()
    done = as_manager.post(ORDERS, {**chosen, "confirmed": "yes", **numbers}, follow=True)
    assert messages_on(done) == ["2 orders are marked as shipped."]
    parcels = Order.objects.filter(status=OrderStatus.SHIPPED).order_by("pk").values_list("carrier", "tracking_number")
    assert list(parcels) == [("DHL", "7"), ("", "")]
    written = LogEntry.objects.order_by("pk").values_list("change_message", flat=True)
    assert list(written) == ["Shipped. Sent with DHL 7.", "Shipped."]


def test_the_page_and_the_api_show_the_parcel_with_a_link_where_the_carrier_is_known(
    order: Order, buyer: User, as_buyer: Client
) -> None:
    api = signed_in(buyer)
    path = f"/api/v1/orders/{order.number}/"
    assert api.get(path).json()["tracking"] is None
    lifecycle.ship(order_id=order.pk, carrier="顺丰速运", tracking_number="SF123")
    tracking = api.get(path).json()["tracking"]
    url = "https://www.sf-express.com/chn/sc/waybill/waybill-detail/SF123"
    assert (tracking["carrier"], tracking["number"], tracking["url"]) == ("顺丰速运", "SF123", url)
    assert f'href="{url}"' in as_buyer.get(order.get_absolute_url()).content.decode()
    lifecycle.correct_tracking(order_id=order.pk, carrier="<b>Uncle Wang</b>", tracking_number="javascript:1")
    page = as_buyer.get(order.get_absolute_url()).content.decode()
    assert 'id="tracking"' not in page
    assert "&lt;b&gt;Uncle Wang" in page
    assert "javascript:1" in page


def test_which_carriers_are_known() -> None:
    for carrier, number, begins in (
        ("DHL Express", "1 2", "https://www.dhl.com/"),
        ("ups", "1Z/9", "https://www.ups.com/"),
        ("Groups Ltd", "1", ""),
        ("中通快递", "7", "https://www.zto.com/"),
        ("DHL", "", ""),
        ("", "1", ""),
    ):
        url = tracking_url(carrier=carrier, tracking_number=number)
        assert (url.startswith(begins), bool(url), " " in url) == (True, bool(begins), False), (carrier, number)
