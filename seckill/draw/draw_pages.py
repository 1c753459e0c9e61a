"""The pages of a draw, without JavaScript: what everybody may see and check, and the buyer's own entries."""

import math
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from seckill.draw.draw_answers import DrawStage, no_units_text, published_draw, stage_of, winners
from seckill.draw.entering import EntryWord, enter, why_refused, withdraw
from seckill.guards.guard_texts import guard_problem
from seckill.guards.pass_guards import guarded_call
from seckill.live.offers import CHOICES_MAX
from seckill.models import Draw, DrawEntry, Sale, SaleItem, published_sales, with_products
from seckill.pages import units_from
from shop.databases.database_clock import database_now
from shop.http.client_address import client_network
from shop.http.problems import limit_reached
from shop.http.public_answers import public_page
from shop.http.rate_limits import LimitReached, take
from shop.languages.buyer_language import remember_language
from shop.times.time_left import duration

ENTER_LIMIT = "30/minute"
# How many winners of an item the page lists; the file has all entries.
WINNERS_MAX = 200
# How often the page of somebody who waits for the draw, or for units, renews itself.
RELOAD_SECONDS = 30
# A page renews itself at the earliest so long after the opening, each at its own moment.
RELOAD_SECONDS_MIN = 2


@dataclass(frozen=True, slots=True)
class DrawnItem:
    """An item on the public page, with its first winners."""

    item: SaleItem
    units: int | None
    winners: list[DrawEntry]
    winner_count: int
    has_entries: bool


@dataclass(frozen=True, slots=True)
class OwnEntry:
    """An item on the buyer's page, with the buyer's entry, if there is one."""

    item: SaleItem
    entry: DrawEntry | None
    headline: str
    detail: str

    @property
    def unit_choices(self) -> range | None:
        return range(1, self.item.per_buyer_max + 1) if self.item.per_buyer_max <= CHOICES_MAX else None


@public_page
def draw(request: HttpRequest, pk: int) -> HttpResponse:
    """The draw as all visitors see it: how it works, the hashes, the seed, the winners by their entry ids."""
    sale = get_object_or_404(published_sales().prefetch_related(with_products()), pk=pk)
    shown = get_object_or_404(Draw.objects.defer("file"), pk=pk)
    shown.sale = sale
    context = {
        "sale": sale,
        "draw": published_draw(shown),
        "items": [drawn_item(item, shown) for item in sale.items.all()] if shown.drawn_at else [],
        "winners_max": WINNERS_MAX,
    }
    return render(request, "seckill/draw.html", context)


def drawn_item(item: SaleItem, shown: Draw) -> DrawnItem:
    found = winners(item_ids=[item.pk])
    has_entries = DrawEntry.objects.filter(item=item).exists()
    return DrawnItem(item, shown.units.get(str(item.pk)), list(found[:WINNERS_MAX]), found.count(), has_entries)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def enter_draw(request: HttpRequest, pk: int) -> HttpResponse:
    """The buyer's entries. A POST enters the draw for one item, or withdraws."""
    sale = get_object_or_404(published_sales().prefetch_related(with_products()), pk=pk)
    if not sale.has_draw:
        return redirect(sale)
    buyer_id = cast(int, request.user.pk)
    if request.method == "POST":
        try:
            take(action="draw", rate=ENTER_LIMIT, key=str(buyer_id))
        except LimitReached as error:
            return limit_reached(request, error)
        remember_language(request)
        item = next((one for one in sale.items.all() if str(one.pk) == request.POST.get("item")), None)
        if item is None:
            raise Http404
        network = client_network(request)
        guarded = guarded_call(request, sale=sale, buyer_id=buyer_id, network=network)
        units = units_from(request.POST.get("units", "1")) or 0
        refused = None if "withdraw" in request.POST else why_refused(guarded, item=item, units=units)
        if refused:
            messages.error(request, guard_problem(refused)["detail"])
        else:
            messages.info(request, change_entry(item, buyer_id=buyer_id, network=network, posted=request.POST))
        return redirect("draw-entry", pk)
    shown = get_object_or_404(Draw.objects.defer("file"), pk=pk)
    stage, now = stage_of(shown), database_now()
    entries = {entry.item_id: entry for entry in DrawEntry.objects.filter(item__sale=sale, buyer=buyer_id)}
    is_over = now >= sale.closes_at
    own = [own_entry(item, entries.get(item.pk), sale=sale, is_over=is_over) for item in sale.items.all()]
    is_open = stage is DrawStage.OPEN and now < sale.opens_at
    refresh_seconds = seconds_to_reload(sale, now=now) if entries and not is_over else 0
    context = {
        "sale": sale,
        "phase": sale.phase_at(now),
        "heading": _("My entry in the draw") if entries or not is_open else _("Enter the draw"),
        "is_open": is_open,
        "entries": own,
        "refresh_seconds": refresh_seconds,
    }
    response = render(request, "seckill/enter_draw.html", context)
    if refresh_seconds:
        response["Refresh"] = str(refresh_seconds)
    return response


