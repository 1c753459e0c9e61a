"""Staff correct a customer's saved delivery address, and a former e-mail address hears of a change."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client

from shop.accounts.address_book import save_address
from shop.languages.buyer_language import store_language
from shop.models import Address
from tests.steps.accounts import confirmed, one_mail
from tests.steps.buying import HANGZHOU
from tests.steps.staff import admin_page, customer_page, employee

pytestmark = pytest.mark.django_db


@pytest.fixture
def saved(buyer: User) -> Address:
    address = Address(user=buyer, **HANGZHOU)
    save_address(address)
    return address


def send(client: Client, address: Address, **changes: str) -> Any:
    answer = client.post(admin_page(address), HANGZHOU | changes)
    address.refresh_from_db()
    return answer


def test_staff_with_the_permission_correct_it_and_the_customers_history_says_so(client: Client, saved: Address) -> None:
    client.force_login(employee("view_user", "change_address"))
    assert admin_page(saved) in client.get(customer_page(saved.user)).content.decode()
    answer = send(client, saved, city="宁波", postcode="", line1="药行街1号")
    assert answer["Location"] == customer_page(saved.user)
    # As the buyer's own form would save it.
    assert (saved.city, saved.line1, saved.is_default) == ("宁波市", "药行街1号", True)
    history = client.get(f"/admin/shop/address/{saved.pk}/history/", follow=True).content.decode()
    assert "Delivery address changed" in history
    assert "employee" in history
    assert "药行街" not in LogEntry.objects.get().change_message


def test_what_the_customer_has_changed_since_the_page_was_shown_stays(client: Client, saved: Address) -> None:
    client.force_login(employee("view_user", "change_address"))
    old = client.get(admin_page(saved)).context["adminform"].form["shown"].value()
    Address.objects.update(line1="药行街1号")
    answer = send(client, saved, phone="13900139000", shown=old)
    assert "The address has changed since this page was shown." in answer.content.decode()
    assert (saved.line1, saved.phone) == ("药行街1号", HANGZHOU["phone"])
    form = answer.context["adminform"].form
    assert form["line1"].value() == "药行街1号"
    send(client, saved, line1="药行街1号", phone="13900139000", shown=form["shown"].value())
    assert saved.phone == "13900139000"


def test_the_rules_of_the_country_count(client: Client, saved: Address) -> None:
    client.force_login(employee("view_user", "change_address"))
    answer = send(client, saved, country="US", region="CA", city="San Francisco", postcode="10001", phone="")
    assert "10001 is no postcode of California" in answer.content.decode()
    assert saved.country == "CN"


def test_without_the_permission_it_is_only_seen(client: Client, saved: Address) -> None:
    client.force_login(employee("view_user", "change_user"))
    assert client.get(admin_page(saved)).status_code == 200
    assert send(client, saved, city="宁波").status_code == 403
    client.force_login(User.objects.create_user("other", is_staff=True))
    assert client.get(admin_page(saved)).status_code == 403
    assert saved.city == HANGZHOU["city"]


def test_the_address_of_somebody_with_rights_is_not_for_staff(as_manager: Client, saved: Address) -> None:
    User.objects.filter(pk=saved.user_id).update(is_staff=True)
    assert as_manager.get(admin_page(saved)).status_code == 302
    send(as_manager, saved, city="宁波")
    assert saved.city == HANGZHOU["city"]
    # Addresses have no list.
    assert as_manager.get("/admin/shop/address/")["Location"] == "/admin/shop/customer/"


def test_a_former_address_hears_in_its_language_that_staff_have_changed_it(client: Client, buyer: User) -> None:
    confirmed(buyer, "old@example.com")
    store_language(user_id=buyer.pk, language="zh-hans")
    client.force_login(employee("change_user"))
    client.post(customer_page(buyer), {"email": "new@example.com", "is_active": "on", "mail_language": "zh-hans"})
    mail = one_mail()
    assert (mail.to, mail.subject) == (["old@example.com"], "您的邮箱已更换")
    assert "今后不再向 old@example.com 发送邮件" in str(mail.body)
    assert "new@example.com" not in str(mail.body)
