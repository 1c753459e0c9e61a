"""Which language to write to a person in: the one they last used the shop in."""

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import get_language

from shop.models import BuyerLanguage


def remember_language(request: HttpRequest) -> None:
    """Note the language of this request for mails to its user. One query where nothing changed.

    A program that asks for no language says nothing about its buyer, and what the web said before stays.
    """
    named = "HTTP_ACCEPT_LANGUAGE" in request.META or settings.LANGUAGE_COOKIE_NAME in request.COOKIES
    language = get_language()
    if not named or language is None or request.user.pk is None:
        return
    known = BuyerLanguage.objects.filter(user_id=request.user.pk).values_list("language", flat=True).first()
    if known != language:
        BuyerLanguage.objects.update_or_create(user_id=request.user.pk, defaults={"language": language})


def language_of(*, user_id: int) -> str:
    """The language that the person last used, or the shop's own."""
    known = BuyerLanguage.objects.filter(user_id=user_id).values_list("language", flat=True).first()
    return known if known in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE
