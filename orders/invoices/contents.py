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

from collections.abc import Iterable
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


def note_contents(refund: Refund, invoice: dict[str, Any], *, invoice_id: int, invoice_minor: int) -> dict[str, Any]:
    """Of a refund: the units that it is about, if they cost what is refunded; else a part of the price.

    The tax of a part is taken from all rates of the invoice alike.
    """
    whole = refund.amount_minor == invoice_minor
    named = [
        line_contents(returned.line, units=returned.units)
        for returned in refund.lines.select_related("line__variant__product")
    ]
    if whole:
        lines = invoice["lines"]
    elif named and sum(line["amount_minor"] for line in named) == refund.amount_minor:
        lines = named
    else:
        lines = [
            sum_line(REFUND, part_minor, percent=percent)
            for percent, part_minor in parts_of(refund.amount_minor, invoice["lines"])
        ]
    same = {name: invoice[name] for name in ("code", "ordered_at", "paid_at", "seller", "buyer")}
    return {**same, "lines": lines, "taxes": taxes_in(lines), "invoice_id": invoice_id}


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


def parts_of(amount_minor: int, lines: Iterable[dict[str, Any]]) -> list[tuple[Decimal | None, int]]:
    """The amount, spread over the rates of the lines as their amounts are. The last rate gets what rounding leaves."""
    gross_of: dict[str | None, int] = {}
    for line in lines:
        gross_of[line["tax_percent"]] = gross_of.get(line["tax_percent"], 0) + line["amount_minor"]
    total, left = sum(gross_of.values()), amount_minor
    parts = []
    for place, (percent, gross_minor) in enumerate(gross_of.items(), start=1):
        part_minor = left if place == len(gross_of) else amount_minor * gross_minor // total
        left -= part_minor
        parts.append((percent_of(percent), part_minor))
    return [part for part in parts if part[1]]


def taxes_in(lines: Iterable[dict[str, Any]]) -> list[tuple[str | None, int, int]]:
    shares = tax_shares((line["amount_minor"], percent_of(line["tax_percent"])) for line in lines)
    return [(text_of(share.percent), share.gross_minor, share.tax_minor) for share in shares]


def percent_of(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def text_of(percent: Decimal | None) -> str | None:
    return None if percent is None else str(percent)
