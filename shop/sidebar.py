"""The admin's sidebar, and the menu of the person's own account. Each entry is shown to staff who may open its page."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.urls import reverse_lazy
from django.utils.functional import Promise
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _


def entry(title: Promise, *, icon: str, page: str, permission: str, **more: Any) -> dict[str, Any]:
    """A link to an admin page, for example `seckill_sale_changelist`."""
    return {
        "title": title,
        "icon": icon,
        "link": reverse_lazy(f"admin:{page}"),
        "permission": has_permission(permission),
        **more,
    }


def has_permission(permission: str) -> Callable[[HttpRequest], bool]:
    return lambda request: request.user.has_perm(permission)


def badge_from(path: str) -> Callable[[], str]:
    """A badge with what the function at `path` returns when the page is rendered; no badge where that is empty."""
    return lambda: import_string(path)()


NAVIGATION = [
    {
        "title": _("Shop"),
        "items": [
            entry(_("Sales"), icon="bolt", page="seckill_sale_changelist", permission="seckill.view_sale"),
            entry(
                _("Live figures"),
                icon="monitoring",
                page="seckill_saleitem_changelist",
                permission="seckill.view_sale",
            ),
            entry(_("Changes"), icon="history", page="seckill_salechange_changelist", permission="seckill.view_sale"),
            entry(_("Products"), icon="inventory_2", page="shop_product_changelist", permission="shop.view_product"),
            entry(_("Categories"), icon="category", page="shop_category_changelist", permission="shop.view_category"),
            entry(
                _("Stock"),
                icon="warehouse",
                page="shop_variant_changelist",
                permission="shop.view_variant",
                badge=badge_from("shop.stock.low_stock.badge"),
            ),
            entry(
                _("Stock journal"),
                icon="receipt",
                page="shop_stockchange_changelist",
                permission="shop.view_stockchange",
            ),
            entry(_("Tax rates"), icon="percent", page="shop_taxrate_changelist", permission="shop.view_taxrate"),
            entry(_("People"), icon="group", page="auth_user_changelist", permission="auth.view_user"),
        ],
    },
    {
        "title": _("Orders"),
        "items": [
            entry(_("Orders"), icon="receipt_long", page="orders_order_changelist", permission="orders.view_order"),
            entry(
                _("Needs attention"),
                icon="notification_important",
                page="orders_ordertolookat_changelist",
                permission="orders.view_order",
                badge=badge_from("orders.staff.needs_attention.badge"),
            ),
            entry(
                _("Payment events"),
                icon="payments",
                page="orders_paymentevent_changelist",
                permission="orders.view_order",
            ),
            entry(
                _("Shipping"),
                icon="local_shipping",
                page="orders_shippingmethod_changelist",
                permission="orders.view_shippingmethod",
            ),
            entry(_("Mails"), icon="mail", page="orders_mail_changelist", permission="orders.view_order"),
        ],
    },
]

ACCOUNT_LINKS = [
    {"title": _("Change password"), "link": reverse_lazy("account_change_password")},
    {"title": _("Two-step sign-in"), "link": reverse_lazy("mfa_index")},
]
