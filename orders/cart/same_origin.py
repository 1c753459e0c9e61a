"""Whether a form was sent by a page of this shop, for forms on public pages, which cannot hold a token.

A browser says where a form comes from, in headers that no page can write: `Sec-Fetch-Site`, and before it `Origin`.
(Go's http.CrossOriginProtection decides in the same way.)
"""

from django.http import HttpRequest


def is_same_origin(request: HttpRequest) -> bool:
    """False also where the browser does not say it; then ask with a page that has a token."""
    if site := request.headers.get("Sec-Fetch-Site"):
        return site == "same-origin"
    origin = request.headers.get("Origin")
    return origin == f"{request.scheme}://{request.get_host()}"
