"""What an invoice or a note says, as JSON that is kept: amounts in minor units, texts in each language.

code, ordered_at, paid_at   the order, and when it was made and paid
seller                      lines of text
buyer                       name, line1 … country as in an address, email, vat_number, and the lines of a
                                billing_address, which is shown instead; what is not known is missing
lines                       texts, or null for the delivery and a part of the price; name, units, unit_price_minor,
                            amount_minor, tax_percent
taxes                       [percent, gross_minor, tax_minor]
invoice_id                  of a note: the invoice that it corrects
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.conf import settings

from orders.invoices.included_taxes import tax_shares
from orders.models import Order, OrderLine, Refund, ShippingAddress
from shop.addresses.address_checks import ADDRESS_FIELDS

# How the address of the seller is written in SHOP_ADDRESS, on one line.
LINE_BREAK = "|"
# The subjects of lines that name no product.
SHIPPING, REFUND = "shipping", "refund"


def invoice_contents(order: Order) -> dict[str, Any]:
    """Of an order that was just paid. Its lines and its address are read."""
    lines = [line_contents(line, units=line.units) for line in order.lines.select_related("variant__product")]
    if order.shipping_minor:
        lines.append(
            sum_line(SHIPPING, order.shipping_minor, percent=order.shipping_tax_percent, name=order.shipping_name)
        )
    return {
        "code": order.shown_code,
        "ordered_at": order.created_at.isoformat(),
        "paid_at": order.ended_at.isoformat() if order.ended_at else None,
        "seller": [settings.SHOP_NAME, *filter(None, map(str.strip, settings.SHOP_ADDRESS.split(LINE_BREAK)))],
        "buyer": buyer_contents(order),
        "lines": lines,
        "taxes": taxes_in(lines),
    }


@dataclass(frozen=True, slots=True)
class Rest:
    """What notes have left of an invoice: gross amount and tax of each rate, and of the delivery."""

    gross_of: Counter[str | None]
    tax_of: Counter[str | None]
    shipping_minor: int

    def has(self, lines: Iterable[dict[str, Any]]) -> bool:
        gross_of = gross_amounts(lines)
        return all(gross_of[percent] <= self.gross_of[percent] for percent in gross_of)


def rest_of(invoice: dict[str, Any], *, credited: list[dict[str, Any]], debited: list[dict[str, Any]]) -> Rest:
    gross_of, tax_of, shipping_minor = Counter[str | None](), Counter[str | None](), 0
    for sign, documents in ((1, [invoice, *debited]), (-1, credited)):
        for contents in documents:
            for line in contents["lines"]:
                gross_of[line["tax_percent"]] += sign * line["amount_minor"]
                shipping_minor += sign * line["amount_minor"] if line.get("about") == SHIPPING else 0
            for percent, _gross_minor, tax_minor in contents["taxes"]:
                tax_of[percent] += sign * tax_minor
    return Rest(gross_of, tax_of, shipping_minor)


def note_contents(
    refund: Refund, invoice: dict[str, Any], *, invoice_id: int, invoice_minor: int, rest: Rest
) -> dict[str, Any]:
    """Of a refund: the units that it is about, if they cost what is refunded, alone or with the delivery.

    Else it is a part of the price, spread over what is left of each rate. So notes never credit more at a rate than was
    invoiced, and the last one takes the rest.
    """
    lines = invoice["lines"] if refund.amount_minor == invoice_minor else lines_refunded(refund, invoice["lines"], rest)
    if lines is None:
        parts = parts_of(refund.amount_minor, rest.gross_of)
        lines = [sum_line(REFUND, part_minor, percent=percent) for percent, part_minor in parts]
    same = {name: invoice[name] for name in ("code", "ordered_at", "paid_at", "seller", "buyer")}
    return {**same, "lines": lines, "taxes": taxes_within(rest, lines), "invoice_id": invoice_id}


def lines_refunded(refund: Refund, invoiced: list[dict[str, Any]], rest: Rest) -> list[dict[str, Any]] | None:
    """The lines that cost just what is refunded; None if there are none, or other notes have their money already."""
    named = [
        line_contents(returned.line, units=returned.units)
        for returned in refund.lines.select_related("line__variant__product")
    ]
    shipping = [
        line for line in invoiced if line.get("about") == SHIPPING and line["amount_minor"] <= rest.shipping_minor
    ]
    for lines in (named, named + shipping):
        if named and sum(line["amount_minor"] for line in lines) == refund.amount_minor and rest.has(lines):
            return lines
    return None


def line_contents(line: OrderLine, *, units: int) -> dict[str, Any]:
    return {
        "sku": line.sku,
        "texts": line.texts or None,
        "name": line.title,
        "units": units,
        "unit_price_minor": line.unit_price_minor,
        "amount_minor": units * line.unit_price_minor,
        "tax_percent": text_of(line.tax_percent),
    }


def sum_line(about: str, amount_minor: int, *, percent: Decimal | None, name: str = "") -> dict[str, Any]:
    """A line that is no product."""
    return {
        "about": about,
        "texts": None,
        "name": name,
        "units": 1,
        "unit_price_minor": amount_minor,
        "amount_minor": amount_minor,
        "tax_percent": text_of(percent),
    }


def buyer_contents(order: Order) -> dict[str, str]:
    """The address of the delivery, else the name of the account; beside it what the buyer gave for the invoice."""
    address = ShippingAddress.objects.filter(order=order).values(*ADDRESS_FIELDS).first()
    person = order.buyer
    known = address or {"name": (person.get_full_name() or person.get_username()) if person else ""}
    given = {"billing_address": order.billing_address, "vat_number": order.vat_number}
    known = {**known, **given, "phone": "", "email": order.contact_email}
    return {name: value for name, value in known.items() if value}


def gross_amounts(lines: Iterable[dict[str, Any]]) -> Counter[str | None]:
    gross_of = Counter[str | None]()
    for line in lines:
        gross_of[line["tax_percent"]] += line["amount_minor"]
    return gross_of


def parts_of(amount_minor: int, gross_of: Counter[str | None]) -> list[tuple[Decimal | None, int]]:
    """The amount, spread over the rates as their gross amounts are: none gets more than it has, the last the rest."""
    # Notes of older releases may have credited more at a rate than was invoiced.
    amounts = {percent: gross_minor for percent, gross_minor in gross_of.items() if gross_minor > 0}
    total, left, parts = sum(amounts.values()), amount_minor, []
    for percent, gross_minor in amounts.items():
        part_minor = left * gross_minor // total
        left, total = left - part_minor, total - gross_minor
        parts.append((percent_of(percent), part_minor))
    return [part for part in parts if part[1]]


def taxes_in(lines: Iterable[dict[str, Any]]) -> list[tuple[str | None, int, int]]:
    shares = tax_shares((line["amount_minor"], percent_of(line["tax_percent"])) for line in lines)
    return [(text_of(share.percent), share.gross_minor, share.tax_minor) for share in shares]


def taxes_within(rest: Rest, lines: Iterable[dict[str, Any]]) -> list[tuple[str | None, int, int]]:
    """The taxes of a note. The last of a rate takes what rounding has left of its tax, and none takes more."""
    return [
        (percent, gross_minor, left if gross_minor == rest.gross_of[percent] else min(tax_minor, left))
        for percent, gross_minor, tax_minor in taxes_in(lines)
        for left in (max(rest.tax_of[percent], 0),)
    ]


def percent_of(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def text_of(percent: Decimal | None) -> str | None:
    return None if percent is None else str(percent)
