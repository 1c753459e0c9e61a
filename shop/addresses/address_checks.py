"""The rules for an address, in the form and in the API. They refuse only addresses that cannot be reached."""

import re
import unicodedata
from collections.abc import Mapping

from django.utils.translation import gettext as _

from shop.addresses.countries import names_in

# In the order of a form. They are the fields of the model ShippingAddress.
ADDRESS_FIELDS = ("name", "line1", "line2", "city", "region", "postcode", "country", "phone")

# Countries that deliver without postcodes, or where few people know theirs.
WITHOUT_POSTCODE = frozenset(
    ("AE", "AG", "AO", "AW", "BB", "BF", "BI", "BJ", "BO", "BS", "BW", "BZ", "CD", "CF", "CG", "CI", "CK", "CM", "DJ")
    + ("DM", "ER", "FJ", "GA", "GD", "GH", "GM", "GQ", "GY", "HK", "IE", "JM", "KI", "KM", "KN", "KP", "LC", "LY")
    + ("ML", "MO", "MR", "MW", "NR", "NU", "PA", "QA", "RW", "SB", "SC", "SL", "SR", "ST", "SY", "TD", "TG", "TK")
    + ("TL", "TO", "TT", "TV", "UG", "VU", "YE", "ZW")
)
POSTCODE = re.compile(r"(?=.*[0-9])[A-Za-z0-9][A-Za-z0-9 -]{1,11}")
PHONE = re.compile(r"\+?[0-9 ()./-]+")
PHONE_DIGITS = range(5, 21)


def tidy(field: str, text: str) -> str:
    """The text without needless blanks. Full-width digits, as Chinese keyboards write them, become plain."""
    text = " ".join(text.split())
    if field in ("postcode", "phone", "country"):
        text = unicodedata.normalize("NFKC", text).strip()
    return text.upper() if field in ("postcode", "country") else text


def address_errors(values: Mapping[str, str]) -> dict[str, str]:
    """The faults of a tidy address by field, in the reader's language.

    Empty and overlong fields were refused before.
    """
    errors = {}
    country, postcode, phone = values.get("country", ""), values.get("postcode", ""), values.get("phone", "")
    if country and country not in names_in("en"):
        errors["country"] = _("We do not know this country. Choose one, or send its two letters, such as CN or DE.")
    if postcode and not POSTCODE.fullmatch(postcode):
        errors["postcode"] = _("This does not look like a postcode. It has digits, and perhaps letters.")
    elif not postcode and country not in WITHOUT_POSTCODE:
        errors["postcode"] = _("Please enter the postcode.")
    digits = sum(character.isdigit() for character in phone)
    if phone and (not PHONE.fullmatch(phone) or digits not in PHONE_DIGITS):
        errors["phone"] = _("This does not look like a phone number. Write digits, for example +86 138 0013 8000.")
    return errors
