"""No permission is a way to more rights, neither alone nor with all others.

A superuser's row shows that the actions are real: those in REAL do change rights when a superuser takes them.
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
from django.db import transaction
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


# The address of the admin that a form is sent to, with people of the cast, and the form.
Action = tuple[str, Callable[[Cast], dict[str, Any]]]


def account_of(person: User, **changes: Any) -> dict[str, Any]:
    return {"username": person.username, "email": person.email, **JOINED, **changes}


def deletion_of(row: Any) -> dict[str, Any]:
    return {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}


def confirm_deletion(_cast: Cast) -> dict[str, Any]:
    return {"post": "yes"}


def set_password(_cast: Cast) -> dict[str, Any]:
    return NEW_PASSWORD


OWN, BOSS, CUSTOMER = (f"auth/user/{{{who}.pk}}/change/" for who in ("me", "boss", "customer"))
MINE = {"email": "mine@example.com"}

# A superuser changes rights by them.
REAL: dict[str, Action] = {
    "make oneself a superuser": (OWN, lambda it: account_of(it.me, **ALL_RIGHTS, first_name="Me")),
    "give oneself a permission": (OWN, lambda it: account_of(it.me, **ALL_RIGHTS, user_permissions=it.permissions)),
    "enter a group": (OWN, lambda it: account_of(it.me, **ALL_RIGHTS, groups=[it.bosses.pk])),
    "make a customer a superuser": (CUSTOMER, lambda it: account_of(it.customer, **ALL_RIGHTS)),
    "set a superuser's password": ("auth/user/{boss.pk}/password/", set_password),
    "set a customer's password": ("auth/user/{customer.pk}/password/", set_password),
    # With the link to a new password.
    "send a superuser's mails to oneself": (BOSS, lambda it: account_of(it.boss, **ALL_RIGHTS, **MINE)),
    "block a superuser": (BOSS, lambda it: account_of(it.boss, is_staff="on", is_superuser="on")),
    "add an account": ("auth/user/add/", lambda it: {"username": "second", **NEW_PASSWORD}),
    "delete a superuser": ("auth/user/{boss.pk}/delete/", confirm_deletion),
    "delete superusers from the list": ("auth/user/", lambda it: deletion_of(it.boss)),
    "give one's group a permission": (
        "auth/group/{group.pk}/change/",
        lambda it: {"name": it.group.name, "permissions": it.permissions},
    ),
    "add a group": ("auth/group/add/", lambda it: {"name": "Friends", "permissions": it.permissions}),
    "delete a group": ("auth/group/{group.pk}/delete/", confirm_deletion),
    "delete groups from the list": ("auth/group/", lambda it: deletion_of(it.group)),
}
# They change no rights: the first eight on the page of customers. The admin does not have the last four pages, each of
# which would open an account.
IN_VAIN: dict[str, Action] = {
    "make oneself a superuser there": ("shop/customer/{me.pk}/change/", lambda it: account_of(it.me, **ALL_RIGHTS)),
    "make a customer a superuser there": (
        "shop/customer/{customer.pk}/change/",
        lambda it: account_of(it.customer, **ALL_RIGHTS, user_permissions=it.permissions, groups=[it.group.pk]),
    ),
    "set a superuser's password there": ("shop/customer/{boss.pk}/password/", set_password),
    "set a customer's password there": ("shop/customer/{customer.pk}/password/", set_password),
    "send a superuser's mails to oneself there": (
        "shop/customer/{boss.pk}/change/",
        lambda it: MINE | {"is_active": "on"},
    ),
    "add a customer": ("shop/customer/add/", lambda it: {"username": "second", **NEW_PASSWORD, **ALL_RIGHTS}),
    "delete a superuser there": ("shop/customer/{boss.pk}/delete/", confirm_deletion),
    "delete superusers from the list there": ("shop/customer/", lambda it: deletion_of(it.boss)),
    "confirm an address of a superuser": (
        "account/emailaddress/add/",
        lambda it: {"user": it.boss.pk, **MINE, "verified": "on", "primary": "on"},
    ),
    "make a token for a superuser": ("shop/apitoken/add/", lambda it: {"user": it.boss.pk}),
    "take a superuser's second factor": (
        "mfa/authenticator/",
        lambda it: deletion_of(Authenticator.objects.get(user=it.boss)),
    ),
    "make a permission": ("auth/permission/add/", lambda it: {"codename": "all"}),
}
ACTIONS = REAL | IN_VAIN


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


def take(client: Client, name: str, cast: Cast) -> None:
    path, form = ACTIONS[name]
    answer = client.post(f"/admin/{path.format(**vars(cast))}", form(cast))
    assert answer.status_code in {200, 302, 403, 404}, name


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
        for action in ACTIONS:
            take(client, action, cast)
        if rights() != before:
            gained.append([one.codename for one in given])
    assert gained == []


def test_a_superuser_can_take_the_actions_that_are_real(client: Client, cast: Cast) -> None:
    User.objects.filter(pk=cast.me.pk).update(is_superuser=True)
    client.force_login(cast.me)
    before, taken = rights(), []
    for action in ACTIONS:
        with transaction.atomic():
            take(client, action, cast)
            taken += [action] if rights() != before else []
            transaction.set_rollback(True)
    assert taken == list(REAL)


def test_a_list_is_not_filtered_by_the_password(client: Client, cast: Cast) -> None:
    cast.me.user_permissions.set(Permission.objects.filter(codename="view_user"))
    client.force_login(cast.me)
    assert client.get("/admin/shop/customer/?password__startswith=pbkdf2").status_code == 400
    assert client.get("/admin/auth/user/").status_code == 403
    assert client.get(f"/admin/shop/customer/{cast.boss.pk}/change/").status_code == 302