def seconds_to_reload(sale: Sale, *, now: datetime) -> int:
    """Before the opening, until shortly after it: then the entries close, and the page says something else."""
    if now >= sale.opens_at:
        return RELOAD_SECONDS
    late_seconds = RELOAD_SECONDS_MIN + secrets.randbelow(RELOAD_SECONDS - RELOAD_SECONDS_MIN + 1)
    return math.ceil((sale.opens_at - now).total_seconds()) + late_seconds


def change_entry(item: SaleItem, *, buyer_id: int, network: str, posted: Any) -> str:
    """Do what the form says. Returns the message for the buyer."""
    if "withdraw" in posted:
        if withdraw(item=item, buyer_id=buyer_id):
            return _("Your entry is withdrawn. You can enter again until the entries close.")
        return _("The entries have closed, so nothing was changed.")
    units = units_from(posted.get("units", "1"))
    if not units:
        return _("Choose how many units you want.")
    match enter(item=item, buyer_id=buyer_id, units=units, network=network).word:
        case EntryWord.ENTERED | EntryWord.ALREADY_ENTERED:
            return _("You are in the draw. You need not do anything more: we will write to you.")
        case EntryWord.TOO_MANY_UNITS:
            return _("Each account can ask for up to %(units)d of it.") % {"units": item.per_buyer_max}
    return _("The entries have closed, so nothing was changed.")


def own_entry(item: SaleItem, entry: DrawEntry | None, *, sale: Sale, is_over: bool) -> OwnEntry:
    headline, detail = entry_texts(entry, item=item, sale=sale, is_over=is_over) if entry else ("", "")
    return OwnEntry(item, entry, headline, detail)


def entry_texts(entry: DrawEntry, *, item: SaleItem, sale: Sale, is_over: bool) -> tuple[str, str]:
    """What the buyer reads of an entry: a headline, and what to do."""
    match entry.status:
        case DrawEntry.Status.ENTERED:
            return _("You are in the draw"), _("You need not do anything: we will write to you after the draw.")
        case DrawEntry.Status.WON if entry.reserved_at:
            detail = _("Units are held for %(duration)s. Your order says until when you can pay, or that it is paid.")
            return _("You have won"), detail % {"duration": duration(sale.hold_seconds)}
        case DrawEntry.Status.WON if is_over:
            return _("Your entry was drawn"), _(
                "The sale has ended. We are checking whether units were reserved for you before that. Please look "
                "here again in a few minutes."
            )
        case DrawEntry.Status.WON:
            return _("You have won"), _(
                "We reserve your units as soon as we can, mostly within seconds. This page updates automatically."
            )
        case DrawEntry.Status.PASSED_ON:
            return _("Your units went to the next"), _("You had won, but the order was not paid, or it was cancelled.")
    detail = no_units_text(entry, item=item, is_over=is_over)
    if entry.won_at_draw:
        return _("You got no units"), detail
    return _("You have not won") if is_over else _("You have not won so far"), detail
