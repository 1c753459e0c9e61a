"""The page of a waiting room for browsers without JavaScript: it reloads itself. With it, the sale's page does all."""

import math
from typing import Any, cast

from babel.numbers import format_decimal
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import get_language, to_locale
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from seckill.guards.guard_texts import guard_problem
from seckill.guards.pass_guards import GuardRefused, guarded_call
from seckill.live.room_texts import room_texts
from seckill.models import NoPass, Sale, published_sales, with_products
from seckill.waiting_room.joining import join_by_rules
from seckill.waiting_room.place_answer import PlaceState, place_body
from seckill.waiting_room.room_ledger import read_room
from seckill.waiting_room.standing import standing
from shop.databases.database_clock import database_now
from shop.http.client_address import client_network
from shop.http.problems import limit_reached, page_or_problem
from shop.http.rate_limits import LimitReached
from shop.times.time_left import duration
from shop.times.zone import named_time

# A whole page each time, so not as often as a script asks.
RELOAD_SECONDS_MIN = 5
FOR_GOOD = (PlaceState.CALLED, PlaceState.LAPSED, PlaceState.CLOSED)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def queue(request: HttpRequest, pk: int) -> HttpResponse:
    """The buyer's place. A POST takes one, and shows the same place each time."""
    sale = get_object_or_404(published_sales().prefetch_related(with_products()), pk=pk)
    if not sale.has_room:
        return redirect(sale)
    account_id, now = cast(int, request.user.pk), database_now()
    why_not = sale.why_no_pass(now)
    if request.method == "POST" and not why_not:
        network = client_network(request)
        guarded = guarded_call(request, sale=sale, buyer_id=account_id, network=network)
        try:
            join_by_rules(sale=sale, account_id=account_id, network=network, guarded=guarded)
        except GuardRefused as error:
            return page_or_problem(request, **guard_problem(error))
        except LimitReached as error:
            return limit_reached(request, error)
        return redirect("queue", pk)
    found = standing(sale_id=pk, account_id=account_id)
    body = place_body(found, now_ms=found.room.now_ms) if found and why_not is not NoPass.CLOSED else None
    state = body["state"] if body else PlaceState.CLOSED if why_not is NoPass.CLOSED else None
    # The next sweep makes the room of a sale that was just published, or whose store is new.
    is_made = state is not None or why_not is not None or read_room(sale_id=pk) is not None
    headline, lines = told(sale, body, state=state, why_not=why_not) if is_made else being_made()
    seconds = RELOAD_SECONDS_MIN if not is_made else reload_seconds(body) if body and state not in FOR_GOOD else 0
    context = {
        "sale": sale,
        "phase": sale.phase_at(now),
        "state": state,
        "headline": headline,
        "lines": lines,
        "may_join": is_made and not why_not and (body is None or state == PlaceState.LAPSED),
        "items": sale.items.all(),
        "refresh_seconds": seconds,
    }
    response = render(request, "seckill/queue.html", context)
    if seconds:
        response["Refresh"] = str(seconds)
    return response


def told(
    sale: Sale, body: dict[str, Any] | None, *, state: PlaceState | None, why_not: NoPass | None
) -> tuple[str, list[str]]:
    """The headline and the lines below it."""
    if state is not None:
        texts = room_texts()
        return texts[state]["title"], room_lines(body or {"state": state}, texts)
    if why_not is NoPass.TOO_EARLY:
        opens = named_time(sale.passes_open_at)
        return _("The waiting room is not open yet"), [_("It opens at %(time)s.") % {"time": opens}]
    return _("You have no place yet"), []


def being_made() -> tuple[str, list[str]]:
    return _("The waiting room is being prepared"), [_("You can get your place in some seconds.")]


def room_lines(body: dict[str, Any], texts: dict[str, Any]) -> list[str]:
    """As `roomLines` in seckill/static/seckill/room.js."""
    if body["state"] != PlaceState.WAITING:
        return [texts[body["state"]]["detail"]]
    locale, ahead, left = to_locale(get_language() or "en"), body["ahead"], body["units_left"]
    place = {name: format_decimal(body[name], locale=locale) for name in ("place", "ahead")}
    lines = [texts["place" if ahead else "next"].format(**place), wait_text(body["wait_seconds"], texts)]
    if left is not None and ahead >= left:
        lines.append(texts["few"].format(left=format_decimal(left, locale=locale)))
    return lines


def wait_text(wait: dict[str, int | None] | None, texts: dict[str, Any]) -> str:
    if wait is None:
        return str(texts["stands"])
    shortest = {"from": rounded(wait["from"] or 0)}
    if wait["to"] is None:
        return str(texts["at_least"].format(**shortest))
    longest = rounded(wait["to"])
    return str(texts["about" if shortest["from"] == longest else "between"].format(**shortest, to=longest))


def rounded(seconds: int) -> str:
    """Whole minutes from two minutes on: an estimate must not look like a promise."""
    return duration(round(seconds / 60) * 60 if seconds >= 120 else max(10, math.ceil(seconds / 10) * 10))


def reload_seconds(body: dict[str, Any]) -> int:
    seconds: int = math.ceil(body["poll_after_ms"] / 1000)
    return max(RELOAD_SECONDS_MIN, seconds)
