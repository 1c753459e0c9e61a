"""Staff correct mail and delivery address on the page of an order; its history says who, and it stays whose it was."""

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core import mail as outgoing
from django.test import Client
from django.utils import timezone

from orders import tasks
from orders.account.person_data import person_data
from orders.checkout.guest_bounds import mailbox_mark, unpaid_of_mailbox
from orders.life import lifecycle
from orders.mails import sending
from orders.models import Mail, Order, OrderStatus, ShippingAddress
from shop.models import Product
from tests.steps.buying import ADDRESS, GUEST, plain_order
from tests.steps.shop import variant_of
from tests.steps.staff import ORDERS, admin_page, messages_on

pytestmark = pytest.mark.usefixtures("_manager_signed_in")

FIXED = "The address can no longer be changed: the order has been sent, or it has ended."


@pytest.fixture
def order(product: Product, buyer: User) -> Order:
    order = plain_order(variant_of(product), buyer, 1, 1900, status=OrderStatus.PAID, ended_at=timezone.now())
    ShippingAddress.objects.create(order=order, **ADDRESS)
    return order


@pytest.fixture
def guests(product: Product) -> Order:
    """A guest's order with a mail address that was typed wrongly."""
    order = plain_order(variant_of(product), None, 1, 1900, email="geust@example.com", language="en")
    Order.objects.filter(pk=order.pk).update(guest_mailbox=mailbox_mark(order.email))
    return order


def address_page(order: Order) -> str:
    return f"{ORDERS}{order.pk}/address/"


def email_page(order: Order) -> str:
    return f"{ORDERS}{order.pk}/email/"


def correct(client: Client, order: Order, **changes: str) -> Any:
    return client.post(address_page(order), {**ADDRESS, **changes})


def history(client: Client, order: Order) -> str:
    return client.get(f"{ORDERS}{order.pk}/history/").content.decode()


def test_the_delivery_address_is_corrected_and_the_history_says_what_and_who(client: Client, order: Order) -> None:
    assert address_page(order) in client.get(admin_page(order)).content.decode()
    assert ADDRESS["line1"] in client.get(address_page(order)).content.decode()
    said = messages_on(correct(client, order, line1="Nanjing Road 9", phone="13900139000"))
    assert said == ["The delivery address is saved."]
    address = ShippingAddress.objects.get()
    assert (address.line1, address.phone, address.name) == ("Nanjing Road 9", "13900139000", ADDRESS["name"])
    page = history(client, order)
    assert "Delivery address changed: " in page
    assert "manager" in page
    # It is kept for longer than the address may be.
    assert "Nanjing Road" not in page
    moment = client.get(admin_page(order)).context["moments"][-1]
    assert (moment.what.startswith("Delivery address changed"), moment.by) == (True, "manager")


def test_a_wrong_address_is_asked_for_again_and_the_same_is_no_change(client: Client, order: Order) -> None:
    correct(client, order)
    assert "Delivery address changed" not in history(client, order)
    for wrong in ({"name": ""}, {"country": "XX"}):
        correct(client, order, **wrong)
        assert ShippingAddress.objects.get().line1 == ADDRESS["line1"], wrong
    # The parcel stays in the country that its delivery was paid for.
    Order.objects.update(shipping_name="Post")
    correct(client, order, country="DE", postcode="10115", city="Berlin")
    assert ShippingAddress.objects.get().country == "CN"
    # An order without an address gets one.
    ShippingAddress.objects.all().delete()
    correct(client, order)
    assert ShippingAddress.objects.get().city == ADDRESS["city"]


def test_what_the_buyer_has_corrected_since_the_page_was_shown_stays(client: Client, order: Order) -> None:
    old = client.get(address_page(order)).context["form"]["shown"].value()
    ShippingAddress.objects.update(postcode="200052")
    answer = correct(client, order, phone="13900139000", shown=old)
    assert "The address has changed since this page was shown." in answer.content.decode()
    address = ShippingAddress.objects.get()
    assert (address.postcode, address.phone) == ("200052", ADDRESS["phone"])
    correct(client, order, postcode="200052", phone="13900139000", shown=answer.context["form"]["shown"].value())
    assert ShippingAddress.objects.get().phone == "13900139000"


