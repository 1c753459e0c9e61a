"""The admin's sidebar: the entries of all apps. Unfold's setting SIDEBAR names these functions."""

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from orders.staff.sidebar import ENTRIES as ORDERS
from seckill.staff.sidebar import ENTRIES as SALES
from shop.staff.sidebar import ACCOUNT_LINKS
from shop.staff.sidebar import ENTRIES as SHOP

NAVIGATION = [
    {"title": _("Shop"), "items": [*SALES, *SHOP]},
    {"title": _("Orders"), "items": ORDERS},
]


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    return NAVIGATION


def account(request: HttpRequest) -> list[dict[str, Any]]:
    """The menu of the person's own account."""
    return ACCOUNT_LINKS
