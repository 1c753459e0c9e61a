"""The groups of `manage.py staff_roles`: what each role may do, and what it may not."""

from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from orders.life import lifecycle
from orders.models import Order, OrderStatus, Refund
from orders.staff.order_page import STEPS
from seckill.models import SaleChange, SaleItem
from shop.models import Product
from tests.steps.buying import ADDRESS, GUEST, plain_order
from tests.steps.shop import goods
from tests.steps.staff import ORDERS, admin_page, control_page, employee

pytestmark = pytest.mark.django_db

ROLES = ("Shop manager", "Support", "Warehouse", "Analyst", "Read-only")


@pytest.fixture(scope="module", autouse=True)
def _roles(rows_of_the_file: None) -> None:
    call_command("staff_roles")


def signed_in_as(client: Client, role: str) -> User:
    person = employee()
    person.groups.set([Group.objects.get(name=role)])
    client.force_login(person)
    return person


@pytest.fixture
def paid(order: Order) -> Order:
    lifecycle.pay(order_id=order.pk)
    return order


def step_of(order: Order, step: str) -> str:
    return reverse("admin:orders_order_step", args=[order.pk, step])


def test_a_packer_ships_and_adds_notes_and_cannot_refund(client: Client, paid: Order) -> None:
    signed_in_as(client, "Warehouse")
    for step in set(STEPS) - {"ship", "complete"}:
        assert client.post(step_of(paid, step), {"amount": "19.00"}).status_code == 403, step
    client.post(ORDERS, {"action": "refund_orders", "_selected_action": paid.pk, "confirmed": "yes"})
    assert not Refund.objects.exists()
    page = client.get(admin_page(paid)).content.decode()
    assert step_of(paid, "ship") in page
    assert step_of(paid, "refund") not in page
    assert client.post(f"{ORDERS}{paid.pk}/address/", ADDRESS).status_code == 403
    client.post(step_of(paid, "ship"), {"carrier": "SF"})
    client.post(step_of(paid, "complete"))
    client.post(f"{ORDERS}{paid.pk}/notes/", {"note_id": uuid4(), "text": "The box is dented."})
    assert paid.notes.count() == 1
    paid.refresh_from_db()
    assert (paid.status, paid.carrier) == (OrderStatus.COMPLETED, "SF")


def test_support_refunds_and_corrects_addresses_and_changes_no_sale(
    client: Client, paid: Order, item: SaleItem
) -> None:
    signed_in_as(client, "Support")
    assert f"{ORDERS}{paid.pk}/address/" in client.get(admin_page(paid)).content.decode()
    assert client.post(f"{ORDERS}{paid.pk}/address/", ADDRESS).status_code == 302
    assert paid.shipping_address.name == ADDRESS["name"]
    assert client.get(step_of(paid, "refund")).status_code == 200
    assert client.get(control_page(item, SaleChange.Kind.PAUSE)).status_code == 403
    assert client.get(reverse("admin:seckill_sale_check_before_opening", args=[item.sale_id])).status_code == 403


def test_a_right_to_correct_addresses_makes_no_superuser_and_sets_no_password(
    client: Client, shop_manager: User, buyer: User
) -> None:
    me = signed_in_as(client, "Support")
    assert me.has_perm("shop.change_address")
    for target in (me, shop_manager, buyer):
        before = User.objects.values_list("password", "is_staff", "is_superuser").get(pk=target.pk)
        client.post(
            f"/admin/auth/user/{target.pk}/password/",
            {"password1": "a-long-new-one-7", "password2": "a-long-new-one-7"},
        )
        for page in ("auth/user", "shop/customer"):
            form = {"username": target.username, "is_superuser": "on", "is_staff": "on", "is_active": "on"}
            client.post(f"/admin/{page}/{target.pk}/change/", form)
        assert User.objects.values_list("password", "is_staff", "is_superuser").get(pk=target.pk) == before


def test_analysts_and_readers_change_nothing(client: Client, paid: Order, item: SaleItem) -> None:
    me = signed_in_as(client, "Analyst")
    for role, customers in (("Analyst", 403), ("Read-only", 200)):
        me.groups.set([Group.objects.get(name=role)])
        rights = User.objects.get(pk=me.pk).get_all_permissions()
        assert all(name.split(".")[1].startswith("view_") for name in rights), role
        page = client.get(admin_page(paid)).content.decode()
        assert not any(step_of(paid, step) in page for step in STEPS), role
        assert f"{ORDERS}{paid.pk}/address/" not in page, role
        assert client.get(admin_page(item.sale)).status_code == 200, role
        for path, form in (("address", ADDRESS), ("email", {"email": GUEST}), ("ship/now", {})):
            assert client.post(f"{ORDERS}{paid.pk}/{path}/", form).status_code == 403, (role, path)
        assert client.get("/admin/shop/customer/").status_code == customers, role


def on_site(client: Client, row: Model) -> int:
    kind = ContentType.objects.get_for_model(row)
    status: int = client.get(reverse("admin:view_on_site", args=[kind.pk, row.pk])).status_code
    return status


def test_the_admin_leads_to_goods_that_somebody_may_see_and_never_to_the_link_of_a_guest(
    client: Client, product: Product
) -> None:
    me = signed_in_as(client, "Shop manager")
    assert on_site(client, product) == 302
    guests = plain_order(goods("mug"), None, 1, 1000, email=GUEST)
    assert [on_site(client, row) for row in (guests, me, guests.lines.get())] == [404] * 3
    assert client.get("/admin/r/x/1/").status_code == 404
    me.groups.clear()
    assert on_site(client, product) == 404


def test_a_shop_manager_runs_sales_and_gives_no_rights(client: Client, item: SaleItem) -> None:
    me = signed_in_as(client, "Shop manager")
    assert client.get(reverse("admin:seckill_sale_publish", args=[item.sale_id])).status_code == 302
    assert client.get("/admin/auth/group/").status_code == 403
    assert not me.get_all_permissions() & {"auth.add_user", "auth.change_group", "auth.change_permission"}


def test_repeating_it_changes_nothing_and_resetting_takes_back_what_was_changed() -> None:
    group = Group.objects.get(name="Warehouse")
    as_made = set(group.permissions.all())
    group.permissions.set(Permission.objects.filter(codename="change_order"))
    call_command("staff_roles")
    assert [row.codename for row in group.permissions.all()] == ["change_order"]
    call_command("staff_roles", reset=True)
    assert set(group.permissions.all()) == as_made
    assert sorted(Group.objects.values_list("name", flat=True)) == sorted(ROLES)
