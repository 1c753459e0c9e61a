"""The checkout as a page: address, delivery, summary. Everything works without JavaScript."""

from typing import Any
from uuid import uuid4

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from orders.cart.cart_contents import Contents, ShownLine, contents_of, mark_prices_seen
from orders.cart.cart_cookie import holder_of, keep_cookies
from orders.cart.cart_holder import Holder, find_cart, uuid_in
from orders.checkout.api import count_checkout, guest_needs_account_text, guests_wait_text, too_many_unpaid_text
from orders.checkout.checkout_form import CheckoutForms
from orders.checkout.placement import CheckoutRequest, Placement, PlaceOutcome, hold_seconds, place_once
from orders.idempotent_calls import KEY_LENGTH_MAX, KeyedCall
from orders.invoices.included_taxes import tax_shares
from orders.models import Order
from orders.pages.delivery_page import save_in_book
from orders.shipping.order_address import as_initial, likely_address
from orders.shipping.shipping_prices import Choice, ShippingOffer, choice_in, countries_sent_to, minor_in, offers_for
from shop.accounts.address_book import addresses_of
from shop.background.outages import AWAY
from shop.http.client_address import client_network
from shop.http.problems import limit_reached
from shop.http.rate_limits import LimitReached
from shop.languages.buyer_language import remember_language


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def checkout(request: HttpRequest) -> HttpResponse:
    """The page, and placing the order. `refresh` shows delivery and summary again, for the address in the form."""
    if request.method == "POST" and "refresh" not in request.POST:
        forms = forms_of(request, data=request.POST)
        return order_now(request, forms) if forms.is_valid() else show(request, forms, choice_in(request.POST))
    if request.method == "POST":
        return show(request, forms_of(request, initial=request.POST.dict()), choice_in(request.POST))
    forms = forms_of(request, initial=first_values(request))
    return show(request, forms, Choice(str(forms.address.initial.get("country", "")), ""))


def forms_of(request: HttpRequest, **values: Any) -> CheckoutForms:
    return CheckoutForms(is_guest=request.user.pk is None, countries=countries_sent_to(), **values)


def first_values(request: HttpRequest) -> dict[str, Any]:
    """The address that was chosen from the saved ones; what was typed before the stock changed; or the default address,
    or where the last order went.
    """
    buyer_id = request.user.pk
    wanted = uuid_in(request.GET.get("address", ""))
    if wanted and buyer_id is not None and (chosen := addresses_of(buyer_id).filter(pk=wanted).first()):
        return as_initial(chosen)
    return typed_by(holder_of(request)) or as_initial(likely_address(buyer_id=buyer_id))


def show(
    request: HttpRequest,
    forms: CheckoutForms,
    choice: Choice,
    *,
    refusal: str = "",
    changed: tuple[ShownLine, ...] = (),
    status: int = 200,
) -> HttpResponse:
    """The page with current prices. A cart that cannot be bought as it is goes back to the cart, which says why."""
    cart = find_cart(holder_of(request))
    contents = contents_of(cart)
    if not contents.can_be_bought:
        # Only the form of a buyer has no field for a mail address: the sign-in has ended, and the cart is still there.
        is_buyers = request.method == "POST" and request.user.pk is None and "email" not in request.POST
        return redirect_to_login(request.path) if is_buyers else redirect("cart")
    newly = contents.changed
    mark_prices_seen([cart], contents.lines)
    offers = offers_of(contents, choice.country)
    chosen = next((offer for offer in offers if offer.code == choice.method), offers[0] if offers else None)
    key = request.POST.get("key", "")
    context = {
        "forms": forms,
        "saved_addresses": addresses_of(request.user.pk) if request.user.pk else [],
        "contents": contents,
        "changed": changed or newly,
        "refusal": refusal,
        "country_chosen": bool(choice.country),
        "offers": offers,
        "chosen": chosen,
        "shipping_minor": chosen.price_minor if chosen else 0,
        "total_minor": contents.total_minor + (chosen.price_minor if chosen else 0),
        "taxes": taxes_in(contents, chosen),
        "key": key if is_sound(key) else str(uuid4()),
        "cart_units": contents.units,
        "hold_seconds": hold_seconds(is_guest=request.user.pk is None),
    }
    response = render(request, "orders/checkout/checkout.html", context, status=status)
    keep_cookies(response, request, cart=cart, units=contents.units)
    return response


