"""The lines of an address as its country writes them, for pages, mails and parcels."""

from typing import Any

from shop.addresses.countries import country_name

# Here an address goes from the large to the small.
LARGE_FIRST = ("CN", "TW", "HK", "MO")


def place_lines(address: Any) -> list[str]:
    """The lines under the name, without empty ones. `address` is one of the account's book, or of an order."""
    if address.country in LARGE_FIRST:
        lines = [f"{address.region} {address.city}".strip(), address.line1, address.line2, address.postcode]
    else:
        lines = [address.line1, address.line2, f"{address.postcode} {address.city}".strip(), address.region]
    return [line for line in (*lines, country_name(address.country)) if line]
