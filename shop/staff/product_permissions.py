"""Staff who may change a product may change its variants and pictures."""

from typing import Any

from django.http import HttpRequest


class OfProduct:
    """For the inlines on a product's page."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("shop.view_product") or request.user.has_perm("shop.change_product")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("shop.change_product" if obj else "shop.add_product")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_add_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_add_permission(request, obj)
