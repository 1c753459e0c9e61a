"""An invoice as a PDF, by reportlab. Chinese is in a font that PDF readers bring along, so the file stays small."""

from io import BytesIO
from xml.sax.saxutils import escape

from babel.dates import format_date
from django.conf import settings
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from reportlab.lib import colors
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

from orders.invoices.invoice import Invoice
from shop.templatetags.amounts import money

LATIN, CHINESE = "Helvetica", "STSong-Light"
SOFT = colors.HexColor("#655b52")

pdfmetrics.registerFont(UnicodeCIDFont(CHINESE))

# The cells of a table, from the first to the last.
ALL = ((0, 0), (-1, -1))

PLAIN = ParagraphStyle("plain", fontName=LATIN, fontSize=10, leading=14)
RIGHT = ParagraphStyle("right", parent=PLAIN, alignment=TA_RIGHT)
LABEL = ParagraphStyle("label", parent=PLAIN, textColor=SOFT)
LABEL_RIGHT = ParagraphStyle("label-right", parent=LABEL, alignment=TA_RIGHT)
TITLE = ParagraphStyle("title", parent=PLAIN, fontSize=20, leading=26)
TOTAL = ParagraphStyle("total", parent=RIGHT, fontSize=12, leading=16)


def invoice_pdf(invoice: Invoice) -> bytes:
    """The file, in the current language."""
    file = BytesIO()
    title = invoice.title
    document = SimpleDocTemplate(
        file, pagesize=A4, leftMargin=22 * mm, rightMargin=22 * mm, topMargin=20 * mm, bottomMargin=20 * mm,
        title=title, author=invoice.seller[0], lang=translation.get_language(),
    )  # fmt: skip
    document.build(
        [
            text(title, TITLE),
            Spacer(1, 6 * mm),
            parties(invoice),
            Spacer(1, 8 * mm),
            lines(invoice),
            Spacer(1, 4 * mm),
            sums(invoice),
        ]
    )
    return file.getvalue()


def parties(invoice: Invoice) -> Flowable:
    """Seller and buyer beside each other, and numbers and dates."""
    facts = [(_("Number"), invoice.number), (_("Date"), date_text(invoice.issued_at))]
    if invoice.invoice_number:
        facts.append((_("Corrects the invoice"), invoice.invoice_number))
    if invoice.paid_at:
        facts.append((_("Paid on"), date_text(invoice.paid_at)))
    facts += [(_("Order number"), invoice.order_code), (_("Ordered on"), date_text(invoice.ordered_at))]
    dates = [cell for name, value in facts for cell in (text(name, LABEL), text(value))]
    seller = [text(_("Seller"), LABEL), *map(text, invoice.seller)]
    buyer = [text(_("Buyer"), LABEL), *map(text, invoice.buyer)]
    style = TableStyle([("LEFTPADDING", *ALL, 0), ("VALIGN", *ALL, "TOP")])
    return Table([[seller, buyer, dates]], colWidths=["36%", "38%", "26%"], style=style)


def lines(invoice: Invoice) -> Flowable:
    head = [
        text(_("Goods"), LABEL),
        text(_("Units"), LABEL_RIGHT),
        text(_("Unit price"), LABEL_RIGHT),
        text(_("Tax"), LABEL_RIGHT),
        text(_("Amount"), LABEL_RIGHT),
    ]
    rows = [
        [
            text(line.name),
            text(str(line.units), RIGHT),
            text(money(line.unit_price_minor, invoice.currency), RIGHT),
            text(line.percent_text, RIGHT),
            text(money(line.amount_minor, invoice.currency), RIGHT),
        ]
        for line in invoice.lines
    ]
    style = TableStyle([("VALIGN", *ALL, "TOP"), ("LINEBELOW", *ALL, 0.5, colors.HexColor("#e5dcd0"))])
    return Table([head, *rows], colWidths=["44%", "10%", "17%", "11%", "18%"], style=style, repeatRows=1)


def sums(invoice: Invoice) -> Flowable:
    rows = [[text(_("Total"), TOTAL), text(money(invoice.total_minor, invoice.currency), TOTAL)]]
    for tax in invoice.taxes:
        label = _("Included tax, %(percent)s %%") % {"percent": tax.percent_text}
        rows.append([text(label, LABEL_RIGHT), text(money(tax.tax_minor, invoice.currency), LABEL_RIGHT)])
    return Table(rows, colWidths=["78%", "22%"])


def text(content: str, style: ParagraphStyle = PLAIN) -> Paragraph:
    """A paragraph in a font that has its letters."""
    try:
        content.encode("cp1252")
    except UnicodeEncodeError:
        style = ParagraphStyle(f"{style.name}-chinese", parent=style, fontName=CHINESE, wordWrap="CJK")
    return Paragraph(escape(content), style)


def date_text(at: object) -> str:
    locale = translation.to_locale(translation.get_language() or settings.LANGUAGE_CODE)
    return format_date(timezone.localdate(at), "long", locale=locale)  # type: ignore[arg-type]
