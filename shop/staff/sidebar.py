"""The shop's entries of the admin's sidebar, and the menu of the person's own account.

Each app says its entries; web/sidebar.py puts them together.
"""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.urls import reverse_lazy
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from shop.stock import low_stock

SUPERUSER = "superuser"


def entry(title: Promise, *, icon: str, page: str, permission: str, **more: Any) -> dict[str, Any]:
    """A link to an admin page, for example `seckill_sale_changelist`, for staff with the permission to open it."""
    return {
        "title": title,
        "icon": icon,
        "link": reverse_lazy(f"admin:{page}"),
        "permission": has_permission(permission),
        **more,
    }


def has_permission(permission: str) -> Callable[[HttpRequest], bool]:
    """A permission to change is one to look too, as on the pages. Only superusers have SUPERUSER."""
    changing = permission.replace(".view_", ".change_")
    return lambda request: request.user.has_perm(permission) or request.user.has_perm(changing)


ENTRIES = [
    entry(_("Products"), icon="inventory_2", page="shop_product_changelist", permission="shop.view_product"),
    entry(_("Categories"), icon="category", page="shop_category_changelist", permission="shop.view_category"),
    entry(
        _("Stock"),
        icon="warehouse",
        page="shop_variant_changelist",
        permission="shop.view_variant",
        badge=low_stock.badge,
    ),
    entry(
        _("Stock journal"),
        icon="receipt",
        page="shop_stockchange_changelist",
        permission="shop.view_stockchange",
    ),
    entry(_("Tax rates"), icon="percent", page="shop_taxrate_changelist", permission="shop.view_taxrate"),
    entry(_("Customers"), icon="group", page="shop_customer_changelist", permission="auth.view_user"),
    entry(_("Staff accounts"), icon="badge", page="auth_user_changelist", permission=SUPERUSER),
    entry(_("Groups"), icon="groups", page="auth_group_changelist", permission=SUPERUSER),
]

ACCOUNT_LINKS = [
    {"title": _("Change password"), "link": reverse_lazy("account_change_password")},
    {"title": _("Two-step sign-in"), "link": reverse_lazy("mfa_index")},
]
