"""`manage.py staff_roles`: groups for the usual roles of staff. No role gives rights: superusers alone do."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import Group, Permission
from django.core.management.base import BaseCommand
from django.db import transaction
from django.db.models import QuerySet

SEEING_GOODS = {
    "seckill": ("view_sale",),
    "shop": ("view_product", "view_category", "view_variant", "view_stockchange", "view_taxrate"),
    "orders": ("view_order", "view_shippingmethod"),
}
SEEING_PEOPLE = {"auth": ("view_user",), "shop": ("view_address",)}
EDITING = {
    "seckill": ("add_sale", "change_sale", "delete_sale"),
    "shop": (
        *(f"{verb}_{model}" for model in ("product", "category", "taxrate") for verb in ("add", "change", "delete")),
        *("add_stockchange", "change_address"),
    ),
    "orders": ("change_order", "add_shippingmethod", "change_shippingmethod", "delete_shippingmethod"),
    "auth": ("change_user", "delete_user"),
}
CORRECTING = {"orders": ("change_order",), "auth": ("change_user",), "shop": ("change_address",)}
PACKING = {"orders": ("ship_order",), "shop": ("add_stockchange",)}

# To change an order is also to cancel and refund it; to change a user is to correct a customer, and never a right.
ROLES: dict[str, tuple[Mapping[str, tuple[str, ...]], ...]] = {
    "Shop manager": (SEEING_GOODS, SEEING_PEOPLE, EDITING),
    "Support": (SEEING_GOODS, SEEING_PEOPLE, CORRECTING),
    "Warehouse": (SEEING_GOODS, PACKING),
    "Analyst": (SEEING_GOODS,),
    "Read-only": (SEEING_GOODS, SEEING_PEOPLE),
}


class Command(BaseCommand):
    help = (
        "Makes a group for each usual role of staff: shop manager, support, warehouse, analyst, read-only. A group "
        "that is there stays as it is; with --reset it gets the permissions of its role again, and no others. "
        "Superusers put people into groups, in the admin."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--reset", action="store_true", help="give groups that are there their permissions again")

    def handle(self, *args: Any, **options: Any) -> None:
        for name in ROLES:
            with transaction.atomic():
                group, made = Group.objects.get_or_create(name=name)
                if made or options["reset"]:
                    group.permissions.set(permissions_of(name))
            said = "made" if made else "reset" if options["reset"] else "is there, not changed"
            self.stdout.write(f"{name}: {said}, {group.permissions.count()} permissions.")


def permissions_of(role: str) -> QuerySet[Permission]:
    wanted = {(app, codename) for part in ROLES[role] for app, codenames in part.items() for codename in codenames}
    rows = Permission.objects.select_related("content_type")
    pks = [row.pk for row in rows if (row.content_type.app_label, row.codename) in wanted]
    assert len(pks) == len(wanted), "migrate first: a permission is missing"
    return Permission.objects.filter(pk__in=pks)
