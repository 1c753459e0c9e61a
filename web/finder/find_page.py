"""The page of the admin's search. Its field stands in the sidebar, and on the first page."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from orders.staff.read_only_admin import may_see_orders
from web.finder.finder import TEXT_LENGTH_MAX, find_all, is_enough, kinds_for, order_named, page_of


@require_safe
def find_page(request: HttpRequest) -> HttpResponse:
    """For `AdminSite.admin_view`. The whole number of an order leads to its page: a scanner types it, and Enter."""
    # PostgreSQL takes no text with a NUL.
    text = request.GET.get("q", "").replace("\0", "").strip()[:TEXT_LENGTH_MAX]
    if may_see_orders(request) and (order := order_named(text)):
        return redirect(page_of(order))
    context = {
        **admin.site.each_context(request),
        "title": _("Search"),
        "found_text": text,
        "sections": find_all(request, text),
        "kinds": [kind.title for kind in kinds_for(request)],
        "too_short": bool(text) and not is_enough(text),
    }
    return TemplateResponse(request, "admin/find.html", context)
