"""The cookies of a cart on the web.

`cart` is the token of a guest's cart; scripts cannot read it. It is set when something is put into the cart and never
before, so that public pages stay without cookies. `cart_units` is a hint for the scripts of the header: how many units,
and of whom, since one browser may have several buyers. It proves nothing and opens nothing.
"""

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from orders.cart.cart_holder import KEPT, Holder, uuid_in
from orders.models import Cart
from shop.accounts.sign_in_hint import hint_of

COOKIE = "cart"
HINT = "cart_units"
AGE_SECONDS = int(KEPT.total_seconds())


def holder_of(request: HttpRequest) -> Holder:
    """The holder of the cart, from the session and the cookie."""
    return Holder(buyer_id=request.user.pk, token=uuid_in(request.COOKIES.get(COOKIE, "")))


def keep_cookies(response: HttpResponseBase, request: HttpRequest, *, cart: Cart | None, units: int) -> None:
    """Set the cookies to match the cart. A buyer's cart needs only the hint."""
    if cart is not None and cart.buyer_id is None:
        response.set_cookie(
            COOKIE,
            str(cart.token),
            max_age=AGE_SECONDS,
            httponly=True,
            secure=settings.SESSION_COOKIE_SECURE,
            samesite="Lax",
        )
    elif COOKIE in request.COOKIES:
        response.delete_cookie(COOKIE, samesite="Lax")
    value = f"{hint_of(str(request.user.pk)) if request.user.pk else ''}.{units}"
    if not units and HINT in request.COOKIES:
        response.delete_cookie(HINT, samesite="Lax")
    elif units and request.COOKIES.get(HINT) != value:
        response.set_cookie(HINT, value, max_age=AGE_SECONDS, secure=settings.SESSION_COOKIE_SECURE, samesite="Lax")
