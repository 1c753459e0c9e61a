"""The language that a visitor chose: kept in a cookie, and with the account for mails and other devices."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from shop.http.problems import is_outage
from shop.languages.buyer_language import store_language, stored_language
from shop.languages.page_language import path_in


@csrf_exempt  # Public pages have no token, and the worst that a foreign form can do here is to switch the language.
@require_POST
def choose_language(request: HttpRequest) -> HttpResponse:
    """Remember the language and lead to the same page in it."""
    next_url = own_address(request.POST.get("next", ""))
    language = request.POST.get("language", "")
    if language not in dict(settings.LANGUAGES):
        return HttpResponseRedirect(next_url)
    keep_with_account(request, language)
    response = HttpResponseRedirect(own_address(path_in(language, next_url)))
    set_language_cookie(response, language)
    return response


def own_address(url: str) -> str:
    """The address if it is one of this shop, and else the home page's."""
    own = url.startswith("/") and url_has_allowed_host_and_scheme(url, allowed_hosts=None)
    return url if own else "/"


def keep_with_account(request: HttpRequest, language: str) -> None:
    """The cookie is enough: people can read in another language while a server is away."""
    try:
        if request.user.pk is not None:
            store_language(user_id=request.user.pk, language=language)
    except Exception as error:
        if not is_outage(error):
            raise


def set_language_cookie(response: HttpResponseBase, language: str) -> None:
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        samesite="Lax",
        secure=settings.LANGUAGE_COOKIE_SECURE,
    )


def chosen_language(request: HttpRequest) -> str | None:
    """The language chosen in this browser; None if there is none, or the shop no longer has it."""
    language = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME)
    return language if language in dict(settings.LANGUAGES) else None


def bring_language(response: HttpResponseBase, request: HttpRequest, *, user_id: int) -> None:
    """At sign-in: a browser in which nothing was chosen gets the language of the account."""
    if chosen_language(request) is None and (language := stored_language(user_id=user_id)) is not None:
        set_language_cookie(response, language)
