"""The admin's sidebar: the entries of all apps. Unfold's setting SIDEBAR names these functions."""

from functools import cache
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from orders.staff.sidebar import ENTRIES as ORDERS
from seckill.staff.sidebar import ENTRIES as SALES
from shop.staff.sidebar import ACCOUNT_LINKS
from shop.staff.sidebar import ENTRIES as SHOP

NAVIGATION: list[dict[str, Any]] = [
    {"title": _("Shop"), "items": [*SALES, *SHOP]},
    {"title": _("Orders"), "items": ORDERS},
]


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """Each badge is counted at most once for a page, whose templates ask for it two to four times."""
    return [{**group, "items": [badge_counted_once(entry) for entry in group["items"]]} for group in NAVIGATION]


def badge_counted_once(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "badge": cache(entry["badge"])} if "badge" in entry else entry


def account(request: HttpRequest) -> list[dict[str, Any]]:
    """The menu of the person's own account."""
    return ACCOUNT_LINKS
