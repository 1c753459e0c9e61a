"""The columns that a translated field has in the database, one for each language."""

from django.conf import settings
from modeltranslation.utils import build_localized_fieldname


def in_all_languages(*paths: str) -> list[str]:
    """`product__name` → `product__name_en`, `product__name_zh_hans`, …: to search in every language."""
    return [build_localized_fieldname(path, code) for path in paths for code, _ in settings.LANGUAGES]
