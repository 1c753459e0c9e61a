"""The language of mails to a buyer: the one in which they last used the shop."""

from functools import lru_cache

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import get_language

from shop.databases.prepared import Prepared
from shop.models import BuyerLanguage


def remember_language(request: HttpRequest) -> None:
    """Store the language of this request for mails to its user. One query where nothing changed.

    A program that asks for no language does not change the buyer's choice on the web.
    """
    language = get_language()
    if not is_language_chosen(request) or language is None or request.user.pk is None:
        return
    store_language(user_id=request.user.pk, language=language)


def is_language_chosen(request: HttpRequest) -> bool:
    return "HTTP_ACCEPT_LANGUAGE" in request.META or settings.LANGUAGE_COOKIE_NAME in request.COOKIES


def store_language(*, user_id: int, language: str) -> None:
    if stored_language(user_id=user_id) != language:
        BuyerLanguage.objects.update_or_create(user_id=user_id, defaults={"language": language})


def language_of(*, user_id: int) -> str:
    """The language that the person last used, or the shop's own."""
    return stored_language(user_id=user_id) or settings.LANGUAGE_CODE


def stored_language(*, user_id: int) -> str | None:
    """The language that the person last used; None if there is none, or the shop no longer has it."""
    row = prepared_language().first(user_id)
    return row[0] if row and row[0] in dict(settings.LANGUAGES) else None


@lru_cache(maxsize=1)
def prepared_language() -> Prepared:
    return Prepared(BuyerLanguage.objects.filter(user_id=0).values_list("language"))
