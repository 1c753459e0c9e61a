"""A person's page in the admin shows their orders and what matters, and no password hash."""

import re
from datetime import datetime
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from orders.models import Order
from seckill.models import SaleItem
from shop.languages.buyer_language import stored_language
from tests.steps.accounts import confirmed, send_mails, sign_in
from tests.steps.buying import make_orders
from tests.steps.shop import statements, statements_for
from tests.steps.staff import admin_page, customer_page, employee

pytestmark = pytest.mark.django_db


def test_a_page_shows_the_persons_orders_and_the_order_leads_back(client: Client, order: Order, buyer: User) -> None:
    staff = employee("view_order", "view_user")
    client.force_login(staff)
    page = client.get(customer_page(buyer)).content.decode()
    for text in (order.shown_code, "1 × Longjing tea", "awaiting payment", f"/admin/orders/order/{order.pk}/change/"):
        assert text in page
    assert "_save" not in page
    assert f'href="{customer_page(buyer)}"' in client.get(admin_page(order)).content.decode()
    # Orders are for those of the staff who may see orders.
    staff.user_permissions.remove(Permission.objects.get(codename="view_order"))
    assert order.shown_code not in client.get(customer_page(buyer)).content.decode()


def test_the_page_shows_nothing_of_the_password(as_manager: Client, buyer: User) -> None:
    page = as_manager.get(customer_page(buyer)).content.decode()
    algorithm, salt, digest = buyer.password.split("$")
    for part in (algorithm, salt, digest, digest[:6]):
        assert part not in page
    assert f"/admin/auth/user/{buyer.pk}/password/" in as_manager.get(admin_page(buyer)).content.decode()
    for form in (f"{buyer.pk}/password/", "add/"):
        assert as_manager.get(f"/admin/auth/user/{form}").status_code == 200


def save(client: Client, person: User, **changes: Any) -> None:
    sent = {"email": person.email, "is_active": "on", **changes}
    assert client.post(customer_page(person), sent).status_code == 302
    person.refresh_from_db()


def shown_on(client: Client, page: str) -> dict[str, str]:
    """The hidden fields of an open page, which say what it shows."""
    return dict(re.findall(r'name="(initial-[a-z_]+)"(?: value="([^"]*)")?', client.get(page).content.decode()))


def test_an_old_page_takes_back_nothing_that_was_changed_since(as_manager: Client, buyer: User) -> None:
    save(as_manager, buyer, email="old@example.com")
    of_customer, of_account = (shown_on(as_manager, page(buyer)) for page in (customer_page, admin_page))
    save(as_manager, buyer, email="new@example.com", is_active="")
    save(as_manager, buyer, email="old@example.com", first_name="Wei", **of_customer)
    assert (buyer.email, buyer.is_active, buyer.first_name) == ("new@example.com", False, "Wei")
    assert EmailAddress.objects.get().email == "new@example.com"
    sent = {"username": "buyer", "email": "old@example.com", "is_active": "on", "last_name": "Li"}
    as_manager.post(admin_page(buyer), sent | of_account)
    buyer.refresh_from_db()
    assert (buyer.email, buyer.is_active, buyer.last_name) == ("new@example.com", False, "Li")


def test_a_link_leads_to_all_orders_where_there_are_many(as_manager: Client, buyer: User, item: SaleItem) -> None:
    make_orders(2, buyer=buyer, item=item)
    few = statements_for(as_manager, customer_page(buyer))
    make_orders(19, buyer=buyer, item=item)
    # And a page with many costs no more queries.
    assert statements(as_manager, customer_page(buyer)) == few
    page = as_manager.get(customer_page(buyer)).content.decode()
    assert page.count("1 × Longjing tea") == 20
    all_orders = f"/admin/orders/order/?buyer__id__exact={buyer.pk}"
    assert all_orders in page
    assert as_manager.get(all_orders).context["cl"].result_count == 21


def test_staff_who_may_change_a_customer_correct_address_name_and_language(client: Client, buyer: User) -> None:
    client.force_login(employee("change_user"))
    save(client, buyer, email="new@example.com", first_name="Wei", last_name="Li", mail_language="zh-hans")
    assert (buyer.email, buyer.get_full_name(), stored_language(user_id=buyer.pk)) == (
        "new@example.com",
        "Wei Li",
        "zh-hans",
    )
    assert buyer.check_password("buyer-password")
    page = client.get(customer_page(buyer)).content.decode()
    assert "Rights and password" not in page
    assert "/admin/auth/" not in page


def test_customers_are_found_by_the_days_in_which_they_joined(as_manager: Client, buyer: User) -> None:
    last_moment = datetime(2026, 1, 31, 23, 59, 59, 500_000, tzinfo=timezone.get_current_timezone())
    User.objects.filter(pk=buyer.pk).update(date_joined=last_moment)
    for found, query in (
        ([buyer.pk], {"date_joined_from_0": "2026-01-01", "date_joined_to_0": "2026-01-31"}),
        ([], {"date_joined_to_0": "2026-01-30"}),
    ):
        rows = as_manager.get("/admin/shop/customer/", query).context["cl"].queryset
        assert [row.pk for row in rows] == found, query


def test_an_account_with_rights_is_no_customer(as_manager: Client, buyer: User, shop_manager: User) -> None:
    assert [row.pk for row in as_manager.get("/admin/shop/customer/").context["cl"].result_list] == [buyer.pk]
    assert [row.pk for row in as_manager.get("/admin/auth/user/").context["cl"].result_list] == [shop_manager.pk]
    assert admin_page(buyer) in as_manager.get(customer_page(buyer)).content.decode()


def test_an_address_that_staff_replace_opens_the_account_no_more(as_manager: Client, buyer: User) -> None:
    confirmed(buyer, "old@example.com")
    # An address that the buyer wanted to have next, and has not confirmed.
    EmailAddress.objects.create(user=buyer, email="next@example.com")
    save(as_manager, buyer, email="New@Example.com")
    assert list(EmailAddress.objects.values_list("email", "verified", "primary")) == [("new@example.com", False, True)]
    for address in ("old@example.com", "new@example.com"):
        assert sign_in(Client(), login=address, password="buyer-password").status_code == 200
    assert sign_in(Client(), login="buyer", password="buyer-password").status_code == 302
    for address in ("old@example.com", "new@example.com"):
        Client().post("/accounts/password/reset/", {"email": address})
    assert {message.to[0]: message.subject for message in send_mails()} == {
        "old@example.com": "There is no account with this address",
        "new@example.com": "Choose a new password",
    }


def test_an_address_that_staff_leave_stays_confirmed_and_one_that_they_remove_is_gone(
    as_manager: Client, buyer: User
) -> None:
    confirmed(buyer, "old@example.com")
    save(as_manager, buyer, first_name="Wei")
    save(as_manager, buyer, email="Old@example.com")
    assert list(EmailAddress.objects.values_list("email", "verified", "primary")) == [("old@example.com", True, True)]
    save(as_manager, buyer, email="")
    assert buyer.email == ""
    assert not EmailAddress.objects.exists()
