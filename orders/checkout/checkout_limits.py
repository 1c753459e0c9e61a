"""How often orders may be placed: by an account, and from one client address. Counted before anything is read."""

from django.conf import settings
from django.http import HttpRequest

from shop.http.client_address import client_network
from shop.http.rate_limits import take


def count_checkout(request: HttpRequest, *, buyer_id: int | None) -> None:
    """Raises LimitReached."""
    take(action="checkout_by_address", rate=settings.CHECKOUT_LIMIT_BY_ADDRESS, key=client_network(request))
    if buyer_id is not None:
        take(action="checkout", rate=settings.CHECKOUT_LIMIT, key=str(buyer_id))
