"""The page between "pay" and the payment company that asks where the order goes. Works without JavaScript."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from orders.invoices.billing import BILLING_FIELDS, BillingForm, store_billing
from orders.models import Order, OrderStatus
from orders.pages.my_orders import orders_of, start_payment
from orders.shipping.address_texts import address_kept_text, is_address_taken, other_country_text
from orders.shipping.delivery_choice import (
    DeliveryOutcome,
    choice_open,
    countries_of,
    is_sent_otherwise,
    offers_of,
    store_choice,
)
from orders.shipping.order_address import CHANGEABLE, DeliveryForm, address_of, as_initial, likely_address
from orders.shipping.shipping_prices import Choice, choice_in
from shop.accounts.address_book import AddressBookFull, book_full_text, keep_address


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def address(request: HttpRequest, number: UUID) -> HttpResponse:
    return ask_address(request, get_object_or_404(orders_of(request), number=number))


def ask_address(request: HttpRequest, order: Order) -> HttpResponse:
    """Show the form; a POST stores the address and goes on to the payment, if that is still to come.

    It begins with the order's address, or else with a likely one. While the delivery can be
    chosen, the form has its offers for the country; `refresh` shows those of another one.
    """
    if order.status not in CHANGEABLE:
        messages.warning(request, fixed_text())
        return redirect(order)
    posted = request.method == "POST" and "refresh" not in request.POST
    initial = as_initial(address_of(order) or likely_address(buyer_id=order.buyer_id))
    if request.method == "POST":
        initial = request.POST.dict()
    form = DeliveryForm(
        request.POST if posted else None,
        initial=initial,
        countries=countries_of(order),
        has_book=order.buyer_id is not None,
    )
    choice = choice_in(request.POST)
    invoiced = {name: request.POST.get(name, getattr(order, name)) for name in BILLING_FIELDS}
    billing = BillingForm(request.POST if posted else None, initial=invoiced)
    if not posted or not all([form.is_valid(), billing.is_valid()]):
        return show(request, order, form, choice, billing)
    outcome = store_choice(order, values=form.values, method=choice.method, seen_price_minor=choice.seen_price_minor)
    if outcome is DeliveryOutcome.OTHER_COUNTRY:
        form.add_error("country", other_country_text(order))
        return show(request, order, form, choice, billing)
    if outcome in REFUSALS:
        return show(request, order, form, choice, billing, refusal=str(REFUSALS[outcome]))
    # A page of the release before has no such fields.
    given = {name: billing.cleaned_data[name] for name in BILLING_FIELDS if name in request.POST}
    changed = {name: value for name, value in given.items() if value != getattr(order, name)}
    is_billed = store_billing(order_id=order.pk, values=changed)
    save_in_book(request, form)
    if outcome is DeliveryOutcome.FIXED:
        messages.warning(request, address_kept_text() if is_address_taken(order) else fixed_text())
        return redirect(order)
    if not is_billed:
        # It was paid while the form was open.
        messages.warning(request, _("The invoice is written already, and stays as it is."))
    order.refresh_from_db(fields=["amount_minor", "shipping_name", "shipping_minor"])
    if choice.method and is_sent_otherwise(order, method=choice.method):
        text = _("The address is saved. The way of sending stays as it was, because the payment page was already open.")
        messages.warning(request, text)
    elif order.status == OrderStatus.AWAITING_PAYMENT and "later" not in request.POST:
        return start_payment(request, order)
    else:
        messages.success(request, _("The delivery address is saved."))
    return redirect(order)


def save_in_book(request: HttpRequest, form: DeliveryForm) -> None:
    """Keep the address of the form in the buyer's address book, if its box is ticked."""
    if request.user.pk is None or not form.wants_saving:
        return
    try:
        keep_address(user_id=request.user.pk, values=form.values)
    except AddressBookFull:
        messages.warning(request, book_full_text())


REFUSALS = {
    DeliveryOutcome.NOT_OFFERED: gettext_lazy("Please choose how we send your order."),
    DeliveryOutcome.PRICE_CHANGED: gettext_lazy(
        "A price has changed since you last saw it. Please look at the new total."
    ),
}


def fixed_text() -> str:
    return _("The address can no longer be changed: the order has been sent, or it has ended.")


def show(
    request: HttpRequest, order: Order, form: DeliveryForm, choice: Choice, billing: BillingForm, *, refusal: str = ""
) -> HttpResponse:
    choosing = choice_open(order)
    country = choice.country or str(form.initial.get("country", ""))
    offers = offers_of(order, country=country) if choosing and country else []
    first = offers[0] if offers else None
    context = {
        "order": order,
        "form": form,
        "billing": billing,
        "awaiting": order.status == OrderStatus.AWAITING_PAYMENT,
        "choosing": choosing,
        "country_chosen": bool(country),
        "offers": offers,
        "chosen": next((offer for offer in offers if offer.code == choice.method), first),
        "refusal": refusal,
    }
    return render(request, "orders/address.html", context)
