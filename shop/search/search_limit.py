"""How many searches and filtered lists one client network may ask for: each is an answer made anew."""

from django.conf import settings
from django.http import HttpRequest

from shop.http.client_address import client_network
from shop.http.rate_limits import take


def count_search(request: HttpRequest) -> None:
    """Count this request, if it has a query. Raises LimitReached."""
    if request.META.get("QUERY_STRING"):
        take(action="search", rate=settings.SEARCH_LIMIT, key=client_network(request))
