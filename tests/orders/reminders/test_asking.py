"""“Remind me” and “Tell me when it is back”: who gets a mail, and what a stranger can do with another's address."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from allauth.account.models import EmailAddress
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core import mail, signing
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from orders.account.deletion import delete_account
from orders.account.person_data import person_data
from orders.checkout.guest_bounds import mailbox_mark
from orders.models import Reminder
from orders.reminders import due_reminders, reminder_mails, subscribing
from orders.reminders.subscribing import stop_url
from seckill.models import Sale, SaleItem
from shop.accounts import mail_queue
from shop.models import AccountMail, Product
from tests.steps.guarding import confirmed, replace_key
from tests.steps.shop import goods, make_item

pytestmark = pytest.mark.django_db


@pytest.fixture
def coming(product: Product) -> SaleItem:
    return make_item(product, opens_in_seconds=7200, closes_in_seconds=9000)


def page_of(item: SaleItem) -> str:
    return f"/reminders/sale/{item.sale_id}/"


def link_in(text: str, part: str) -> str:
    found = re.search(rf"https?://[^/\s]+(\S*/reminders/{part}/\S+)", text)
    assert found
    return found[1]


def let_sale_come_near(item: SaleItem, *, minutes: int = 4) -> None:
    Sale.objects.filter(pk=item.sale_id).update(opens_at=timezone.now() + timedelta(minutes=minutes))


def sent() -> list[Any]:
    due_reminders.make_due()
    mail.outbox.clear()
    reminder_mails.send_due(seconds_max=10)
    return list(mail.outbox)


def test_a_buyer_with_a_confirmed_address_presses_one_button_and_can_take_it_back(
    coming: SaleItem, buyer: User, as_buyer: Client, rival: User
) -> None:
    confirmed(buyer)
    assert "buyer@example.com" in as_buyer.get(page_of(coming)).content.decode()
    assert "We will send one mail to buyer@example.com" in as_buyer.post(page_of(coming)).content.decode()
    # Only the buyer can take it back.
    stranger = Client()
    stranger.force_login(confirmed(rival))
    stranger.post(page_of(coming), {"stop": "1"})
    assert Reminder.objects.count() == 1
    as_buyer.post(page_of(coming), {"stop": "1"})
    assert not Reminder.objects.exists()
    # And who presses twice gets one mail, shortly before the opening.
    for _ in range(2):
        as_buyer.post(page_of(coming))
    assert sent() == []
    let_sale_come_near(coming)
    (message,) = sent()
    assert message.to == ["buyer@example.com"]
    assert "Spring sale" in message.subject
    assert not Reminder.objects.exists()
    assert sent() == []


def test_a_guest_can_ask_for_a_product_with_any_name(client: Client) -> None:
    variant = goods("cup", units=0)
    for number, name in enumerate(("x" * 200, "\u0e01\u0e34" * 100, "Longjing\r\ntea")):
        Product.objects.update(name_en=name)
        page = client.post(f"/reminders/variant/{variant.pk}/", {"email": f"li{number}@example.com"})
        assert page.status_code == 200, name
        mail_queue.send_due(seconds_max=10)
        assert mail.outbox[-1].to == [f"li{number}@example.com"]
        assert mail.outbox[-1].subject.startswith(f"Please confirm: a mail about “{' '.join(name.split())[:100]}")


def test_a_guest_confirms_the_address_by_a_button(coming: SaleItem, client: Client) -> None:
    page = client.post(f"/zh-hans{page_of(coming)}", {"email": "li@example.com"})
    assert "请查收邮件" in page.content.decode()
    let_sale_come_near(coming)
    assert sent() == []
    mail_queue.send_due(seconds_max=10)
    (question,) = mail.outbox
    assert question.to == ["li@example.com"]
    link = link_in(str(question.body), "confirm")
    assert link.startswith("/zh-hans/")
    # Mail programs look at links.
    client.get(link)
    assert sent() == []
    assert "谢谢" in client.post(link).content.decode()
    (message,) = sent()
    assert "春季秒杀" in message.subject
    assert client.get(link).status_code == 404


def test_one_click_stops_all_and_needs_neither_cookie_nor_token(
    coming: SaleItem, buyer: User, as_buyer: Client
) -> None:
    confirmed(buyer)
    as_buyer.post(page_of(coming))
    variant = goods("cup", units=0)
    as_buyer.post(f"/reminders/variant/{variant.pk}/")
    let_sale_come_near(coming)
    (message,) = sent()
    headers = message.extra_headers
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert "buyer@example.com" not in headers["List-Unsubscribe"]
    program = Client(enforce_csrf_checks=True)
    path = link_in(headers["List-Unsubscribe"].strip("<>"), "stop")
    assert Reminder.objects.count() == 1
    program.get(path)
    assert Reminder.objects.count() == 1
    assert program.post(path, {"List-Unsubscribe": "One-Click"}).status_code == 200
    assert not Reminder.objects.exists()
    assert program.post("/reminders/stop/x/").status_code == 404


def test_one_address_gets_at_most_three_reminder_mails_however_it_is_spelled(
    coming: SaleItem, settings: LazySettings
) -> None:
    settings.REMINDER_LIMIT = "100/10minutes"
    pages = [page_of(coming), *(f"/reminders/variant/{goods(f'cup{n}', units=0).pk}/" for n in range(4))]
    answers = set()
    for number, path in enumerate(pages):
        browser = Client(REMOTE_ADDR=f"192.0.2.{number}")
        page = browser.post(path, {"email": f"vic.tim+{number}@example.com"}).content.decode()
        answers.add("Check your mailbox" in page)
        browser.post(path, {"email": f"victim+{number}@example.com"})
    assert answers == {True}
    assert AccountMail.objects.count() == 3


def test_addresses_that_differ_in_a_dot_are_two_people(coming: SaleItem, buyer: User, as_buyer: Client) -> None:
    # Given a stranger with the address a.b@ and a buyer with ab@
    Client().post(page_of(coming), {"email": "a.b@example.com"})
    Reminder.objects.update(confirmed_at=timezone.now())
    confirmed(buyer, "ab@example.com")
    # When the buyer asks for the same reminder, and wants it no more, and asks again
    for form in ({}, {"stop": "1"}, {}):
        assert "a.b@example.com" in Reminder.objects.values_list("email", flat=True)
        as_buyer.post(page_of(coming), form)
    # Then both get it
    assert [row["email"] for row in person_data(buyer)["reminders"]] == ["ab@example.com"]
    let_sale_come_near(coming)
    messages = {message.to[0]: message for message in sent()}
    assert messages.keys() == {"a.b@example.com", "ab@example.com"}
    # And the link of one stops the reminders of that one alone
    for address in messages:
        Client().post(page_of(coming), {"email": address})
    assert Reminder.objects.count() == 2
    Client().post(link_in(messages["ab@example.com"].extra_headers["List-Unsubscribe"].strip("<>"), "stop"))
    assert [row.email for row in Reminder.objects.all()] == ["a.b@example.com"]


def test_a_link_of_the_release_before_stops_what_its_mailbox_has(coming: SaleItem) -> None:
    Client().post(page_of(coming), {"email": "a.b@example.com"})
    link = signing.dumps(mailbox_mark("a.b@example.com"), salt=subscribing.STOP_SALT)
    assert Client().post(f"/reminders/stop/{link}/").status_code == 200
    assert not Reminder.objects.exists()


def test_a_stranger_who_types_an_address_keeps_no_reminder_from_its_owner(
    coming: SaleItem, buyer: User, as_buyer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscribing, "REMINDERS_MAX", 2)
    confirmed(buyer)
    for slug in ("cup", "pot", "jug", "tin"):
        Client().post(f"/reminders/variant/{goods(slug, units=0).pk}/", {"email": "buyer@example.com"})
    # A row without a question would be of no use.
    assert Reminder.objects.count() == AccountMail.objects.count() == 3
    assert "I do not want the mail" in as_buyer.post(page_of(coming)).content.decode()


def test_one_network_asks_only_so_often(coming: SaleItem, client: Client, settings: LazySettings) -> None:
    settings.REMINDER_LIMIT = "2/10minutes"
    codes = [client.post(page_of(coming), {"email": f"a{n}@example.com"}).status_code for n in range(3)]
    assert codes == [200, 200, 429]


def test_an_account_without_a_confirmed_address_is_asked_as_a_guest_and_only_once(
    coming: SaleItem, as_buyer: Client, client: Client
) -> None:
    as_buyer.post(page_of(coming), {"email": "li@example.com"})
    assert Reminder.objects.get().confirmed_at is None
    assert AccountMail.objects.count() == 1
    client.logout()
    Reminder.objects.update(confirmed_at=timezone.now())
    AccountMail.objects.all().delete()
    assert "Check your mailbox" in client.post(page_of(coming), {"email": "li@example.com"}).content.decode()
    assert not AccountMail.objects.exists()


def test_only_coming_sales_and_sold_out_products_have_reminders(
    coming: SaleItem, item: SaleItem, product: Product, client: Client
) -> None:
    draft = make_item(product, published=False, opens_in_seconds=90000, closes_in_seconds=99000)
    assert client.get(page_of(draft)).status_code == 404
    assert client.get("/reminders/user/1/").status_code == 404
    assert client.get(page_of(item)).status_code == 302
    assert client.get(f"/reminders/variant/{goods('pot', units=3).pk}/").status_code == 302
    hidden = goods("jug", units=0)
    type(hidden).objects.filter(pk=hidden.pk).update(is_active=False)
    assert client.get(f"/reminders/variant/{hidden.pk}/").status_code == 404


def change_address(person: User, email: str) -> None:
    """The account has this confirmed address instead of the former one; none if it is empty."""
    EmailAddress.objects.filter(user=person).delete()
    if email:
        confirmed(person, email)


def test_a_reminder_follows_the_confirmed_address_of_its_account(
    coming: SaleItem, buyer: User, as_buyer: Client
) -> None:
    confirmed(buyer)
    as_buyer.post(page_of(coming))
    as_buyer.post(f"/reminders/variant/{goods('cup', units=0).pk}/")
    # Given that an address which differs in a dot from the next one is another person's
    Client().post(page_of(coming), {"email": "n.ew@example.com"})
    Reminder.objects.update(confirmed_at=timezone.now())
    change_address(buyer, "new@example.com")
    assert "We will send one mail to new@example.com" in as_buyer.get(page_of(coming)).content.decode()
    let_sale_come_near(coming)
    messages = {message.to[0]: message for message in sent()}
    assert messages.keys() == {"n.ew@example.com", "new@example.com"}
    # Its link stops the others too, which were asked for with the former address.
    Client().post(link_in(messages["new@example.com"].extra_headers["List-Unsubscribe"].strip("<>"), "stop"))
    assert not Reminder.objects.exists()


def test_a_reminder_goes_with_the_last_confirmed_address_of_its_account(
    coming: SaleItem, buyer: User, as_buyer: Client
) -> None:
    confirmed(buyer)
    as_buyer.post(page_of(coming))
    # Given that staff have typed another one, which nobody has confirmed
    change_address(buyer, "")
    EmailAddress.objects.create(user=buyer, email="typed@example.com", primary=True)
    assert "and no others" not in as_buyer.get(page_of(coming)).content.decode()
    let_sale_come_near(coming)
    assert sent() == []
    assert not Reminder.objects.exists()


def test_two_reminders_of_an_account_that_come_to_one_address_are_one_mail(coming: SaleItem, buyer: User) -> None:
    confirmed(buyer, "new@example.com")
    for mailbox in (mailbox_mark("old@example.com"), mailbox_mark("new@example.com")):
        row = {"user": buyer, "email": "old@example.com", "language": "en", "confirmed_at": timezone.now()}
        Reminder.objects.create(sale=coming.sale, mailbox=mailbox, **row)
    let_sale_come_near(coming)
    assert [message.to for message in sent()] == [["new@example.com"]]
    assert not Reminder.objects.exists()


def test_the_next_owner_of_an_address_that_an_account_has_left_is_asked(
    coming: SaleItem, buyer: User, as_buyer: Client
) -> None:
    confirmed(buyer, "old@example.com")
    as_buyer.post(page_of(coming))
    change_address(buyer, "new@example.com")
    Client().post(page_of(coming), {"email": "old@example.com"})
    assert AccountMail.objects.get().to == "old@example.com"
    let_sale_come_near(coming)
    assert [message.to for message in sent()] == [["new@example.com"]]


def test_a_mail_that_a_guest_has_confirmed_is_the_accounts_as_well(
    coming: SaleItem, buyer: User, as_buyer: Client
) -> None:
    confirmed(buyer)
    Client().post(page_of(coming), {"email": "buyer@example.com"})
    Reminder.objects.update(confirmed_at=timezone.now())
    assert "I do not want the mail" in as_buyer.get(page_of(coming)).content.decode()
    assert "I do not want the mail" in as_buyer.post(page_of(coming)).content.decode()
    change_address(buyer, "new@example.com")
    let_sale_come_near(coming)
    assert [message.to for message in sent()] == [["new@example.com"]]


def test_a_buyer_who_waits_for_as_many_mails_as_one_may_is_told(
    coming: SaleItem, buyer: User, as_buyer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscribing, "REMINDERS_MAX", 1)
    confirmed(buyer)
    cup = f"/reminders/variant/{goods('cup', units=0).pk}/"
    as_buyer.post(cup)
    assert "You wait for 1 mails already." in as_buyer.post(page_of(coming)).content.decode()
    assert "You wait for" not in as_buyer.get(page_of(coming)).content.decode()
    as_buyer.post(cup, {"stop": "1"})
    assert "I do not want the mail" in as_buyer.post(page_of(coming)).content.decode()


def test_the_copy_of_a_persons_data_has_them_and_the_deletion_removes_them(
    coming: SaleItem, buyer: User, as_buyer: Client
) -> None:
    confirmed(buyer)
    as_buyer.post(page_of(coming))
    Client().post(f"/reminders/variant/{goods('cup', units=0).pk}/", {"email": "Buyer@example.com"})
    Client().post(page_of(coming), {"email": "other@example.com"})
    kept = person_data(User.objects.get(pk=buyer.pk))["reminders"]
    assert {row["email"].lower() for row in kept} == {"buyer@example.com"}
    assert len(kept) == 2
    delete_account(buyer.pk)
    assert list(Reminder.objects.values_list("email", flat=True)) == ["other@example.com"]


def test_nothing_is_kept_after_the_sale_or_without_a_confirmation(coming: SaleItem, client: Client) -> None:
    client.post(page_of(coming), {"email": "li@example.com"})
    client.post(f"/reminders/variant/{goods('cup', units=0).pk}/", {"email": "li@example.com"})
    assert due_reminders.forget_past() == 0
    Sale.objects.update(opens_at=timezone.now() - timedelta(hours=2), closes_at=timezone.now() - timedelta(hours=1))
    assert due_reminders.forget_past() == 1
    Reminder.objects.update(created_at=timezone.now() - timedelta(days=3))
    assert due_reminders.forget_past() == 1


def test_after_half_a_year_a_product_is_waited_for_no_more_and_a_sale_that_still_opens_is(coming: SaleItem) -> None:
    ask(coming, "li@example.com")
    ask_for_cup("li@example.com")
    Reminder.objects.update(confirmed_at=timezone.now(), created_at=timezone.now() - timedelta(days=181))
    assert due_reminders.forget_past() == 1
    assert Reminder.objects.get().sale == coming.sale


def test_the_pages_lead_there(coming: SaleItem, item: SaleItem, client: Client) -> None:
    sale = client.get(f"/sales/{coming.sale_id}/").content.decode()
    assert page_of(coming) in sale
    assert 'name="email"' in client.get(page_of(coming)).content.decode()
    assert f"/sales/{coming.sale_id}/calendar.ics" in sale
    open_sale = client.get(f"/sales/{item.sale_id}/").content.decode()
    assert page_of(item) not in open_sale
    assert f"/reminders/item/{item.pk}/" in open_sale
    gone = goods("cup", units=0)
    assert f"/reminders/variant/{gone.pk}/" in client.get(gone.get_absolute_url()).content.decode()


def ask(coming: SaleItem, email: str) -> None:
    Client().post(f"/reminders/sale/{coming.sale_id}/", {"email": email})


def ask_for_cup(email: str) -> Reminder:
    Client().post(f"/reminders/variant/{goods('cup', units=0).pk}/", {"email": email})
    return Reminder.objects.get(email=email, sale=None)


def stop_link(row: Reminder) -> str:
    return urlsplit(stop_url(row)).path


def test_a_link_of_the_former_key_stops_all_reminders_of_its_address(coming: SaleItem, settings: Settings) -> None:
    # Given two people whose addresses differ in a dot, and the link of one
    for address in ("a.b@example.com", "ab@example.com"):
        ask(coming, address)
    link = stop_link(Reminder.objects.get(email="a.b@example.com"))
    # When the key is replaced, and this person asks for the same mail and for another, and presses the link
    replace_key(settings)
    ask(coming, "a.b@example.com")
    assert Reminder.objects.count() == 2
    ask_for_cup("a.b@example.com")
    assert Client().post(link).status_code == 200
    # Then only the reminder of the other is left
    assert [row.email for row in Reminder.objects.all()] == ["ab@example.com"]


def test_a_link_of_the_new_key_stops_what_was_asked_for_before(coming: SaleItem, settings: Settings) -> None:
    ask(coming, "a.b@example.com")
    replace_key(settings)
    cup = ask_for_cup("a.b@example.com")
    link = stop_link(cup)
    # Its mail was sent.
    cup.delete()
    Client().post(link)
    assert not Reminder.objects.exists()
