"""No permission is a way to more rights, neither alone nor with all others.

A superuser's row shows that the actions are real: those with True do change rights when a superuser takes them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db.models import Q
from django.test import Client

from shop.models import ApiToken
from tests.steps.accounts import confirmed
from tests.steps.staff import employee

pytestmark = pytest.mark.django_db

NEW_PASSWORD = {"password1": "a-long-new-one-7", "password2": "a-long-new-one-7", "usable_password": "true"}
JOINED = {"date_joined_0": "2026-01-02", "date_joined_1": "03:04:05"}
# The permissions of their pages are tried one by one, those of all other pages together.
MODELS_OF_PEOPLE = {"user", "group", "customer", "address"}
ALL_RIGHTS = {"is_active": "on", "is_staff": "on", "is_superuser": "on"}


@dataclass(frozen=True, kw_only=True)
class Cast:
    """`me` is who tries it. Superusers are `me` in their own row."""

    me: User
    boss: User
    customer: User
    group: Group
    bosses: Group

    @property
    def permissions(self) -> list[int]:
        return list(Permission.objects.filter(codename="change_user").values_list("pk", flat=True))


@dataclass(frozen=True)
class Action:
    """A form that is sent to an address of the admin. `real` where a superuser changes rights by it."""

    name: str
    real: bool
    path: Callable[[Cast], str]
    form: Callable[[Cast], dict[str, Any]]


def account_of(person: User, **changes: Any) -> dict[str, Any]:
    return {"username": person.username, "email": person.email, **JOINED, **changes}


def deletion_of(row: Any) -> dict[str, Any]:
    return {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}


# name, whether a superuser changes rights by it, address under /admin/, form
TABLE = [
    Action(*row)
    for row in (
        (
            "make oneself a superuser",
            True,
            lambda it: f"auth/user/{it.me.pk}/change/",
            lambda it: account_of(it.me, **ALL_RIGHTS, first_name="Me"),
        ),
        (
            "make oneself a superuser on the customers' page",
            False,
            lambda it: f"shop/customer/{it.me.pk}/change/",
            lambda it: account_of(it.me, **ALL_RIGHTS),
        ),
        (
            "give oneself a permission",
            True,
            lambda it: f"auth/user/{it.me.pk}/change/",
            lambda it: account_of(it.me, **ALL_RIGHTS, user_permissions=it.permissions),
        ),
        (
            "enter a group",
            True,
            lambda it: f"auth/user/{it.me.pk}/change/",
            lambda it: account_of(it.me, **ALL_RIGHTS, groups=[it.bosses.pk]),
        ),
        (
            "make a customer a superuser",
            True,
            lambda it: f"auth/user/{it.customer.pk}/change/",
            lambda it: account_of(it.customer, **ALL_RIGHTS),
        ),
        (
            "make a customer a superuser on the customers' page",
            False,
            lambda it: f"shop/customer/{it.customer.pk}/change/",
            lambda it: account_of(it.customer, **ALL_RIGHTS, user_permissions=it.permissions, groups=[it.group.pk]),
        ),
        (
            "set a superuser's password",
            True,
            lambda it: f"auth/user/{it.boss.pk}/password/",
            lambda it: NEW_PASSWORD,
        ),
        (
            "set a superuser's password on the customers' page",
            False,
            lambda it: f"shop/customer/{it.boss.pk}/password/",
            lambda it: NEW_PASSWORD,
        ),
        (
            "set a customer's password",
            True,
            lambda it: f"auth/user/{it.customer.pk}/password/",
            lambda it: NEW_PASSWORD,
        ),
        (
            "set a customer's password on the customers' page",
            False,
            lambda it: f"shop/customer/{it.customer.pk}/password/",
            lambda it: NEW_PASSWORD,
        ),
        (
            "send a superuser's mails, with the link to a new password, to oneself",
            True,
            lambda it: f"auth/user/{it.boss.pk}/change/",
            lambda it: account_of(it.boss, **ALL_RIGHTS, email="mine@example.com"),
        ),
        (
            "the same on the customers' page",
            False,
            lambda it: f"shop/customer/{it.boss.pk}/change/",
            lambda it: {"email": "mine@example.com", "is_active": "on"},
        ),
        (
            "block a superuser",
            True,
            lambda it: f"auth/user/{it.boss.pk}/change/",
            lambda it: account_of(it.boss, is_staff="on", is_superuser="on"),
        ),
        ("add an account", True, lambda it: "auth/user/add/", lambda it: {"username": "second", **NEW_PASSWORD}),
        (
            "add a customer",
            False,
            lambda it: "shop/customer/add/",
            lambda it: {"username": "second", **NEW_PASSWORD, **ALL_RIGHTS},
        ),
        ("delete a superuser", True, lambda it: f"auth/user/{it.boss.pk}/delete/", lambda it: {"post": "yes"}),
        (
            "delete a superuser on the customers' page",
            False,
            lambda it: f"shop/customer/{it.boss.pk}/delete/",
            lambda it: {"post": "yes"},
        ),
        ("delete superusers from the list", True, lambda it: "auth/user/", lambda it: deletion_of(it.boss)),
        (
            "delete superusers from the customers' list",
            False,
            lambda it: "shop/customer/",
            lambda it: deletion_of(it.boss),
        ),
        (
            "give one's group a permission",
            True,
            lambda it: f"auth/group/{it.group.pk}/change/",
            lambda it: {"name": it.group.name, "permissions": it.permissions},
        ),
        (
            "add a group",
            True,
            lambda it: "auth/group/add/",
            lambda it: {"name": "Friends", "permissions": it.permissions},
        ),
        ("delete a group", True, lambda it: f"auth/group/{it.group.pk}/delete/", lambda it: {"post": "yes"}),
        ("delete groups from the list", True, lambda it: "auth/group/", lambda it: deletion_of(it.group)),
        # Pages that the admin does not have. Each would open an account.
        (
            "confirm an address of a superuser",
            False,
            lambda it: "account/emailaddress/add/",
            lambda it: {"user": it.boss.pk, "email": "mine@example.com", "verified": "on", "primary": "on"},
        ),
        (
            "make a token for a superuser",
            False,
            lambda it: "shop/apitoken/add/",
            lambda it: {"user": it.boss.pk},
        ),
        (
            "take a superuser's second factor",
            False,
            lambda it: "mfa/authenticator/",
            lambda it: deletion_of(Authenticator.objects.get(user=it.boss)),
        ),
        ("make a permission", False, lambda it: "auth/permission/add/", lambda it: {"codename": "all"}),
    )
]


def rights() -> dict[str, Any]:
    """What decides who may do what, and the ways into staff accounts."""
    staff = Q(is_staff=True) | Q(is_superuser=True)
    flags = ("pk", "password", "is_active", "is_staff", "is_superuser", "groups", "user_permissions")
    return {
        "accounts": list(User.objects.order_by(*flags).values_list(*flags)),
        "staff": list(User.objects.filter(staff).order_by("pk").values_list("pk", "username", "email")),
        "groups": list(Group.objects.order_by("pk", "permissions").values_list("pk", "name", "permissions")),
        "addresses": list(EmailAddress.objects.filter(user__is_staff=True).order_by("pk").values_list()),
        "tokens": ApiToken.objects.count(),
        "factors": Authenticator.objects.count(),
        "permissions": Permission.objects.count(),
    }


@pytest.fixture
def cast(shop_manager: User, buyer: User) -> Cast:
    confirmed(shop_manager, "boss@example.com")
    Authenticator.objects.create(user=shop_manager, type=Authenticator.Type.TOTP, data={"secret": "x"})
    group = Group.objects.create(name="Support")
    me = employee()
    me.groups.add(group)
    return Cast(me=me, boss=shop_manager, customer=buyer, group=group, bosses=Group.objects.create(name="Bosses"))


def take(client: Client, action: Action, cast: Cast) -> None:
    answer = client.post(f"/admin/{action.path(cast)}", action.form(cast))
    assert answer.status_code in {200, 302, 403, 404}, action.name


@pytest.mark.slow
@pytest.mark.usefixtures("_refusals_without_page")
def test_no_permission_leads_to_more_rights(client: Client, cast: Cast) -> None:
    client.force_login(cast.me)
    gained = []
    # No page asks for those of models without a page; they are in the last line.
    pages = ContentType.objects.get_for_models(*admin.site._registry).values()
    of_pages = Permission.objects.filter(content_type__in=pages).order_by("pk")
    alone = [[one] for one in of_pages if one.content_type.model in MODELS_OF_PEOPLE]
    others = [one for one in of_pages if one.content_type.model not in MODELS_OF_PEOPLE]
    for given in [*alone, others, list(Permission.objects.all())]:
        cast.me.user_permissions.set(given)
        before = rights()
        for action in TABLE:
            take(client, action, cast)
        if rights() != before:
            gained.append([one.codename for one in given])
    assert gained == []


@pytest.mark.parametrize("action", TABLE, ids=lambda action: action.name)
def test_a_superuser_can_take_the_actions_that_are_real(client: Client, cast: Cast, action: Action) -> None:
    User.objects.filter(pk=cast.me.pk).update(is_superuser=True)
    client.force_login(cast.me)
    before = rights()
    take(client, action, cast)
    assert (rights() != before) == action.real


def test_a_list_is_not_filtered_by_the_password(client: Client, cast: Cast) -> None:
    cast.me.user_permissions.set(Permission.objects.filter(codename="view_user"))
    client.force_login(cast.me)
    assert client.get("/admin/shop/customer/?password__startswith=pbkdf2").status_code == 400
    assert client.get("/admin/auth/user/").status_code == 403
    assert client.get(f"/admin/shop/customer/{cast.boss.pk}/change/").status_code == 302