def offers_of(contents: Contents, country: str) -> list[ShippingOffer]:
    if not country:
        return []
    return offers_for(country=country, weight_grams=contents.weight_grams, total_minor=contents.total_minor)


def taxes_in(contents: Contents, offer: ShippingOffer | None) -> list[Any]:
    lines = [
        (line.amount_minor, rate.percent if (rate := line.variant.product.tax_rate) else None)
        for line in contents.lines
    ]
    return tax_shares([*lines, (offer.price_minor, offer.tax_percent)] if offer else lines)


def order_now(request: HttpRequest, forms: CheckoutForms) -> HttpResponse:
    """Place the order and go to it. A form that is sent twice makes one order, by its key."""
    holder, contact = holder_of(request), forms.contact.cleaned_data
    choice, key = choice_in(request.POST), request.POST.get("key", "")
    try:
        count_checkout(request, buyer_id=holder.buyer_id)
    except LimitReached as error:
        return limit_reached(request, error)
    remember_language(request)
    asked = CheckoutRequest(
        holder=holder,
        email=contact.get("email", ""),
        network=client_network(request),
        address=forms.address.values,
        shipping_method=choice.method,
        language=get_language() or settings.LANGUAGE_CODE,
        note=contact["note"],
        billing_address=contact["billing_address"],
        vat_number=contact["vat_number"],
        seen_total_minor=minor_in(request.POST.get("seen_total", "")),
        seen_shipping_minor=choice.seen_price_minor,
    )
    # The same key returns the same order, even if the form says something else.
    call = KeyedCall(owner=f"web:{holder.owner}", key=key if is_sound(key) else str(uuid4()))
    result = place_once(asked, call, wait=True)
    if result.refusal is not None:
        return show_refusal(request, forms, choice, result.refusal)
    save_in_book(request, forms.address)
    forget_typed(holder)
    order = get_object_or_404(Order, number=result.answer["number"])
    response = redirect(order)
    cart = find_cart(holder)
    keep_cookies(response, request, cart=cart, units=contents_of(cart).units)
    return response


def show_refusal(request: HttpRequest, forms: CheckoutForms, choice: Choice, placement: Placement) -> HttpResponse:
    """Say what was wrong, and keep the buyer's entries in the form. Nothing was ordered."""
    if placement.outcome is PlaceOutcome.CART_EMPTY:
        messages.warning(request, _("Your cart is empty. If you have just ordered, your order is placed once."))
        return redirect("cart")
    if placement.outcome is PlaceOutcome.STOCK_CHANGED:
        keep_typed(holder_of(request), {**forms.contact.cleaned_data, **forms.address.values})
        context = {"lines": placement.lines}
        return render(request, "orders/checkout/stock_changed.html", context, status=409)
    texts = {
        PlaceOutcome.PRICE_CHANGED: _("A price has changed since you last saw it. Please look at the new total."),
        PlaceOutcome.SHIPPING_NOT_OFFERED: _("Please choose how we send your order."),
        PlaceOutcome.TOO_MANY_UNPAID: too_many_unpaid_text(),
        PlaceOutcome.GUEST_NEEDS_ACCOUNT: guest_needs_account_text(placement.lines),
        PlaceOutcome.GUESTS_WAIT: guests_wait_text(),
    }
    return show(request, forms, choice, refusal=texts[placement.outcome], changed=tuple(placement.lines), status=409)


def is_sound(key: str) -> bool:
    return 0 < len(key) <= KEY_LENGTH_MAX and key.isprintable()


# Longer than changing a cart takes. A browser may be used by several people.
KEPT_SECONDS = 1800


def keep_typed(holder: Holder, values: dict[str, Any]) -> None:
    """Keep the entries of the form, since buyers change their cart first when the stock has changed.

    Without the cache server they type again. An account that signs in with a guest's cart does not get the guest's.
    """
    try:
        cache.set(key_of(holder), values, KEPT_SECONDS)
    except AWAY:
        return


def typed_by(holder: Holder) -> dict[str, Any]:
    """Empty if nothing is kept."""
    try:
        return (cache.get(key_of(holder)) if holder.owner else None) or {}
    except AWAY:
        return {}


def forget_typed(holder: Holder) -> None:
    try:
        cache.delete(key_of(holder))
    except AWAY:
        return


def key_of(holder: Holder) -> str:
    return f"checkout-typed:{holder.owner}"
