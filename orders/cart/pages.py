"""The cart as a page. Everything works without JavaScript."""

from urllib.parse import urlencode

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from orders.cart.api import count_cart_change
from orders.cart.cart_contents import contents_of, mark_prices_seen
from orders.cart.cart_cookie import holder_of, keep_cookies
from orders.cart.cart_holder import find_cart, lock_cart, open_cart
from orders.cart.cart_lines import LINES_MAX, UNITS_MAX, AddOutcome, add_units, set_units, sold_variant, units_max_of
from orders.cart.serializers import SKU_LENGTH_MAX
from shop.http.problems import limit_reached
from shop.http.rate_limits import LimitReached
from shop.models import Variant

# The name of the field with a line's units is this and the variant's id.
UNITS_FIELD = "units-"


@never_cache
@require_safe
def cart(request: HttpRequest) -> HttpResponse:
    """The cart, and what changed since the buyer last saw it."""
    shown = find_cart(holder_of(request))
    contents = contents_of(shown)
    context = {"contents": contents, "units_max": UNITS_MAX, "cart_units": contents.units}
    response = render(request, "orders/cart/cart.html", context)
    mark_prices_seen([shown], contents.lines)
    keep_cookies(response, request, cart=shown, units=contents.units)
    return response


@never_cache
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    """Put units of a variant into the cart, from a form on a public page, which cannot have a token.

    So the browser must say that a page of this shop sent it. If it does not, a page with a token asks the buyer.
    """
    if request.method == "POST" and is_same_origin(request):
        return put_in(request)
    wanted = {name: request.POST.get(name) or request.GET.get(name, "") for name in ("sku", "units")}
    return redirect(f"{reverse('cart-add-confirm')}?{urlencode(wanted)}")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def confirm_add(request: HttpRequest) -> HttpResponse:
    """Ask whether to put it into the cart, with a form that has a token."""
    if request.method == "POST":
        return put_in(request)
    variant = sold_variant(sku_from(request.GET.get("sku", "")))
    if variant is None:
        messages.warning(request, not_sold_text())
        return redirect("cart")
    units = units_from(request.GET.get("units", "")) or 1
    return render(request, "orders/cart/add.html", {"variant": variant, "units": units, "units_max": UNITS_MAX})


def put_in(request: HttpRequest) -> HttpResponse:
    try:
        count_cart_change(request)
    except LimitReached as error:
        return limit_reached(request, error)
    response = redirect("cart")
    variant = sold_variant(sku_from(request.POST.get("sku", "")))
    units = units_from(request.POST.get("units", "1"))
    if variant is None:
        messages.warning(request, not_sold_text())
        return response
    if not units:
        messages.warning(request, _("Choose how many units you want."))
        return response
    with transaction.atomic():
        changed = open_cart(holder_of(request))
        outcome = add_units(cart=changed, variant=variant, units=units)
    if outcome is AddOutcome.ADDED:
        messages.success(request, _("In your cart: %(what)s") % {"what": variant})
    else:
        messages.warning(request, why_not_all(outcome, variant))
    keep_cookies(response, request, cart=changed, units=contents_of(changed).units)
    return response


@never_cache
@require_POST
def change(request: HttpRequest) -> HttpResponse:
    """Set the units of the lines, take one step up or down, or remove a line; and go on to the checkout if asked to."""
    try:
        count_cart_change(request)
    except LimitReached as error:
        return limit_reached(request, error)
    response = redirect("cart")
    found = find_cart(holder_of(request))
    if found is None:
        return response
    units_of = units_in_form(request)
    is_fine = all(units is not None and units <= UNITS_MAX for units in units_of.values())
    if any(units is None for units in units_of.values()):
        messages.warning(request, _("A number of units was not a number, and stayed as it was."))
    if any(units and units > UNITS_MAX for units in units_of.values()):
        messages.warning(request, units_max_text())
    with transaction.atomic():
        locked = lock_cart(found)
        if locked is None:
            return response
        set_units(cart=locked, units_of={pk: units for pk, units in units_of.items() if units is not None})
    contents = contents_of(locked)
    if "checkout" in request.POST and is_fine and contents.can_be_bought:
        response = redirect("checkout")
    keep_cookies(response, request, cart=locked, units=contents.units)
    return response


def units_in_form(request: HttpRequest) -> dict[int, int | None]:
    """The units wanted of each variant, after the button that was pressed; None for a field that is not a number."""
    units_of: dict[int, int | None] = {}
    for name, text in request.POST.items():
        if name.startswith(UNITS_FIELD) and (variant_id := variant_id_from(name.removeprefix(UNITS_FIELD))) is not None:
            units_of[variant_id] = number_from(str(text))
    for button, step in (("fewer", -1), ("more", +1)):
        pressed = variant_id_from(request.POST.get(button, ""))
        if pressed is not None and (units := units_of.get(pressed)) is not None:
            units_of[pressed] = max(units + step, 1)
    removed = variant_id_from(request.POST.get("remove", ""))
    if removed is not None:
        units_of[removed] = 0
    return units_of


def number_from(text: str, *, digits_max: int = 9) -> int | None:
    """A whole number that the column of the database can hold."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits_max else None


def variant_id_from(text: str) -> int | None:
    return number_from(text, digits_max=18)


def units_from(text: str) -> int | None:
    """How many units to add; None if it is not a number, or none."""
    return min(number_from(text) or 0, UNITS_MAX) or None


def sku_from(text: str) -> str:
    """The SKU; empty if it is too long, or has a NUL, which PostgreSQL refuses."""
    return text if len(text) <= SKU_LENGTH_MAX and "\0" not in text else ""


def not_sold_text() -> str:
    return _("This product is no longer sold.")


def why_not_all(outcome: AddOutcome, variant: Variant) -> str:
    if outcome is AddOutcome.CART_FULL:
        return _("Your cart is full: it can have %(max)d different products.") % {"max": LINES_MAX}
    if outcome is AddOutcome.NOT_SOLD:
        return not_sold_text()
    most = units_max_of(variant)
    if most == UNITS_MAX:
        return units_max_text()
    text = ngettext(
        "You can order at most %(max)d unit of “%(what)s”.", "You can order at most %(max)d units of “%(what)s”.", most
    )
    return text % {"max": most, "what": variant.product}


def units_max_text() -> str:
    return _("You can order at most %(max)d units of one product.") % {"max": UNITS_MAX}


def is_same_origin(request: HttpRequest) -> bool:
    """Whether a page of this shop sent the form, for forms on public pages, which cannot hold a token.

    A browser says where a form comes from, in headers that no page can write: `Sec-Fetch-Site`, and before it
    `Origin`. (Go's http.CrossOriginProtection decides in the same way.) False also where the browser does not say it;
    then ask with a page that has a token.
    """
    if site := request.headers.get("Sec-Fetch-Site"):
        return site == "same-origin"
    origin = request.headers.get("Origin")
    return origin == f"{request.scheme}://{request.get_host()}"
