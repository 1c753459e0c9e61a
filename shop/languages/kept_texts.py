"""Texts that a row keeps as they were, in each language that the shop had then."""

from collections.abc import Mapping

from django.conf import settings
from django.utils.translation import get_language


def in_readers_language(texts: Mapping[str, str]) -> str:
    """The text in the reader's language, else in the shop's own, else in any. Keys are like columns: zh_hans."""
    for language in (get_language() or "", settings.LANGUAGE_CODE):
        if text := texts.get(language.replace("-", "_")):
            return text
    return next(iter(texts.values()), "")
