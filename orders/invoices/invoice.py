"""An invoice or a note as it is shown, the same on its page and in its PDF, in the reader's language."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from orders.invoices.contents import REFUND, SHIPPING, percent_of
from orders.invoices.included_taxes import TaxShare, shown_percent
from orders.models import Document
from shop.addresses.address_layout import address_lines
from shop.languages.kept_texts import in_readers_language

Kind = Document.Kind


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
    """Amounts are minor units of `currency` and include the tax. `invoice_number` is that of the corrected invoice."""

    title: str
    number: str
    issued_at: datetime | None
    paid_at: datetime | None
    ordered_at: datetime
    order_code: str
    currency: str
    seller: list[str]
    buyer: list[str]
    lines: list[InvoiceLine]
    taxes: list[TaxShare]
    total_minor: int
    invoice_number: str


def invoice_of(document: Document) -> Invoice:
    """The document, which has its number (`numbering.numbered`)."""
    kept = document.contents
    corrected = Document.objects.filter(pk=kept["invoice_id"]).first() if "invoice_id" in kept else None
    return Invoice(
        title=title_of(document),
        number=document.shown_number,
        issued_at=document.issued_at,
        paid_at=datetime.fromisoformat(kept["paid_at"]) if kept["paid_at"] else None,
        ordered_at=datetime.fromisoformat(kept["ordered_at"]),
        order_code=kept["code"],
        currency=document.currency,
        seller=kept["seller"],
        buyer=buyer_lines(kept["buyer"]),
        lines=[line_of(line) for line in kept["lines"]],
        taxes=[TaxShare(Decimal(percent), gross, tax) for percent, gross, tax in kept["taxes"]],
        total_minor=document.total_minor,
        invoice_number=corrected.shown_number if corrected else "",
    )


def title_of(document: Document) -> str:
    titles = {
        Kind.INVOICE: _("Invoice %(number)s"),
        Kind.CREDIT_NOTE: _("Credit note %(number)s"),
        Kind.DEBIT_NOTE: _("Debit note %(number)s"),
    }
    return titles[Kind(document.kind)] % {"number": document.shown_number}


def line_of(kept: Mapping[str, Any]) -> InvoiceLine:
    return InvoiceLine(
        name=line_name(kept),
        units=kept["units"],
        unit_price_minor=kept["unit_price_minor"],
        amount_minor=kept["amount_minor"],
        tax_percent=percent_of(kept["tax_percent"]),
    )


def line_name(kept: Mapping[str, Any]) -> str:
    if kept.get("about") == SHIPPING:
        return _("Shipping: %(method)s") % {"method": kept["name"]} if kept["name"] else _("Shipping")
    if kept.get("about") == REFUND:
        return _("Part of the price, refunded")
    texts = kept["texts"]
    if not texts:
        return str(kept["name"])
    named = [in_readers_language(texts["name"]), in_readers_language(texts["options"]), kept["sku"]]
    return " · ".join(filter(None, named))


def buyer_name(kept: Mapping[str, str]) -> str:
    """To whom the document is made out: the first line that the buyer gave for the invoice, else the recipient."""
    given = kept.get("billing_address", "").splitlines()
    return next(filter(None, map(str.strip, given)), kept.get("name", ""))


def buyer_lines(kept: Mapping[str, str]) -> list[str]:
    """Name, address, mail address and VAT number, as far as they were known."""

    def part(name: str) -> str:
        return kept.get(name, "")

    vat = _("VAT number: %(number)s") % {"number": part("vat_number")} if part("vat_number") else ""
    lines = [*(part("billing_address").splitlines() or address_lines(kept)), part("email"), vat]
    return [line for line in lines if line]
