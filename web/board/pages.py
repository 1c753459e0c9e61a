"""The live board of a sale: a page of the admin, and its figures, which are fetched once a second.

The page is for staff who may see sales, and asks PostgreSQL for that. It contains a token for its figures, signed and
good for an hour, so that the board goes on while PostgreSQL is away. Somebody who may no longer see sales loses the
figures within this hour.
"""

from typing import Any

from django.contrib import admin
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from seckill.guards.guard_texts import rule_names
from seckill.live.answer_groups import group_names, word_names
from seckill.live.page_texts import phase_texts
from seckill.live.staff_figures import names_of
from seckill.models import Sale
from seckill.phase import Phase
from seckill.staff.change_list import journal_of
from seckill.staff.change_pages import buttons_of, buttons_of_item, is_over
from seckill.staff.draw_figures import LABELS as DRAW_LABELS
from seckill.staff.draw_figures import STAGES
from seckill.staff.permissions import may_see_sales
from seckill.staff.phase_filter import labelled_phase
from seckill.staff.room_figures import LABELS as ROOM_LABELS
from seckill.staff.room_figures import STATES
from shop.http.compression import uncompressed
from shop.languages.kept_texts import Text
from web.board.figures import Boards

TOKEN_SECONDS = 3600
SALT = "web.board"

boards = Boards()


def token_of(*, sale_id: int, item_ids: list[int]) -> str:
    """Lets its bearer fetch the figures of the sale. It has the items, which PostgreSQL may not be there to say."""
    return signing.dumps([sale_id, item_ids], salt=SALT)


@require_safe
def board_page(request: HttpRequest, sale_id: int) -> HttpResponse:
    """For `AdminSite.admin_view`."""
    if not may_see_sales(request):
        raise PermissionDenied
    sale = get_object_or_404(Sale, pk=sale_id, published_at__isnull=False)
    items = list(sale.items.select_related("sale", "variant__product").order_by("pk"))
    names = names_of(items)
    may_change = request.user.has_perm("seckill.change_sale")
    may_change_items = may_change and not is_over(sale)
    phase, phase_text = labelled_phase(sale)
    moments = {Phase.UPCOMING: sale.opens_at, Phase.OPEN: sale.closes_at, Phase.PAUSED: sale.closes_at}
    context: dict[str, Any] = {
        **admin.site.each_context(request),
        "opts": Sale._meta,
        "title": _("Live board"),
        "sale": sale,
        "zone": timezone.get_current_timezone_name(),
        "phase": phase_text,
        "next_moment": moments.get(Phase(phase)),
        "next_text": phase_texts()[phase],
        "sale_url": reverse("admin:seckill_sale_change", args=[sale.pk]),
        "figures_url": reverse("board-figures", args=[sale.pk]),
        "token": token_of(sale_id=sale.pk, item_ids=[item.pk for item in items]),
        "buttons": buttons_of(sale) if may_change else [],
        "rows": [
            (item, names[item.pk], buttons_of_item(item, has_others=len(items) > 1) if may_change_items else [])
            for item in items
        ],
        "journal": journal_of(sale, names=names),
        "groups": group_names(),
        "words": ({} if sale.has_draw else word_names()) | (rule_names() if sale.has_rules else {}),
        "sources": sources(),
        "texts": script_texts(sale),
        "steps": STAGES if sale.has_draw else {},
        "more": cells_of(sale),
    }
    return TemplateResponse(request, "admin/seckill/sale/board.html", context)


@never_cache
@require_safe
@uncompressed
def board_figures(request: HttpRequest, sale_id: int) -> HttpResponse:
    """Asks PostgreSQL for nothing about the caller: neither session nor user."""
    token = request.headers.get("Authorization", "").removeprefix("Board ")
    try:
        token_sale_id, item_ids = signing.loads(token, salt=SALT, max_age=TOKEN_SECONDS)
    except signing.BadSignature:
        token_sale_id, item_ids = None, []
    if token_sale_id != sale_id:
        return JsonResponse({}, status=403)
    return HttpResponse(boards.find(sale_id=sale_id, item_ids=item_ids).json(), content_type="application/json")


def script_texts(sale: Sale) -> dict[str, str]:
    """What seckill/static/seckill/board.js writes."""
    asked = _("%(asked)s asked in the last minute, %(yes)s were told yes. Left: %(left)s.")
    drawn = _("%(draw_entries)s entries, %(draw_won)s winners now, %(draw_paid)s have paid. Left: %(left)s.")
    return {
        "lost": _("The shop does not answer. These figures are those of %s."),
        "signed_out": _("These figures are no longer renewed: sign in again."),
        "unlimited": _("unlimited"),
        "summary": drawn if sale.has_draw else asked,
        "highest": _("highest: %s in a second"),
    }


def cells_of(sale: Sale) -> list[tuple[str, Text, dict[str, Text]]]:
    """The figures of a draw or a waiting room: name, label, and the words of those that are no numbers."""
    if sale.has_draw:
        # The steps above the figures show the stage.
        labels: dict[str, Text] = {name: label for name, label in DRAW_LABELS.items() if name != "draw_stage"}
        passed_on = labels.pop("draw_passed_on")
        labels |= {"draw_asked": _("asked to pay now"), "draw_paid": _("winners who have paid")}
        labels["draw_passed_on"] = passed_on
        return [(name, label, {}) for name, label in labels.items()]
    if sale.has_room:
        states: dict[str, Text] = {state.value: text for state, text in STATES.items()}
        return [(name, label, states if name == "room_state" else {}) for name, label in ROOM_LABELS.items()]
    return []


def sources() -> list[tuple[str, str, str]]:
    """The servers by their names in the JSON, and what the board says while one is away. `%s` is the time of what it
    said last, if it said anything.
    """
    return [
        (
            "cache",
            _("The cache server does not answer. Who asked is not known since %s."),
            _("The cache server does not answer. Who asked is not known."),
        ),
        (
            "reservation_store",
            _("The reservation store does not answer. Left, held, sold and waiting are those of %s."),
            _("The reservation store does not answer. Left, held, sold and waiting are not known."),
        ),
        (
            "database",
            _("PostgreSQL does not answer. Orders, paid orders and the journal are those of %s."),
            _("PostgreSQL does not answer. Orders and paid orders are not known."),
        ),
    ]
