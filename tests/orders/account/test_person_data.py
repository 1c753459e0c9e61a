"""A copy of one's data, and the end of an account."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from unittest import mock

import pytest
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.usersessions.models import UserSession
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from orders.account.deletion import NotNow, anonymise, delete_account
from orders.account.person_data import person_data
from orders.cart.cart_holder import Holder
from orders.checkout import placement
from orders.checkout.placement import place_order
from orders.life import lifecycle
from orders.models import (
    Cart,
    CartLine,
    IdempotentCall,
    LineMail,
    Mail,
    Order,
    OrderNote,
    OrderStatus,
    Payment,
    RecordedPayment,
    Refund,
    Reminder,
    ShippingAddress,
)
from seckill.models import SaleItem
from shop.accounts.session_store import SessionStore
from shop.accounts.tokens import new_token
from shop.models import AccountMail, Address, ApiToken, BuyerLanguage
from tests.processes import wait_until
from tests.steps.accounts import confirmed, enter_password_again, is_signed_in, sign_in
from tests.steps.at_once import in_the_middle, run_and_close
from tests.steps.buying import ADDRESS, add_to_cart, fill, make_orders, wish_of
from tests.steps.operating import waiting_for_locks
from tests.steps.paying import payment_row
from tests.steps.shop import goods
from tests.steps.staff import admin_page, customer_page

pytestmark = pytest.mark.django_db(transaction=True)


def kept_order(buyer: User, item: SaleItem, status: OrderStatus) -> Order:
    (order,) = make_orders(1, buyer=buyer, item=item, status=status)
    ShippingAddress.objects.create(order=order, **ADDRESS)
    OrderNote.objects.create(order=order, text="Li Lei called", made_by=buyer)
    notes = {"buyer_note": "for Li Lei's birthday", "staff_note": "knows Han Meimei"}
    Order.objects.filter(pk=order.pk).update(email="buyer@example.com", **notes)
    return order


@pytest.fixture
def person(buyer: User, item: SaleItem) -> User:
    """A buyer of whom the shop keeps something of every kind."""
    confirmed(buyer, "buyer@example.com")
    Address.objects.create(user=buyer, **ADDRESS)
    BuyerLanguage.objects.create(user=buyer, language="zh-hans")
    cart = Cart.objects.create(buyer=buyer)
    CartLine.objects.create(cart=cart, variant=item.variant, units=2, seen_price_minor=9900)
    new_token(buyer)
    return buyer


@pytest.fixture
def signed_in(client: Client, person: User) -> Client:
    """The person's own browser, where the password was just entered again."""
    assert sign_in(client, login="buyer", password="buyer-password").status_code == 302
    enter_password_again(client, "buyer-password")
    return client


def test_the_copy_has_everything_and_no_secret(signed_in: Client, person: User, item: SaleItem) -> None:
    order = kept_order(person, item, OrderStatus.PAID)
    payment_row(order, Payment.Status.CAPTURED)
    RecordedPayment.objects.create(order=order, amount_minor=1900, currency="CNY", reference="TX-1")
    LineMail.objects.create(item=item, buyer=person, sent_at=timezone.now())
    Reminder.objects.create(item=item, user=person, email="buyer@example.com", mailbox="m", language="en")
    answer = signed_in.get("/accounts/data/export/")
    assert answer["Content-Disposition"] == 'attachment; filename="stampede-my-data.json"'
    copy: dict[str, Any] = answer.json()
    assert copy["account"]["user_name"] == "buyer"
    assert copy["account"]["language"] == "zh-hans"
    assert copy["account"]["email_addresses"] == [{"email": "buyer@example.com", "verified": True, "primary": True}]
    assert copy["addresses"][0]["line1"] == "Tianshan Road 123"
    (told,) = copy["orders"]
    assert told["amount"] == "19.00"
    assert told["shipping_address"]["name"] == "Li Lei"
    assert told["note"] == "for Li Lei's birthday"
    assert told["notes_of_staff"][0]["text"] == "Li Lei called"
    assert told["older_note_of_staff"] == "knows Han Meimei"
    assert told["lines"] == [{"product": str(item.variant), "units": 1, "unit_price": "19.00"}]
    assert told["payments"][0]["status"] == "captured"
    assert told["payment_without_provider"]["reference"] == "TX-1"
    assert copy["cart"] == [{"product": str(item.variant), "units": 2}]
    assert copy["api_tokens"][0]["begins_with"] == ApiToken.objects.get().token_key
    assert copy["sessions"][0]["ip_address"] == "127.0.0.1"
    assert copy["mails_without_order"][0]["about"] == copy["reminders"][0]["about"] + " · Spring sale"
    assert copy["mails_without_order"][0]["sent_at"]
    text = answer.content.decode()
    for secret in (person.password, ApiToken.objects.get().digest, UserSession.objects.get().session_key):
        assert secret not in text


