"""Which staff see sales, lists that they can only read, and changes that one person alone may not make."""

from typing import Any

from django.http import HttpRequest

from shop.staff.admin_base import ModelAdmin


class AboveBound(Exception):
    """Another person has to approve the change, so it is not made."""


def may_see_sales(request: HttpRequest) -> bool:
    return request.user.has_perm("seckill.view_sale") or request.user.has_perm("seckill.change_sale")


class ReadOnlySaleAdmin(ModelAdmin):
    """A list for all staff who may see sales. Sales are changed on their own pages."""

    list_display_links = None
    list_filter_sheet = False
    actions = None

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may_see_sales(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return may_see_sales(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
