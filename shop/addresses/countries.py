"""The countries that an address can name: codes of ISO 3166 with Babel's names in the reader's language."""

from functools import cache

from babel import Locale

from shop.times.zone import reader_locale

# Codes of two letters that Babel names and that are no country: unions, tests, the unknown.
NO_COUNTRIES = frozenset(("EU", "EZ", "UN", "QO", "XA", "XB", "ZZ"))


def country_choices() -> list[tuple[str, str]]:
    """(code, name) of every country, sorted by name."""
    return sorted(names_in(reader_locale()).items(), key=lambda item: sort_key(item[1]))


def country_name(code: str) -> str:
    """The country's name in the reader's language; the code itself if it is unknown."""
    return names_in(reader_locale()).get(code, code)


@cache
def names_in(locale: str) -> dict[str, str]:
    territories = Locale.parse(locale).territories
    return {
        code: name
        for code, name in territories.items()
        if len(code) == 2 and code.isalpha() and code not in NO_COUNTRIES
    }


def sort_key(name: str) -> bytes:
    """GB 18030 has the usual Chinese characters in the order of their pinyin. Latin letters come without accents."""
    plain = name.casefold().translate(str.maketrans("åçéôãíàü", "aceoaiau"))
    return plain.encode("gb18030")
