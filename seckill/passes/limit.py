"""How often one account may ask for passes: each is checked, signed and may become a reservation.

Counted in the cache server, one round trip for each pass. While it is away everybody is let through.
"""

from django.conf import settings

from shop.http.rate_limits import take


def count_pass(*, buyer_id: int) -> None:
    """Raises LimitReached."""
    take(action="pass", rate=settings.PASS_LIMIT, key=str(buyer_id))
