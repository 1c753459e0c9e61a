"""The addresses of a shop with one page more, which fails; for tests that name this module as their urls."""

from django.http import HttpRequest, HttpResponse
from django.urls import path

from shop.urls import urlpatterns as urls_of_shop


def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("broken on purpose")


urlpatterns = [path("broken/", broken), *urls_of_shop]
handler404 = "shop.http.problems.not_found"
handler500 = "shop.http.problems.server_error"
