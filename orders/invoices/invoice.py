"""The contents of an invoice, the same on its page and in its PDF."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.conf import settings
from django.utils.translation import gettext as _

from orders.invoices.included_taxes import TaxShare, shown_percent, taxes_of
from orders.models import SOLD, Order, OrderLine, ShippingAddress
from shop.addresses.countries import country_name

# How the address of the seller is written in SHOP_ADDRESS, on one line.
LINE_BREAK = "|"


@dataclass(frozen=True, kw_only=True)
class InvoiceLine:
    name: str
    units: int
    unit_price_minor: int
    amount_minor: int
    tax_percent: Decimal | None

    @property
    def percent_text(self) -> str:
        """13, 5.5, or a dash where there is no rate."""
        return "–" if self.tax_percent is None else f"{shown_percent(self.tax_percent)} %"


@dataclass(frozen=True, kw_only=True)
class Invoice:
    """Amounts are minor units of `currency` and include the tax. `date` is when the order was paid.

    `refunded_minor` is the part of the total that was refunded or is being refunded.
    """

    number: str
    date: datetime
    ordered_at: datetime
    currency: str
    seller: list[str]
    buyer: list[str]
    lines: list[InvoiceLine]
    taxes: list[TaxShare]
    total_minor: int
    refunded_minor: int


def invoice_of(order: Order) -> Invoice | None:
    """The invoice of a paid order; None for others. `order` comes with its lines, payments and shipping address."""
    if order.status not in SOLD or order.ended_at is None:
        return None
    lines = [line_of(line) for line in order.lines.all()]
    if order.shipping_minor:
        lines.append(shipping_of(order))
    return Invoice(
        number=order.shown_code,
        date=order.ended_at,
        ordered_at=order.created_at,
        currency=order.currency,
        seller=[settings.SHOP_NAME, *filter(None, map(str.strip, settings.SHOP_ADDRESS.split(LINE_BREAK)))],
        buyer=buyer_of(order),
        lines=lines,
        taxes=taxes_of(order),
        total_minor=order.amount_minor,
        refunded_minor=order.refunded_minor,
    )


def line_of(line: OrderLine) -> InvoiceLine:
    return InvoiceLine(
        name=str(line.variant),
        units=line.units,
        unit_price_minor=line.unit_price_minor,
        amount_minor=line.amount_minor,
        tax_percent=line.tax_percent,
    )


def shipping_of(order: Order) -> InvoiceLine:
    return InvoiceLine(
        name=_("Shipping: %(method)s") % {"method": order.shipping_name} if order.shipping_name else _("Shipping"),
        units=1,
        unit_price_minor=order.shipping_minor,
        amount_minor=order.shipping_minor,
        tax_percent=order.shipping_tax_percent,
    )


def buyer_of(order: Order) -> list[str]:
    """Name and address, as far as the shop still has them. It forgets them when the person deletes the account."""
    address = ShippingAddress.objects.filter(order=order).first()
    if address:
        city = " ".join(filter(None, [address.postcode, address.city, address.region]))
        lines = [address.name, address.line1, address.line2, city, country_name(address.country)]
    else:
        lines = [order.buyer.get_full_name() or order.buyer.get_username() if order.buyer else ""]
    return [*filter(None, lines), *filter(None, [order.contact_email])]
