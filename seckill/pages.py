"""The pages of flash sales: the home page, one sale, and reserving without JavaScript."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from urllib.parse import quote, urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from seckill import ledger
from seckill.guards.guard_texts import guard_problem
from seckill.guards.pass_guards import GuardRefused, guarded_call
from seckill.ledger_words import Joined
from seckill.line.line_ledger import WAITING_UNITS_MAX, JoinAnswer, join_line
from seckill.line.place_in_line import LINE_REFUSALS, refused_as
from seckill.live.answer_counts import answer_counts
from seckill.live.offers import Offer, offers_of
from seckill.live.page_texts import phase_texts, refusal_detail, sale_page_texts, unpaid_too_often
from seckill.models import NoPass, Sale, SaleItem, listed_sales, published_items, published_sales, with_products
from seckill.outcomes import HTTP, Outcome
from seckill.passes import passes, receipts
from seckill.passes.unpaid_holds import HoldsUnpaid
from seckill.phase import Phase
from seckill.reservation import ACCEPTED
from seckill.reservation import reserve as reserve_units
from seckill.store.client import StoreUnreachable
from seckill.waiting_room.standing import why_not_let_in
from shop.accounts.address_book import lacks_address
from shop.http.client_address import client_network
from shop.http.problems import limit_reached, page_or_problem
from shop.http.public_answers import public_page
from shop.http.rate_limits import LimitReached
from shop.languages.language_choice import chosen_language
from shop.languages.page_language import language_of_path, path_in
from shop.templatetags.amounts import money
from shop.times.timestamps import now_ms, to_ms
from shop.times.zone import named_time

# The home page shows the next sales; the API lists all of them.
SALES_MAX = 12


@dataclass(frozen=True, slots=True)
class SaleCard:
    """A sale on the home page with its items. `opened` is also true during a pause."""

    sale: Sale
    opened: bool
    offers: list[Offer]

    @property
    def paused(self) -> bool:
        """Whether all of it is."""
        return phase_of_sale(self.offers, default=Phase.OPEN) is Phase.PAUSED


@public_page
def home(request: HttpRequest) -> HttpResponse:
    """The next sales. A visitor who has chosen another language is redirected; other pages stay as addressed."""
    chosen = chosen_language(request)
    if language_of_path(request.path) == settings.LANGUAGE_CODE != (chosen or settings.LANGUAGE_CODE):
        home_there = path_in(str(chosen), request.path)
        return HttpResponseRedirect(home_there, headers={"Cache-Control": "private, no-store"})
    now = timezone.now()
    coming = listed_sales().filter(closes_at__gt=now).order_by("opens_at", "pk")
    sales = list(coming.prefetch_related(with_products())[:SALES_MAX])
    offers = offers_of((item for sale in sales for item in sale.items.all()), now=now)
    cards = [
        SaleCard(sale, sale.opens_at <= now, [offer for offer in offers if offer.item.sale_id == sale.pk])
        for sale in sales
    ]
    # A draw takes entries before its opening; afterwards nobody can order in it.
    opened = [card for card in cards if card.opened and not card.sale.has_draw]
    context = {
        "open_cards": [card for card in opened if not card.paused],
        "paused_cards": [card for card in opened if card.paused],
        "draw_cards": [card for card in cards if not card.opened and card.sale.has_draw],
        "coming_cards": [card for card in cards if not card.opened and not card.sale.has_draw],
        "drawn_cards": [card for card in cards if card.opened and card.sale.has_draw],
    }
    return render(request, "seckill/home.html", context)


@public_page
def sale(request: HttpRequest, pk: int) -> HttpResponse:
    """A sale as all visitors see it. The page's scripts fetch the buyer's own units (`GET /api/v1/me/`)."""
    shown = get_object_or_404(published_sales().prefetch_related(with_products()), pk=pk)
    now = timezone.now()
    context = sale_context(shown, offers_of(shown.items.all(), now=now), now=now, path=request.path)
    return render(request, "seckill/sale.html", context)


def sale_context(shown: Sale, offers: list[Offer], *, now: datetime, path: str) -> dict[str, Any]:
    """What the page of a sale shows, also before it is published (seckill/staff/preview_page.py)."""
    phase = phase_of_sale(offers, default=shown.phase_at(now))
    notes = {offer.pause_note for offer in offers}
    texts = sale_page_texts(has_draw=shown.has_draw)
    return {
        "sale": shown,
        "phase": phase,
        "phase_text": texts["phase"][phase],
        # Also during a pause. A draw takes entries until then.
        "has_opened": now >= shown.opens_at,
        "shared_note": notes.pop() if len(notes) == 1 else "",
        "opens_ms": to_ms(shown.opens_at),
        "closes_ms": to_ms(shown.closes_at),
        "room_opens": named_time(shown.passes_open_at),
        "pass_lead_ms": settings.SECKILL_PASS_LEAD_SECONDS * 1000,
        "offers": offers,
        "summary": " · ".join(f"{offer.item.variant} {money(offer.item.price_minor)}" for offer in offers),
        "store_unreachable": any(offer.counters is None for offer in offers),
        "sign_in_url": f"{reverse('account_login')}?next={quote(path)}",
        "buy_form": "seckill/_enter.html" if shown.has_draw else "seckill/_buy.html",
        "texts": texts,
    }


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def reserve(request: HttpRequest, item_id: int) -> HttpResponse:
    """One item with a form, for browsers without JavaScript: a public page can have neither a token nor a pass.

    The page contains the pass, so pressing twice reserves once; after a lost answer the next page has it too.
    """
    item = get_object_or_404(published_items().select_related("sale", "variant__product__category"), pk=item_id)
    if item.sale.has_draw:
        return redirect("draw-entry", item.sale_id)
    now = timezone.now()
    if request.method != "POST":
        if must_wait(item.sale, account_id=cast(int, request.user.pk), now=now):
            return redirect("queue", item.sale_id)
        try:
            return show_item(request, item, now=now)
        except HoldsUnpaid as error:
            return page_or_problem(request, **unpaid_too_often(error.retry_after_seconds))
        except GuardRefused as error:
            return page_or_problem(request, **guard_problem(error))
        except LimitReached as error:
            return limit_reached(request, error)
    pass_text = request.POST.get("pass", "")
    pass_ = pass_from(pass_text, buyer_id=request.user.pk, item_id=item_id)
    units = units_from(request.POST.get("units", "1"))
    # With the number that was chosen, so that the page shows it again.
    back = redirect(reverse("reserve", args=[item.pk], query={"units": units} if units else None))
    if pass_ is None and (why_not := refusal_without_pass(item.sale)):
        answer_counts.add(item_id, why_not)
        messages.error(request, refusal_text(ledger.Reservation(why_not, now_ms=now_ms())))
        return back
    if pass_ is None:
        messages.error(request, _("The page had expired and has been reloaded. Please press the button again."))
        return back
    if units is None:
        messages.error(request, _("Choose how many units you want."))
        return back
    if request.POST.get("action") == "join":
        answer = joined_from_page(pass_, units=units)
        if answer.reservation_id:
            return redirect("reservation", answer.reservation_id)
        messages.error(request, join_refusal_text(answer))
        is_unknown = answer.word is Joined.UNAVAILABLE
        return show_item(request, item, now=now, same_pass=pass_text, units=units) if is_unknown else back
    reservation = reserve_units(pass_=pass_, units=units)
    if reservation.outcome not in ACCEPTED:
        messages.error(request, refusal_text(reservation))
        is_unknown = reservation.outcome is Outcome.UNAVAILABLE
        return show_item(request, item, now=now, same_pass=pass_text, units=units) if is_unknown else back
    receipt = receipts.issue(pass_=pass_, reservation_id=pass_.reservation_text, reservation=reservation)
    return HttpResponseRedirect(
        f"{reverse('reservation', args=[pass_.reservation_id])}?{urlencode({'receipt': receipt})}"
    )


def joined_from_page(pass_: passes.Pass, *, units: int) -> JoinAnswer:
    units = min(units, WAITING_UNITS_MAX)
    try:
        return join_line(
            item_id=pass_.item_id, reservation_id=pass_.reservation_id, buyer_id=pass_.buyer_id, units=units
        )
    except StoreUnreachable:
        return JoinAnswer(Joined.UNAVAILABLE)


def join_refusal_text(answer: JoinAnswer) -> str:
    if answer.word not in LINE_REFUSALS:
        return refusal_text(refused_as(answer))
    title, detail = LINE_REFUSALS[answer.word]
    return _("%(title)s. %(detail)s") % {"title": title, "detail": detail}


def must_wait(sale: Sale, *, account_id: int, now: datetime) -> bool:
    """Whether the sale has a waiting room, from which the buyer was not called.

    `now` is that of the page: at a later moment it could have a pass of a room that was not open yet.
    """
    if not sale.has_room or sale.why_no_pass(now):
        return False
    return why_not_let_in(sale_id=sale.pk, account_id=account_id) is not None


def show_item(
    request: HttpRequest, item: SaleItem, *, now: datetime, same_pass: str = "", units: int | None = None
) -> HttpResponse:
    """The item with the buyer's own figures, and the number of units that was chosen on the page of the sale.

    After a call without an answer with `same_pass` and `units`: it may have reserved, and repeating it is safe.
    """
    (offer,) = offers_of([item], now=now, buyer_id=request.user.pk)
    phase = offer.phase
    context = {
        "sale": item.sale,
        "offer": offer,
        "phase": phase,
        "phase_text": phase_texts()[phase],
        "pass_text": same_pass or pass_for(request, item.sale, item.pk, now=now),
        "units_chosen": min(units or units_from(request.GET.get("units", "1")) or 1, max(offer.remaining, 1)),
        "store_unreachable": offer.counters is None,
        "lacks_address": phase == Phase.UPCOMING and lacks_address(cast(int, request.user.pk)),
    }
    return render(request, "seckill/reserve.html", context)


def refusal_without_pass(sale: Sale) -> Outcome | None:
    """Why a page with a new pass would not help either: the sale is over, or has not opened. None while it would."""
    now = timezone.now()
    if sale.why_no_pass(now) is NoPass.CLOSED:
        return Outcome.CLOSED
    return Outcome.NOT_OPEN if now < sale.opens_at else None


def refusal_text(reservation: ledger.Reservation) -> str:
    return _("%(title)s. %(detail)s") % {
        "title": HTTP[reservation.outcome].title,
        "detail": refusal_detail(reservation),
    }


def pass_for(request: HttpRequest, sale: Sale, item_id: int, *, now: datetime) -> str:
    """A pass for the form in the page; empty if the buyer cannot have one now. Raises LimitReached and GuardRefused."""
    if not request.user.is_authenticated or sale.why_no_pass(now):
        return ""
    buyer_id, network = request.user.pk, client_network(request)
    guarded = guarded_call(request, sale=sale, buyer_id=buyer_id, network=network)
    text, _expires_s = passes.give(sale=sale, item_id=item_id, buyer_id=buyer_id, network=network, guarded=guarded)
    return text


def pass_from(text: str, *, buyer_id: int | None, item_id: int) -> passes.Pass | None:
    """The form's pass; None if it is missing, expired, or for another buyer or item."""
    try:
        pass_ = passes.read(text)
    except (passes.PassInvalid, passes.PassExpired):
        return None
    return pass_ if (pass_.buyer_id, pass_.item_id) == (buyer_id, item_id) else None


def units_from(text: str) -> int | None:
    """The number of units from the form; None if it is not a number from 1 to 999,999,999."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 and int(text) else None


def phase_of_sale(offers: list[Offer], *, default: Phase) -> Phase:
    """The phase of the items in the store, if all have the same; else `default`."""
    phases = {offer.phase for offer in offers}
    return phases.pop() if len(phases) == 1 else default