def test_copy_and_deletion_ask_for_the_password_and_the_copy_has_nothing_of_others(
    client: Client, person: User, stranger: User, item: SaleItem
) -> None:
    kept_order(person, item, OrderStatus.PAID)
    client.force_login(stranger)
    asked = client.post("/accounts/delete/")
    assert asked["Location"].startswith("/accounts/reauthenticate/")
    asked = client.get("/accounts/data/export/")
    assert asked["Location"].startswith("/accounts/reauthenticate/")
    answer = client.post(asked["Location"], {"password": "stranger-password"}, follow=True)
    assert answer.json()["orders"] == []
    assert "buyer" not in answer.content.decode()


def test_an_address_that_is_not_confirmed_shows_and_deletes_nothing_of_its_owner(
    stranger: User, item: SaleItem
) -> None:
    User.objects.filter(pk=stranger.pk).update(email="li@example.com")
    EmailAddress.objects.create(user=stranger, email="li@example.com", primary=True)
    Client().post(f"/reminders/item/{item.pk}/", {"email": "li@example.com"})
    assert (Reminder.objects.count(), AccountMail.objects.count()) == (1, 1)
    # Then the stranger's copy has neither, and the end of the account leaves both
    copy = person_data(User.objects.get(pk=stranger.pk))
    assert (copy["reminders"], copy["account_mails_not_sent_yet"]) == ([], [])
    delete_account(stranger.pk)
    assert (Reminder.objects.count(), AccountMail.objects.count()) == (1, 1)


