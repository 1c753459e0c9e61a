"""The first page of the admin, and its parts, which the open page fetches every ten seconds.

Each part is for staff who may see the pages that it sums up. The page contains a token that names the parts of its
reader, signed and good for an hour. With it the parts need neither session nor user, so they go on while PostgreSQL or
the cache server, which has the sessions, is away.
"""

from datetime import UTC, datetime
from typing import Any

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import get_language, override
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from seckill.staff.permissions import may_see_sales
from shop.staff.sidebar import has_permission
from web.home.home_blocks import health_of, low_stock_of, sales_of, sums_of, to_do_of
from web.home.home_figures import Home, Known

TOKEN_SECONDS = 3600
SALT = "web.home"
PARTS = "admin/home/parts.html"

home = Home()


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """For the theme's setting DASHBOARD_CALLBACK: more context for the first page."""
    seen = seen_by(request)
    token = signing.dumps([get_language(), seen], salt=SALT)
    more = {"home_token": token, "home_url": reverse("home-parts"), **parts_for(seen, home.known())} if seen else {}
    return {**context, **more}


def seen_by(request: HttpRequest) -> list[str]:
    """The names of the parts that the person may see."""
    rights = {
        "sales": may_see_sales(request),
        "orders": has_permission("orders.view_order")(request),
        "stock": has_permission("shop.view_variant")(request),
    }
    return [name for name, has_right in rights.items() if has_right]


@never_cache
@require_safe
def home_parts(request: HttpRequest) -> HttpResponse:
    """Asks nobody about the caller: neither session nor user."""
    token = request.headers.get("Authorization", "").removeprefix("Home ")
    try:
        language, seen = signing.loads(token, salt=SALT, max_age=TOKEN_SECONDS)
    except signing.BadSignature:
        return HttpResponse(status=403)
    with override(language):
        return HttpResponse(render_to_string(PARTS, parts_for(seen, home.known())))


def parts_for(seen: list[str], known: Known) -> dict[str, Any]:
    """A part that somebody may not see is missing."""
    parts: dict[str, Any] = {
        "seen": seen,
        "away": {
            name: datetime.fromtimestamp(state["as_of_ms"] / 1000, UTC) if state["as_of_ms"] else None
            for name, state in known.states.items()
            if not state["up"]
        },
        "to_do": to_do_of(known, seen),
    }
    if "sales" in seen:
        parts |= {"sales": sales_of(known), "health": health_of(known)}
    if "orders" in seen:
        parts["sums"] = sums_of(known)
    if "stock" in seen:
        parts["low"] = low_stock_of(known)
    return parts
