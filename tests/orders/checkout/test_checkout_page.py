"""The checkout as pages, without JavaScript: a guest and a buyer order, pay and cancel; what goes wrong is said."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core import mail as outbox
from django.core.signing import Signer
from django.test import Client

from orders.cart.cart_holder import Holder
from orders.checkout import placement
from orders.checkout.placement import place_order
from orders.guest_links import guest_path, signed_number
from orders.mails import sending
from orders.models import Mail, Order, OrderStatus, Payment, ShippingMethod, ShippingPrice
from orders.units.in_stock import move_units
from shop.models import Address, Variant
from tests.steps.buying import ADDRESS, GUEST, add_to_cart, assert_stock_agrees, fill, form_of, status_of, wish_of
from tests.steps.paying import message, send_webhook
from tests.steps.shop import goods, server_away, units_in

pytestmark = pytest.mark.django_db(transaction=True)


def placed(holder: Holder | None = None, units: int = 1) -> Order:
    """An order of tea, of a guest if no holder is named."""
    order = place_order(wish_of(fill(holder or Holder(), tea=units))).order
    assert order is not None
    return order


def test_a_guest_orders_pays_and_reads_that_it_is_paid(client: Client) -> None:
    # Given two lines in the cart of a guest
    tea, cup = goods("tea", price_minor=1000), goods("cup", price_minor=500)
    add_to_cart(client, "tea", 2)
    add_to_cart(client, "cup", 1)

    # When they fill in the checkout and order
    page = client.get("/checkout/").content.decode()
    assert "CN¥25.00" in page
    assert "Free delivery" in page
    given = {"billing_address": "Tea Import Ltd\r\nHafenstr. 1\r\n20457 Hamburg", "vat_number": "DE123456789"}
    answer = client.post("/checkout/", form_of(client, **given))

    # Then they come to the order, at a link that is theirs alone
    order = Order.objects.get()
    assert (order.billing_address.splitlines()[0], order.vat_number) == ("Tea Import Ltd", "DE123456789")
    assert answer["Location"] == guest_path(order.number)
    assert (units_in(tea), units_in(cup)) == ((8, 2, 0), (9, 1, 0))
    page_of_order = client.get(answer["Location"])
    text = page_of_order.content.decode()
    assert all(part in text for part in (order.shown_code, GUEST, "Shanghai", "Keep the address of this page"))
    assert page_of_order["Referrer-Policy"] == "same-origin"
    assert "no-store" in page_of_order["Cache-Control"]
    assert "noindex" in page_of_order["X-Robots-Tag"]

    # When they pay at the company's page and come back
    to_company = client.post(f"{answer['Location']}pay/")
    assert to_company["Location"].startswith("/pay/simulated/")
    back = client.post(to_company["Location"], {"action": "pay"})
    assert back["Location"] == f"{answer['Location']}?payment=returned"
    send_webhook(message(Payment.objects.get()))

    # Then the order is paid, the units are sold, and a mail is owed to the guest
    assert "We have received your payment" in client.get(back["Location"]).content.decode()
    assert (units_in(tea), units_in(cup)) == ((8, 0, 2), (9, 0, 1))
    assert_stock_agrees(tea)
    assert_stock_agrees(cup)
    assert Mail.objects.latest("pk").kind == Mail.Kind.PAID
    # It has what the one about the checkout would say.
    sending.send_due(seconds_max=5)
    (sent,) = outbox.outbox
    assert sent.to == [GUEST]
    assert guest_path(order.number) in sent.body
    assert "Hello Li Lei," in sent.body
    # The cart is empty again.
    assert "Your cart is empty." in client.get("/cart/").content.decode()


def test_a_guest_gets_number_and_link_at_once_and_cancels_there(client: Client) -> None:
    tea = goods("tea", price_minor=1000)
    order = placed(units=2)
    assert order.mails.get().kind == Mail.Kind.PLACED
    sending.send_due(seconds_max=5)
    (sent,) = outbox.outbox
    assert (sent.to, sent.subject) == ([GUEST], f"Order {order.shown_code}: 2 × Tea")
    assert guest_path(order.number) in sent.body
    assert "Please pay by " in sent.body
    assert "can see, pay and cancel the order, and change its delivery address" in " ".join(sent.body.split())
    path = guest_path(order.number)
    assert "Cancel this order?" in client.get(f"{path}cancel/").content.decode()
    assert client.post(f"{path}cancel/")["Location"] == path
    assert (status_of(order), units_in(tea)) == (OrderStatus.CANCELLED, (10, 0, 0))
    # A buyer with an account finds the order there.
    alice = User.objects.create(username="alice", email="alice@example.com")
    assert not placed(Holder(buyer_id=alice.pk)).mails.exists()


def test_checkouts_do_not_flood_the_address_of_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sending.PER_DAY_MAX, Mail.Kind.PLACED, 1)
    goods("tea")
    for _ in range(2):
        placed()
    sending.send_due(seconds_max=5)
    assert [sent.to for sent in outbox.outbox] == [[GUEST]]
    assert Mail.objects.get(sent_at=None).last_error == sending.TOO_MANY


def test_a_buyer_orders_with_the_saved_address_and_finds_the_order_in_the_account(
    as_buyer: Client, buyer: User
) -> None:
    goods("tea")
    Address.objects.create(user=buyer, is_default=True, **ADDRESS)
    other = Address.objects.create(user=buyer, **{**ADDRESS, "name": "Office"})
    add_to_cart(as_buyer, "tea", 1)
    page = as_buyer.get("/checkout/")
    assert 'value="Li Lei"' in page.content.decode()
    assert 'name="email"' not in page.content.decode()
    assert 'value="Office"' in as_buyer.get(f"/checkout/?address={other.pk}").content.decode()
    answer = as_buyer.post("/checkout/", form_of(as_buyer))
    order = Order.objects.get()
    assert answer["Location"] == f"/orders/{order.number}/"
    assert order.shown_code in as_buyer.get(answer["Location"]).content.decode()


def test_a_strangers_saved_address_is_not_shown(client: Client, buyer: User, stranger: User) -> None:
    goods("tea")
    theirs = Address.objects.create(user=buyer, **{**ADDRESS, "name": "Secret"})
    client.force_login(stranger)
    add_to_cart(client, "tea")
    for wanted in (str(theirs.pk), "nonsense", str(uuid4())):
        assert "Secret" not in client.get(f"/checkout/?address={wanted}").content.decode()


@pytest.mark.parametrize("refresh", [{}, {"refresh": "1"}], ids=["order", "choice"])
def test_a_buyer_whose_sign_in_has_ended_signs_in_again_and_reads_of_no_empty_cart(
    client: Client, buyer: User, refresh: dict[str, str]
) -> None:
    goods("tea")
    client.force_login(buyer)
    add_to_cart(client, "tea")
    form = form_of(client)
    del form["email"]
    client.logout()
    assert client.post("/checkout/", {**form, **refresh})["Location"] == "/accounts/login/?next=/checkout/"
    # As before for a guest, whose cart may have gone with the cookies.
    assert client.post("/checkout/", {**form, **refresh, "email": GUEST})["Location"] == "/cart/"


def test_only_a_signed_link_opens_a_guests_order(client: Client, buyer: User) -> None:
    goods("tea")
    order = placed()
    signed = signed_number(order.number)
    for forged in (
        order.number.hex,
        f"{uuid4().hex}.{signed.partition('.')[2]}",
        Signer(salt="another", sep=".").sign(order.number.hex),
        signed[:-1],
    ):
        assert client.get(f"/orders/guest/{forged}/").status_code == 404, forged
        for page in ("pay/", "cancel/"):
            assert client.post(f"/orders/guest/{forged}/{page}").status_code == 404, forged
    # Nor does signing in, nor the number alone; and an order of an account has no such link.
    client.force_login(buyer)
    assert client.get(f"/orders/{order.number}/").status_code == 404
    Order.objects.filter(pk=order.pk).update(buyer=buyer)
    assert client.get(f"/orders/guest/{signed}/").status_code == 404


def test_a_guest_never_sees_the_order_of_another_guest(client: Client) -> None:
    goods("tea")
    first, second = placed(), placed()
    text = client.get(guest_path(first.number)).content.decode()
    assert str(second.number) not in text
    assert second.shown_code not in text


def test_a_form_that_is_sent_twice_makes_one_order_and_leads_to_it(client: Client) -> None:
    goods("tea")
    add_to_cart(client, "tea")
    form = form_of(client)
    first, second = client.post("/checkout/", form), client.post("/checkout/", {**form, "note": "changed since"})
    assert first["Location"] == second["Location"]
    # Another tab has another key; the cart is empty by now.
    third = client.post("/checkout/", {**form, "key": str(uuid4())}, follow=True)
    assert "Your cart is empty. If you have just ordered" in third.content.decode()
    assert client.get("/checkout/")["Location"] == "/cart/"
    assert Order.objects.count() == 1


def test_a_new_price_and_a_stock_that_is_gone_are_shown_with_what_was_typed_kept(client: Client) -> None:
    goods("tea", price_minor=1000)
    add_to_cart(client, "tea", 2)
    form = form_of(client)
    Variant.objects.update(price_minor=1100)
    answer = client.post("/checkout/", form)
    text = answer.content.decode()
    assert answer.status_code == 409
    assert "A price has changed" in text
    assert "Price changed from CN¥10.00 to CN¥11.00" in text
    assert "CN¥22.00" in text
    assert 'value="Li Lei"' in text
    assert not Order.objects.exists()
    # There is no way past a stock that is gone.
    form = form_of(client)
    Variant.objects.update(available=1)
    answer = client.post("/checkout/", form)
    assert (answer.status_code, "Only 1 left" in answer.content.decode()) == (409, True)
    assert client.get("/checkout/")["Location"] == "/cart/"
    assert "Only 1 left" in client.get("/cart/").content.decode()


def test_units_that_others_take_in_the_same_moment_are_gone_and_not_too_many_for_one_order(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    tea = goods("tea", units=5)
    add_to_cart(client, "tea", 2)
    form, left = form_of(client), [1, 0]

    def after_others(**given: Any) -> None:
        Variant.objects.filter(pk=tea.pk).update(available=left.pop(0))
        move_units(**given)

    monkeypatch.setattr(placement, "move_units", after_others)
    for words in ("Only 1 left", "Sold out"):
        Variant.objects.filter(pk=tea.pk).update(available=5)
        text = client.post("/checkout/", form).content.decode()
        assert words in text
        assert "in one order" not in text


def test_what_was_typed_is_there_again_after_the_cart_was_changed(client: Client, stranger: User) -> None:
    # Given a guest whose order was refused, since the stock has changed
    tea = goods("tea", units=3)
    add_to_cart(client, "tea", 3)
    form = form_of(client, name="Zhang San", note="Ring twice", billing_address="Tea Import Ltd")
    Variant.objects.update(available=2)
    # Without the cache server, what was typed is forgotten.
    with server_away("cache"):
        assert client.post("/checkout/", form).status_code == 409
    assert client.post("/checkout/", form).status_code == 409
    # When they put fewer into the cart
    client.post("/cart/change/", {f"units-{tea.pk}": "2"})
    # Then the checkout has all that they typed, for them alone
    text = client.get("/checkout/").content.decode()
    for typed in ("Zhang San", GUEST, "Tianshan Road", "Ring twice", "Tea Import Ltd"):
        assert typed in text, typed
    others = Client()
    add_to_cart(others, "tea")
    assert "Zhang San" not in others.get("/checkout/").content.decode()
    # And not for an account that signs in
    client.force_login(stranger)
    assert "Zhang San" not in client.get("/checkout/").content.decode()


def test_what_was_typed_is_forgotten_with_the_order(client: Client) -> None:
    goods("tea", units=2)
    add_to_cart(client, "tea", 2)
    form = form_of(client, name="Zhang San")
    Variant.objects.update(available=1)
    assert client.post("/checkout/", form).status_code == 409
    Variant.objects.update(available=9)
    assert "Zhang San" in client.get("/checkout/").content.decode()
    assert client.post("/checkout/", form).status_code == 302
    add_to_cart(client, "tea")
    assert "Zhang San" not in client.get("/checkout/").content.decode()


def test_delivery_and_total_follow_the_country(client: Client) -> None:
    goods("tea", price_minor=1000)
    for code, country, price_minor in (("near", "CN", 500), ("far", "DE", 9000)):
        method = ShippingMethod.objects.create(code=code, name=code.title(), countries=[country])
        ShippingPrice.objects.create(method=method, price_minor=price_minor)
    add_to_cart(client, "tea")
    assert "CN¥15.00" in client.get("/checkout/").content.decode()
    there = client.post("/checkout/", {**ADDRESS, "country": "DE", "refresh": "1"}).content.decode()
    assert "CN¥100.00" in there
    assert "Near" not in there
    # Only countries to which the shop sends are offered.
    assert re.findall(r'<option value="(\w\w)"', there) == ["CN", "DE"]
    # The way that was chosen for another country is asked about again.
    form = form_of(client)
    answer = client.post("/checkout/", {**form, "country": "DE", "postcode": "10115"})
    assert (answer.status_code, "Please choose how we send your order." in answer.content.decode()) == (409, True)
    # And a price of the form that is not the shop's is not taken.
    assert client.post("/checkout/", {**form, "shipping": "near:0"}).status_code == 409
    assert client.post("/checkout/", {**form, "seen_total": "1"}).status_code == 409
    assert not Order.objects.exists()


def test_missing_fields_are_marked(client: Client) -> None:
    goods("tea")
    add_to_cart(client, "tea")
    answer = client.post("/checkout/", {"country": "CN", "email": "no", "phone": "call me"})
    text = answer.content.decode()
    assert "Please correct what is marked below." in text
    assert text.count('aria-invalid="true"') == 6
    assert not Order.objects.exists()
    assert "请更正下方标出的内容。" in client.post("/zh-hans/checkout/", {}).content.decode()


def test_hostile_text_is_refused_or_shown_as_text(client: Client) -> None:
    goods("tea")
    add_to_cart(client, "tea")
    form = form_of(client)
    for text in ("<script>alert(1)</script>", "x" * 5000, "a\0b"):
        answer = client.post("/checkout/", form | dict.fromkeys(("name", "key", "shipping"), text), follow=True)
        assert answer.status_code in (200, 409), text
        assert "<script>alert" not in answer.content.decode()


def test_too_many_orders_have_to_wait(client: Client, settings: LazySettings) -> None:
    settings.CHECKOUT_LIMIT_BY_ADDRESS = "1/minute"
    goods("tea")
    add_to_cart(client, "tea")
    form = form_of(client)
    assert [client.post("/checkout/", form).status_code for _ in range(2)] == [302, 429]


def test_the_link_is_sent_again_to_whoever_knows_number_and_address(client: Client, settings: LazySettings) -> None:
    goods("tea")
    order = placed()
    settings.FIND_ORDER_LIMIT = "4/minute"
    shy = f" {order.code[:4].lower()}-{order.code[4:].lower()} "
    answers = [
        Client().post("/orders/find/", {"code": code, "email": email}).content.decode()
        for code, email in ((shy, GUEST.upper()), (order.code, "stranger@example.com"), ("AAAAAAAA", GUEST))
    ]
    # The answers do not say whether there is such an order.
    assert len({re.sub(r'(csrfmiddlewaretoken" value="|data-now-ms=")[^"]*', "", answer) for answer in answers}) == 1
    assert [mail.kind for mail in Mail.objects.order_by("pk")] == [Mail.Kind.PLACED, Mail.Kind.LINK]
    Mail.objects.filter(kind=Mail.Kind.PLACED).delete()
    sending.send_due(seconds_max=5)
    assert guest_path(order.number) in outbox.outbox[0].body
    assert "and change its delivery address" in " ".join(outbox.outbox[0].body.split())
    # Once more: the same mail, sent again.
    Client().post("/orders/find/", {"code": order.code, "email": GUEST})
    sending.send_due(seconds_max=5)
    assert len(outbox.outbox) == 2
    assert Client().post("/orders/find/", {"code": order.code, "email": GUEST}).status_code == 429
