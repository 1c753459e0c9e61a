"""How often carts are changed from one client address, by people and programs together."""

from django.conf import settings
from django.http import HttpRequest

from shop.http.client_address import client_network
from shop.http.rate_limits import take


def count_cart_change(request: HttpRequest) -> None:
    """Raises LimitReached."""
    take(action="cart", rate=settings.CART_LIMIT, key=client_network(request))