def test_an_old_page_overwrites_neither_a_tracking_number_nor_a_mail_address(
    client: Client, order: Order, guests: Order
) -> None:
    assert lifecycle.ship(order_id=order.pk, carrier="EMS", tracking_number="wrong")
    for url, row, name in (
        (f"{ORDERS}{order.pk}/tracking/", order, "tracking_number"),
        (email_page(guests), guests, "email"),
    ):
        old = client.get(url).context["form"].initial
        client.post(url, {**old, name: "colleague@example.com"})
        answer = client.post(url, {**old, name: "mine@example.com"})
        assert "This has changed since the page was shown." in answer.content.decode(), name
        row.refresh_from_db()
        assert getattr(row, name) == "colleague@example.com"
        client.post(url, {**answer.context["form"].initial, name: "mine@example.com"})
        row.refresh_from_db()
        assert getattr(row, name) == "mine@example.com"


def test_an_order_that_was_sent_keeps_its_address(client: Client, order: Order) -> None:
    # A form that was opened before the parcel left changes nothing either.
    assert lifecycle.ship(order_id=order.pk)
    assert address_page(order) not in client.get(admin_page(order)).content.decode()
    assert messages_on(client.get(address_page(order))) == [FIXED]
    assert messages_on(correct(client, order, line1="Nanjing Road 9")) == [FIXED]
    assert ShippingAddress.objects.get().line1 == ADDRESS["line1"]


def test_mails_of_a_guest_go_to_the_corrected_address(client: Client, guests: Order) -> None:
    # Given a guest who has no mail, since the address is wrong
    sending.enqueue(order_ids=[guests.pk], kind=Mail.Kind.PLACED)
    tasks.send_mails()
    assert outgoing.outbox[0].to == ["geust@example.com"]
    for wrong in ("", "x@example.com\nBcc: y@example.com", f"{'x' * 250}@example.com"):
        client.post(email_page(guests), {"email": wrong})
        guests.refresh_from_db()
        assert guests.email == "geust@example.com", wrong
    # When staff correct it and send the mail again
    assert messages_on(client.post(email_page(guests), {"email": GUEST})) == ["The mail address is saved."]
    client.post(f"/admin/orders/mail/{Mail.objects.get().pk}/again/")
    tasks.send_mails()
    # Then the guest has it, and the history names who did it
    assert outgoing.outbox[1].to == [GUEST]
    assert "Mail address changed." in history(client, guests)
    # And unpaid orders are counted for the new mailbox
    assert (unpaid_of_mailbox(GUEST), unpaid_of_mailbox("geust@example.com")) == (1, 0)


def test_the_order_of_a_guest_is_not_given_to_the_account_with_that_address(
    client: Client, guests: Order, rival: User
) -> None:
    """Staff may mistype it, too: the owner of the address has no right to see the order."""
    User.objects.filter(pk=rival.pk).update(email="rival@example.com")
    EmailAddress.objects.create(user=rival, email="rival@example.com", verified=True, primary=True)
    client.post(email_page(guests), {"email": "rival@example.com"})
    guests.refresh_from_db()
    assert (guests.email, guests.buyer) == ("rival@example.com", None)
    rival.refresh_from_db()
    assert person_data(rival)["orders"] == []
    client.force_login(rival)
    assert guests.shown_code not in client.get("/orders/").content.decode()
    assert client.get(f"/orders/{guests.number}/").status_code == 404


def test_the_address_of_an_account_is_not_corrected_with_an_order(client: Client, order: Order, buyer: User) -> None:
    """It would send the mails of one order to somebody else. The customer's page changes the account, and tells it."""
    assert email_page(order) not in client.get(admin_page(order)).content.decode()
    for method in (client.get, client.post):
        assert method(email_page(order), {"email": "thief@example.com"}).status_code == 404
    order.refresh_from_db()
    assert (order.email, order.buyer_id) == ("", buyer.pk)
