"""The languages of the shop, from the setting SHOP_LANGUAGES."""

from collections.abc import Sequence

from django.conf.locale import LANG_INFO
from django.core.exceptions import ImproperlyConfigured


def shop_languages(codes: Sequence[str]) -> list[tuple[str, str]]:
    """Each language's code and its name in itself, in the order given. Raises ImproperlyConfigured.

    English must be among them: the shop's own texts are written in it.
    """
    if "en" not in codes:
        raise ImproperlyConfigured("SHOP_LANGUAGES must contain en, in which the shop's own texts are written.")
    if unknown := [code for code in codes if "name_local" not in LANG_INFO.get(code, {})]:
        raise ImproperlyConfigured(f"SHOP_LANGUAGES has codes that Django does not know: {', '.join(unknown)}")
    return [(code, str(LANG_INFO[code]["name_local"])) for code in codes]
