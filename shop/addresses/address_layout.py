"""The lines of an address as its country writes them, for pages, mails, invoices, parcels and exports."""

import re
from collections.abc import Mapping
from typing import Any

from shop.addresses.countries import country_name
from shop.addresses.country_rules import LETTERS, rules_of

# In the package's formats.
NEW_LINE, FIELD = "%n", re.compile("%([A-Z])")


def address_lines(values: Mapping[str, Any]) -> list[str]:
    """The lines, with the name and the country. `values` are by the names of ADDRESS_FIELDS.

    What was entered though the country does not write it has a line of its own: beside the street where the name comes
    last, as in Japan, and else at the end. Without a country, the order is that of most countries.
    """

    def part(name: str) -> str:
        return str(values.get(name) or "")

    country = part("country")
    city = "" if part("city") == part("region") else part("city")
    texts = {letter: part(name) for letter, name in LETTERS.items()} | {"C": city, "N": part("name")}
    texts["A"] = "\n".join(filter(None, (part("line1"), part("line2"))))
    rules = rules_of(country)
    form = rules.address_latin_format if is_latin(texts) else rules.address_format
    lines = [filled(line, texts) for line in form.split(NEW_LINE)]
    written = "\n".join(lines).casefold()
    unwritten = [texts[letter] for letter in LETTERS if f"%{letter}" not in form]
    left_out = [text for text in unwritten if text.casefold() not in written]
    name_last = form.index("%N") > form.index("%A")
    lines.insert(lines.index(texts["A"]) if name_last and texts["A"] else len(lines), " ".join(left_out))
    lines.append(country_name(country) if country else "")
    return [line for text in lines for line in text.split("\n") if line]


def is_latin(texts: Mapping[str, str]) -> bool:
    """Whether somebody wrote the place in Latin letters, which some countries order in another way."""
    return all(ord(character) < 0x250 for letter in "ACDS" for character in texts[letter])


def filled(line: str, texts: Mapping[str, str]) -> str:
    """A mark stands only between two fields that are there, or before the first one. Some lines are words alone."""
    marks, letters = FIELD.split(line)[::2], FIELD.findall(line)
    text = "" if letters else line
    for place, (mark, letter) in enumerate(zip(marks, letters, strict=False)):
        if part := texts.get(letter, ""):
            text += part if place and not text else mark + part
    return text
