"""A won unit is paid without a form in between where the buyer has saved an address; the others are asked before."""

from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from orders.cart.cart_holder import Holder
from orders.models import Order, OrderStatus, ShippingAddress, ShippingMethod, ShippingPrice
from orders.shipping.delivery_choice import attach_default
from orders.shipping.order_address import store_address
from shop.accounts.address_book import ADDRESSES_MAX, delete_address, save_address
from shop.models import Address, Product
from tests.steps.at_once import at_once
from tests.steps.buying import ADDRESS, add_to_cart, fill, form_of, order_of, signed_in
from tests.steps.paying import press_pay
from tests.steps.shop import goods, make_item, other_item
from tests.steps.staff import messages_on

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("as_buyer")]


def save(user: User, **changes: Any) -> Address:
    address = Address(user=user, **ADDRESS | changes)
    save_address(address)
    return address


@pytest.fixture
def saved(buyer: User) -> Address:
    return save(buyer, city="Suzhou")


@pytest.fixture
def post(db: None) -> ShippingMethod:
    """To China alone, for 8.00."""
    method = ShippingMethod.objects.create(code="post", name="Post", countries=["CN"])
    ShippingPrice.objects.create(method=method, price_minor=800)
    return method


def city_of(order: Order) -> str | None:
    row = ShippingAddress.objects.filter(order=order).first()
    return row.city if row else None


def test_an_order_that_is_opened_goes_to_the_default_address_and_can_be_changed(
    client: Client, order: Order, saved: Address
) -> None:
    page = client.get(order.get_absolute_url()).content.decode()
    assert city_of(order) == "Suzhou"
    assert page.count(f'href="{order.address_path}">change</a>') == 2
    assert client.post(order.pay_path)["Location"].startswith("/pay/simulated/")


def test_delivery_is_the_first_of_the_checkout_and_its_price_is_seen_before_payment(
    client: Client, order: Order, saved: Address, post: ShippingMethod
) -> None:
    answer = client.post(order.pay_path, follow=True)
    assert messages_on(answer) == ["A price has changed since you last saw it. Please look at the new total."]
    assert "Pay CN¥27.00" in answer.content.decode()
    order.refresh_from_db()
    assert (order.amount_minor, order.shipping_name) == (2700, "Post")
    assert client.post(order.pay_path)["Location"].startswith("/pay/simulated/")


def test_nothing_is_attached_without_a_default_address_to_which_the_shop_sends_or_once_nothing_is_to_be_paid(
    client: Client, order: Order, buyer: User, post: ShippingMethod, settings: Settings
) -> None:
    # Given an address in a country to which the shop does not send, then the buyer is asked
    address = save(buyer, country="DE", postcode="10115")
    client.get(order.get_absolute_url())
    assert city_of(order) is None
    assert client.post(order.pay_path)["Location"] == order.address_path
    # And nothing is attached with none, where nothing is sent, or after the order ended
    delete_address(user_id=buyer.pk, address_id=address.pk)
    assert not attach_default(Order.objects.get())
    save(buyer)
    settings.SHIPPING_ADDRESS_REQUIRED = False
    assert not attach_default(Order.objects.get())
    settings.SHIPPING_ADDRESS_REQUIRED = True
    for status in (OrderStatus.PAID, OrderStatus.EXPIRED, OrderStatus.CANCELLED, OrderStatus.REJECTED):
        Order.objects.update(status=status, ended_at=order.created_at)
        assert not attach_default(Order.objects.get()), status
    assert city_of(order) is None


def test_the_address_that_the_buyer_gave_stays(order: Order, saved: Address) -> None:
    store_address(order_id=order.pk, values=ADDRESS | {"city": "Ningbo"})
    # The order as a page read it before.
    assert not attach_default(Order.objects.get(pk=order.pk))
    stale = Order.objects.select_related("shipping_address").get(pk=order.pk)
    ShippingAddress.objects.filter(order=order).delete()
    unread = Order.objects.select_related("shipping_address").get(pk=order.pk)
    store_address(order_id=order.pk, values=ADDRESS | {"city": "Ningbo"})
    assert not attach_default(stale)
    assert not attach_default(unread)
    assert city_of(order) == "Ningbo"


def test_an_order_that_is_opened_often_at_once_gets_its_delivery_once(
    order: Order, buyer: User, saved: Address, post: ShippingMethod
) -> None:
    browsers = [Client() for _ in range(4)]
    for browser in browsers:
        browser.force_login(buyer)
    answers = at_once([partial(browser.get, order.get_absolute_url()) for browser in browsers])
    assert {answer.status_code for answer in answers} == {200}
    order.refresh_from_db()
    assert (order.amount_minor, order.shipping_minor, city_of(order)) == (2700, 800, "Suzhou")


