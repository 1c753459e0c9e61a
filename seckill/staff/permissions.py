"""Who of the staff may see what."""

from django.http import HttpRequest


def may_see_sales(request: HttpRequest) -> bool:
    return request.user.has_perm("seckill.view_sale") or request.user.has_perm("seckill.change_sale")
