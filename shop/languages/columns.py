"""The columns that a translated field has in the database, one for each language."""

from typing import Any

from django.conf import settings
from django.utils.text import capfirst
from modeltranslation.utils import build_localized_fieldname


def in_all_languages(*paths: str) -> list[str]:
    """`product__name` → `product__name_en`, `product__name_zh_hans`, …: to search in every language."""
    return [build_localized_fieldname(path, code) for path in paths for code, _ in settings.LANGUAGES]


def in_default_language(path: str) -> str:
    """`name` → `name_en`: the column that a slug or an SKU is made from."""
    return build_localized_fieldname(path, settings.LANGUAGE_CODE)


def column_in(language: str, path: str) -> str:
    """`name`, `zh-hans` → `name_zh_hans`."""
    return build_localized_fieldname(path, language)


def label_in_language(column: Any) -> str:
    """The label of a form field for a language's column: "Options (English)"."""
    return f"{capfirst(column.translated_field.verbose_name)} ({dict(settings.LANGUAGES)[column.language]})"


def language_tabs(*paths: str) -> list[tuple[str, dict[str, Any]]]:
    """Fieldsets of the admin, shown as tabs: one for each language, with its columns of these fields."""
    return [
        (name, {"classes": ["tab"], "fields": [column_in(code, path) for path in paths]})
        for code, name in settings.LANGUAGES
    ]
