"""The rules for an address, in the form and in the API. They refuse only addresses that cannot be reached."""

import re
import unicodedata
from collections.abc import Mapping

from django.utils.translation import gettext as _

from shop.addresses.countries import names_in
from shop.addresses.country_rules import (
    MOBILE_REQUIRED,
    is_postcode,
    label_of,
    required_fields,
    rules_of,
    without_prefix,
)
from shop.addresses.places import Place, children, find, may_have_postcode, regions_with

# In the order of a form. They are the fields of the models Address and ShippingAddress.
ADDRESS_FIELDS = ("name", "line1", "line2", "district", "city", "region", "postcode", "country", "phone")

POSTCODE = re.compile(r"(?=.*[0-9])[A-Za-z0-9][A-Za-z0-9 -]{1,11}")
PHONE = re.compile(r"\+?[0-9 ()./-]+")
PHONE_DIGITS = range(5, 21)
CHINESE_MOBILE = re.compile(r"(?:\+86|0086|86)?1[3-9][0-9]{9}")
# Of a list, in the text of an error.
EXAMPLES_MAX = 3


def tidy_address(values: Mapping[str, str]) -> dict[str, str]:
    """All fields, without needless blanks, and places as their country writes them: 浙江 becomes 浙江省."""
    tidied = {name: tidy(name, values.get(name) or "") for name in ADDRESS_FIELDS}
    country = tidied["country"]
    tidied["postcode"] = without_prefix(tidied["postcode"], country)
    tidied["region"] = tidied["region"] or only_region(country, tidied["city"])
    path = [country]
    for name in ("region", "city", "district"):
        place = find(children(*path), tidied[name])
        if place is None:
            break
        # An address in Latin letters stays so.
        if place.key.isascii() == tidied[name].isascii():
            tidied[name] = place.key
        path.append(place.key)
    return tidied


def only_region(country: str, city: str) -> str:
    """The region of a city whose name says it: 浙江省 for 杭州. An address in Latin letters stays as it was written."""
    regions = regions_with(country, city) if city else []
    return regions[0].key if len(regions) == 1 and regions[0].key.isascii() == city.isascii() else ""


def tidy(field: str, text: str) -> str:
    """The text without needless blanks. Full-width digits, as Chinese keyboards write them, become plain."""
    text = " ".join(text.split())
    if field in ("postcode", "phone", "country"):
        text = unicodedata.normalize("NFKC", text).strip()
    return text.upper() if field in ("postcode", "country") else text


def address_errors(values: Mapping[str, str]) -> dict[str, str]:
    """The faults of a tidy address by field, in the reader's language.

    An empty name and street, and overlong fields, were refused before.
    """
    country = values.get("country", "")
    known = country in names_in("en")
    unknown = _("We do not know this country. Choose one, or send its two letters, such as CN or DE.")
    errors = {
        "country": "" if known else unknown,
        **place_errors(country, values),
        "postcode": postcode_error(country, values.get("postcode", ""), region=values.get("region", "")),
        "phone": phone_error(country, values.get("phone", "")),
    }
    return {name: error for name, error in errors.items() if error}


def place_errors(country: str, values: Mapping[str, str]) -> dict[str, str]:
    region, city, needed = values.get("region", ""), values.get("city", ""), required_fields(country)
    errors = {}
    listed = children(country)
    chosen = find(listed, region)
    elsewhere = regions_with(country, city) if city and listed and not find(cities_of(country, chosen), city) else []
    if region and listed and not chosen and "region" in needed:
        examples = _(", ").join(place.key for place in listed[:EXAMPLES_MAX])
        errors["region"] = _("Please choose one from the list of the country, such as %(examples)s.") % {
            "examples": examples
        }
    elif not region and "region" in needed and len(elsewhere) != 1:
        errors["region"] = missing_text("region", country)
    if not city and "city" in needed:
        errors["city"] = _("Please enter the city.")
    elif chosen and elsewhere and chosen not in elsewhere:
        errors["city"] = _("%(city)s is not in %(region)s. Please correct one of them.") % {
            "city": city,
            "region": chosen.label,
        }
    return errors


def missing_text(field: str, country: str) -> str:
    return _("Please fill in “%(field)s”.") % {"field": label_of(field, country)}


def cities_of(country: str, region: Place | None) -> tuple[Place, ...]:
    return children(country, region.key) if region else ()


def postcode_error(country: str, postcode: str, *, region: str) -> str:
    if not postcode:
        return _("Please enter the postcode.") if "postcode" in required_fields(country) else ""
    if is_postcode(postcode, country) and POSTCODE.fullmatch(postcode):
        place = find(children(country), region)
        if place is None or may_have_postcode(country, place, postcode):
            return ""
        return _("%(postcode)s is no postcode of %(region)s. Please correct one of them.") % {
            "postcode": postcode,
            "region": place.label,
        }
    examples = rules_of(country).postal_code_examples
    if not examples:
        return _("This does not look like a postcode. It has digits, and perhaps letters.")
    return _("This does not look like a postcode of this country. One looks like this: %(example)s") % {
        "example": examples[0]
    }


def phone_error(country: str, phone: str) -> str:
    """In China the parcel is handed over by phone. Somebody who lives elsewhere may give a number of there."""
    digits = sum(character.isdigit() for character in phone)
    if phone and (not PHONE.fullmatch(phone) or digits not in PHONE_DIGITS):
        return _("This does not look like a phone number. Write digits, for example +86 138 0013 8000.")
    if country not in MOBILE_REQUIRED:
        return ""
    plain = re.sub(r"[^0-9+]", "", phone)
    if not plain:
        return _("Please enter a mobile number. The courier calls it.")
    if (plain.startswith("+") and not plain.startswith("+86")) or CHINESE_MOBILE.fullmatch(plain):
        return ""
    return _("This is no mobile number. It has 11 digits and begins with 1, for example 138 0013 8000.")