def test_the_api_attaches_it_when_the_order_is_read_or_paid(
    order: Order, buyer: User, stranger: User, saved: Address, post: ShippingMethod
) -> None:
    api = signed_in(buyer)
    assert signed_in(stranger).get(f"/api/v1/orders/{order.number}/").status_code == 404
    assert city_of(order) is None
    body = api.get(f"/api/v1/orders/{order.number}/").json()
    assert (body["shipping_address"]["city"], body["amount"], body["shipping"]["name"]) == ("Suzhou", "27.00", "Post")
    assert press_pay(api, order.number, key="first").status_code == 201
    other = order_of(other_item(), buyer)
    # Its buyer has not seen the price of the delivery yet.
    refused = press_pay(api, other.number, key="second")
    assert (refused.status_code, refused.json()["code"]) == (409, "price_changed")
    assert refused.json()["detail"] == "The order costs CN¥27.00 now, delivery included. Nothing was charged."
    assert city_of(other) == "Suzhou"
    assert press_pay(api, other.number, key="second").status_code == 201


def test_the_api_opens_no_page_for_another_total_than_the_buyer_was_shown(
    order: Order, buyer: User, saved: Address, post: ShippingMethod
) -> None:
    api = signed_in(buyer)
    path = f"/api/v1/orders/{order.number}/pay/"

    def pay(total: str) -> tuple[int, str]:
        answer = api.post(path, {"expected_total": total}, headers={"Idempotency-Key": f"for {total}"})
        return answer.status_code, answer.json().get("code", answer.json().get("status"))

    assert pay("19.00") == (409, "price_changed")
    assert pay("much") == (400, "invalid")
    assert not order.payments.exists()
    assert pay("27") == (201, "pending")
    # The page that is open has this amount.
    assert pay("26.99") == (409, "price_changed")
    assert pay("27.00") == (200, "pending")


# --- the form, and the address book ---


def test_the_form_saves_to_the_address_book_when_told_to(client: Client, order: Order, buyer: User) -> None:
    assert "Save this address in my address book" in client.get(order.address_path).content.decode()
    later = ADDRESS | {"later": "yes"}
    client.post(order.address_path, later)
    assert not Address.objects.exists()
    for _ in range(2):
        client.post(order.address_path, later | {"to_address_book": "on"})
    kept = Address.objects.get()
    assert (kept.user, kept.line1, kept.is_default) == (buyer, ADDRESS["line1"], True)


def test_a_full_book_is_told_and_the_order_goes_on(client: Client, order: Order, buyer: User) -> None:
    Address.objects.bulk_create(Address(user=buyer, **ADDRESS | {"name": "Han Meimei"}) for _ in range(ADDRESSES_MAX))
    answer = client.post(order.address_path, ADDRESS | {"later": "yes", "to_address_book": "on"}, follow=True)
    assert "You have 20 addresses already. Delete one before you add another." in messages_on(answer)
    assert city_of(order) == ADDRESS["city"]


def test_the_checkout_saves_too_and_asks_no_guest(as_buyer: Client, buyer: User) -> None:
    goods("tea")
    fill(Holder(buyer_id=buyer.pk), tea=1)
    as_buyer.post("/checkout/", form_of(as_buyer, to_address_book="on"))
    assert Order.objects.get().shipping_address.line1 == Address.objects.get().line1
    guest = Client()
    add_to_cart(guest, "tea")
    assert "address book" not in guest.get("/checkout/").content.decode()


# --- before the opening ---


def test_the_page_of_the_sale_knows_who_has_no_address(buyer: User) -> None:
    api = signed_in(buyer)
    assert api.get("/api/v1/me/").json()["needs_address"] is True
    save(buyer)
    assert api.get("/api/v1/me/").json()["needs_address"] is False


def test_without_scripts_who_has_no_address_is_asked_before_the_opening(
    as_buyer: Client, buyer: User, product: Product
) -> None:
    item = make_item(product, opens_in_seconds=300)
    path = f"/sale-items/{item.pk}/reserve/"
    assert "Save one now to pay faster" in as_buyer.get(path).content.decode()
    assert "现在保存，付款更快" in as_buyer.get(f"/zh-hans{path}").content.decode()
    save(buyer)
    assert "Save one now to pay faster" not in as_buyer.get(path).content.decode()
