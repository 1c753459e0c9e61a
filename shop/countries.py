"""Countries by their code of ISO 3166, with the names that Babel has for them in the language of the page."""

import re
from functools import lru_cache

from babel import Locale
from django.conf import settings
from django.utils import translation

# Two letters that Babel has for something that is no country: unions, groups, tests, and "unknown".
NO_COUNTRY = {"EU", "EZ", "QO", "UN", "XA", "XB", "ZZ"}


def country_choices() -> list[tuple[str, str]]:
    """Code and name of each country, by name."""
    return list(_choices(translation.to_locale(translation.get_language() or settings.LANGUAGE_CODE)))


def country_name(code: str) -> str:
    """The name in the language of the page; the code itself if there is none."""
    return dict(country_choices()).get(code, code)


@lru_cache(maxsize=16)
def _choices(locale_name: str) -> tuple[tuple[str, str], ...]:
    names = Locale.parse(locale_name).territories
    countries = [(code, name) for code, name in names.items() if re.fullmatch("[A-Z]{2}", code)]
    return tuple(sorted(((code, name) for code, name in countries if code not in NO_COUNTRY), key=lambda pair: pair[1]))
