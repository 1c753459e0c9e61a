"""Texts that are kept as they were, in each language that the shop had then."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.utils.functional import Promise, lazy
from django.utils.translation import get_language, override

Text = str | Promise


def in_readers_language(texts: Mapping[str, str]) -> str:
    """The text in the reader's language, else in the shop's own, else in any. Keys are like columns: zh_hans."""
    for language in (get_language() or "", settings.LANGUAGE_CODE):
        if text := texts.get(language.replace("-", "_")):
            return text
    return next(iter(texts.values()), "")


def filled(text: Text, **values: Any) -> Text:
    """`text` with its %(places)s filled. Text and values are written out later, in the language of the reader."""
    return lazy(lambda: str(text) % values, str)()


def in_each_language(text: Text) -> dict[str, str]:
    """The text as readers of each language see it, to be kept."""
    texts = {}
    for code, _name in settings.LANGUAGES:
        with override(code):
            texts[code.replace("-", "_")] = str(text)
    return texts
