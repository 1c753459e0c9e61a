"""The simulated company's payment page. As with real companies, anyone with its address can pay."""

from hashlib import sha256

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from orders.payments.provider.names import ProviderName, chosen_providers
from orders.payments.simulated import company
from orders.payments.simulated.delivery import deliver_now
from orders.payments.simulated.models import SimulatedSession

# The actions of the buttons. Leaving without paying is a link and not a button.
ACTIONS = {
    "pay": company.pay,
    "decline": company.decline,
    "pay_slowly": company.pay_slowly,
}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def payment(request: HttpRequest, reference: str) -> HttpResponse:
    """The page and its buttons. If the page is no longer open, a button shows the page again, which says so."""
    if ProviderName.SIMULATED not in chosen_providers():
        raise Http404
    session = get_object_or_404(SimulatedSession, reference=reference)
    action = ACTIONS.get(request.POST.get("action", ""))
    if request.method != "POST" or action is None:
        return show(request, session)
    delivery = request.POST.get("delivery", "")
    known = may_choose_delivery() and delivery in SimulatedSession.Delivery.values
    if card := card_from(request.POST.get("card", "")):
        company.note_card(reference=reference, card=card)
    if not action(reference=reference, delivery=delivery if known else None):
        return redirect("simulated-payment", reference)
    session.refresh_from_db()
    if session.delivery == SimulatedSession.Delivery.EARLY:
        # The webhook reaches the shop before the buyer returns.
        deliver_now(session=session)
    return HttpResponseRedirect(session.way_back)


def card_from(number: str) -> str:
    """One word for each card, as companies give it; a shop never hears the number."""
    digits = "".join(sign for sign in number if sign.isdigit())
    return f"card_{sha256(digits.encode()).hexdigest()[:32]}" if digits else ""


def show(request: HttpRequest, session: SimulatedSession) -> HttpResponse:
    context = {
        "session": session,
        "open": session.status == SimulatedSession.Status.OPEN,
        "deliveries": SimulatedSession.Delivery.values if may_choose_delivery() else [],
        "slow_seconds": settings.SIMULATED_SLOW_SECONDS,
        "late_seconds": settings.SIMULATED_LATE_SECONDS,
    }
    return render(request, "payments/simulated.html", context)


def may_choose_delivery() -> bool:
    """Whether the page offers late, repeated and reordered webhooks: only in development and load tests."""
    return bool(settings.DEBUG or settings.LOAD_TESTS)