def test_the_end_of_an_account_removes_the_person_and_keeps_the_orders(
    signed_in: Client, person: User, item: SaleItem
) -> None:
    order = kept_order(person, item, OrderStatus.COMPLETED)
    phone = Client()
    sign_in(phone, login="buyer", password="buyer-password")
    token = new_token(person)[1]
    waiting = {"subject": "s", "text": "t", "html": "h", "next_attempt_at": order.created_at}
    AccountMail.objects.create(to="buyer@example.com", **waiting)
    Mail.objects.create(order=order, kind=Mail.Kind.PAID, attempts=12, last_error="550 buyer@example.com: unknown")
    # Answers to repeated calls have the address that was ordered to. One is of another buyer, whose id begins alike.
    for owner in (f"buyer:{person.pk}", f"web:buyer:{person.pk}", f"buyer:{person.pk}:{order.pk}:cancel"):
        IdempotentCall.objects.create(owner=owner, key="1", answer={"shipping_address": ADDRESS})
    of_another = IdempotentCall.objects.create(owner=f"buyer:{person.pk}0", key="1")
    session_key = UserSession.objects.latest("pk").session_key
    assert "Delete the account for ever" in signed_in.get("/accounts/delete/").content.decode()
    answer = signed_in.post("/accounts/delete/")
    assert "Your account is deleted" in answer.content.decode()
    assert not is_signed_in(signed_in)
    assert not is_signed_in(phone)
    assert not SessionStore().exists(session_key)
    assert Client().get("/api/v1/me/", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert sign_in(Client(), login="buyer", password="buyer-password").status_code == 200
    assert sign_in(Client(), login="buyer@example.com", password="buyer-password").status_code == 200
    user = User.objects.get(pk=person.pk)
    assert user.username.startswith("deleted-")
    assert (user.email, user.first_name, user.is_active, user.has_usable_password()) == ("", "", False, False)
    gone = (Address, ApiToken, EmailAddress, UserSession, BuyerLanguage, Cart, AccountMail, ShippingAddress, OrderNote)
    for model in gone:
        assert not model.objects.exists(), model
    assert list(IdempotentCall.objects.all()) == [of_another]
    assert Mail.objects.get().last_error == "no address"
    kept = Order.objects.get()
    assert (kept.pk, kept.buyer, kept.amount_minor, kept.email, kept.buyer_note) == (order.pk, user, 1900, "", "")
    assert kept.staff_note == ""
    assert kept.lines.count() == 1
    # No mail about the order is written any more.
    assert kept.contact_email == ""
    assert not lifecycle.pay(order_id=kept.pk)


def test_the_address_and_the_browser_of_a_session_go_without_the_cache_server_too(
    signed_in: Client, person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise ConnectionError

    monkeypatch.setattr(SessionStore, "delete", away)
    delete_account(person.pk)
    assert not UserSession.objects.exists()


def test_calls_that_wait_for_the_end_of_an_account_keep_nothing_of_the_person(
    signed_in: Client, person: User, item: SaleItem
) -> None:
    credentials = {"username": "buyer", "password": "buyer-password"}
    pending = EmailAddress.objects.create(user=person, email="pending@example.com")
    goods("cup")
    was_guest = Client()
    add_to_cart(was_guest, "cup")
    was_guest.force_login(person)
    calls: list[Callable[[], Any]] = [
        lambda: signed_in.post("/accounts/email/", {"email": "new@example.com", "action_add": ""}),
        lambda: Client().post(f"/accounts/confirm-email/{EmailConfirmationHMAC(pending).key}/"),
        lambda: signed_in.post(f"/reminders/item/{item.pk}/"),
        lambda: signed_in.post("/accounts/addresses/new/", ADDRESS),
        lambda: Client().post("/api/v1/auth/token/", credentials, content_type="application/json"),
        lambda: add_to_cart(signed_in, "cup"),
        lambda: was_guest.get("/cart/"),
    ]
    with ThreadPoolExecutor(len(calls)) as threads:
        answers: list[Future[Any]] = []

        def calls_come_late(user: User) -> None:
            answers.extend(threads.submit(run_and_close(call)) for call in calls)
            wait_until(lambda: waiting_for_locks() == len(calls), seconds_max=20)
            anonymise(user)

        with mock.patch("orders.account.deletion.anonymise", calls_come_late):
            delete_account(person.pk)
    assert [answer.result().status_code for answer in answers] == [403, 403, 403, 403, 401, 403, 403]
    for model in (Address, ApiToken, EmailAddress, Reminder):
        assert not model.objects.exists(), model
    assert not Cart.objects.filter(buyer=person).exists()
    person.refresh_from_db()
    assert person.email == ""


def test_the_end_of_an_account_waits_for_a_checkout_and_then_finds_its_order(buyer: User) -> None:
    goods("cup")
    wish = wish_of(fill(Holder(buyer_id=buyer.pk), cup=2))
    with in_the_middle(placement, "move_units", lambda: delete_account(buyer.pk)) as deletion:
        order = place_order(wish).order
    with pytest.raises(NotNow) as refused:
        deletion[0].result()
    assert refused.value.orders == [order]
    assert Cart.objects.filter(buyer=buyer).exists()


def test_the_log_of_staff_names_a_deleted_account_as_it_is_called_now(
    as_manager: Client, person: User, rival: User
) -> None:
    for one, page in ((person, customer_page), (person, admin_page), (rival, customer_page)):
        saved = {"username": one.username, "is_active": "on", "email": f"{one.username}@example.org"}
        assert as_manager.post(page(one), saved).status_code == 302, page
    assert sorted(LogEntry.objects.values_list("object_repr", flat=True)) == ["buyer", "buyer", "rival"]
    delete_account(person.pk)
    person.refresh_from_db()
    names = [person.username, person.username, "rival"]
    assert sorted(LogEntry.objects.values_list("object_repr", flat=True)) == names


def test_deleting_twice_does_no_harm_and_frees_the_name(signed_in: Client, person: User) -> None:
    delete_account(person.pk)
    delete_account(person.pk)
    assert signed_in.post("/accounts/delete/")["Location"].startswith("/accounts/login/")
    assert User.objects.create_user("buyer", email="buyer@example.com").pk != person.pk


def test_an_account_with_an_open_order_stays_and_the_page_says_which(
    signed_in: Client, person: User, item: SaleItem
) -> None:
    kept_order(person, item, OrderStatus.COMPLETED)
    order = kept_order(person, item, OrderStatus.AWAITING_PAYMENT)
    for status in (OrderStatus.AWAITING_PAYMENT, OrderStatus.PAID, OrderStatus.SHIPPED, OrderStatus.REFUND_DUE):
        ended_at = None if status == OrderStatus.AWAITING_PAYMENT else order.created_at
        Order.objects.filter(pk=order.pk).update(status=status, ended_at=ended_at)
        text = signed_in.post("/accounts/delete/").content.decode()
        assert "these orders are not finished" in text, status
        assert f'href="{order.get_absolute_url()}"' in text
        assert "Delete the account for ever" not in text
    assert "these orders are not finished" in signed_in.get("/accounts/delete/").content.decode()
    person.refresh_from_db()
    assert person.is_active
    assert Address.objects.exists()


def test_money_that_came_late_and_a_refund_that_is_not_made_yet_keep_the_account(
    signed_in: Client, person: User, item: SaleItem
) -> None:
    order = kept_order(person, item, OrderStatus.EXPIRED)
    payment = payment_row(order)
    for status in (Payment.Status.CAPTURED, Payment.Status.REFUND_DUE):
        Payment.objects.filter(pk=payment.pk).update(status=status)
        assert "these orders are not finished" in signed_in.post("/accounts/delete/").content.decode(), status
    Payment.objects.update(status=Payment.Status.REFUNDED)
    Order.objects.update(status=OrderStatus.COMPLETED)
    refund = Refund.objects.create(order=order, amount_minor=500)
    assert "these orders are not finished" in signed_in.post("/accounts/delete/").content.decode()
    assert person_data(person)["orders"][0]["refunds"][0]["amount"] == "5.00"
    Refund.objects.filter(pk=refund.pk).update(status=Refund.Status.REFUNDED)
    assert "Your account is deleted" in signed_in.post("/accounts/delete/").content.decode()


def test_staff_cannot_delete_themselves_by_accident(as_manager: Client, shop_manager: User) -> None:
    enter_password_again(as_manager, "manager-password")
    assert "belongs to the staff" in as_manager.post("/accounts/delete/").content.decode()
    shop_manager.refresh_from_db()
    assert shop_manager.is_active
