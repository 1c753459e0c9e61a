"""An invoice as a PDF, by reportlab. Chinese and Korean are in fonts that PDF readers bring along, so the file stays
small. Letters that none of the fonts has are replaced by the nearest one: `Dvořák` is written as `Dvorák`.
"""

import unicodedata
from io import BytesIO
from itertools import groupby
from xml.sax.saxutils import escape

from babel.dates import format_date
from babel.numbers import get_currency_symbol
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
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
from shop.times.zone import reader_locale

LATIN, CHINESE, KOREAN = "Helvetica", "STSong-Light", "HYSMyeongJo-Medium"
SOFT = colors.HexColor("#655b52")

for font in (CHINESE, KOREAN):
    pdfmetrics.registerFont(UnicodeCIDFont(font))

# For letters that Unicode does not take apart into a plain one and a mark, and for some signs.
NEAREST = dict(zip("łŁđĐħĦŧŦıəƏіІјЈєЄґҐς−\u202f・〜", "lLdDhHtTieEiIjJеЕгГσ-\xa0·～", strict=True))

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
    buyer = [text(pgettext("invoice", "Buyer"), LABEL), *map(text, invoice.buyer)]
    style = TableStyle([("LEFTPADDING", *ALL, 0), ("VALIGN", *ALL, "TOP")])
    # A buyer's own address may be longer than a page.
    return Table([[seller, buyer, dates]], colWidths=["36%", "38%", "26%"], style=style, splitInRow=1)


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
            text(amount_text(line.unit_price_minor, invoice.currency), RIGHT),
            text(line.percent_text, RIGHT),
            text(amount_text(line.amount_minor, invoice.currency), RIGHT),
        ]
        for line in invoice.lines
    ]
    style = TableStyle([("VALIGN", *ALL, "TOP"), ("LINEBELOW", *ALL, 0.5, colors.HexColor("#e5dcd0"))])
    return Table([head, *rows], colWidths=["44%", "10%", "17%", "11%", "18%"], style=style, repeatRows=1)


def sums(invoice: Invoice) -> Flowable:
    rows = [[text(_("Total"), TOTAL), text(amount_text(invoice.total_minor, invoice.currency), TOTAL)]]
    for tax in invoice.taxes:
        label = _("Included tax, %(percent)s %%") % {"percent": tax.percent_text}
        rows.append([text(label, LABEL_RIGHT), text(amount_text(tax.tax_minor, invoice.currency), LABEL_RIGHT)])
    return Table(rows, colWidths=["78%", "22%"])


def text(content: str, style: ParagraphStyle = PLAIN) -> Paragraph:
    """A paragraph in which each letter is in a font that has it."""
    runs = [(font, "".join(letters)) for font, letters in groupby(written(content), font_of)]
    if any(font != LATIN for font, _letters in runs):
        style = ParagraphStyle(f"{style.name}-asian", parent=style, wordWrap="CJK")
    return Paragraph("".join(f'<font name="{font}">{escape(letters)}</font>' for font, letters in runs), style)


def written(content: str) -> str:
    """The content without letters that no font has."""
    return "".join(letter if font_of(letter) else nearest(letter) for letter in unicodedata.normalize("NFC", content))


def font_of(letter: str) -> str:
    """Empty if no font has it."""
    name = unicodedata.name(letter, "")
    if is_in(letter, "cp1252"):
        return LATIN
    if name.startswith(("HANGUL SYLLABLE", "HANGUL LETTER")):
        return KOREAN
    return CHINESE if is_in(letter, "gbk") or (name.startswith("CJK UNIFIED") and letter <= "\uffff") else ""


def is_in(letter: str, codec: str) -> bool:
    return bool(letter.encode(codec, errors="ignore"))


def nearest(letter: str) -> str:
    """The letter without its marks, or a question mark. A mark that stands alone is left out."""
    parts = letter if letter in NEAREST else unicodedata.normalize("NFKD", letter)
    plain = [NEAREST.get(part, part) for part in parts if unicodedata.category(part) not in ("Mn", "Cf")]
    return "".join(part if font_of(part) else "?" for part in plain)


def amount_text(minor: int, currency: str) -> str:
    """With the currency's code where no font has its sign."""
    amount, sign = money(minor, currency), get_currency_symbol(currency, reader_locale())
    # A space may become another one.
    return amount if written(sign).split() == sign.split() else amount.replace(sign, currency)


def date_text(at: object) -> str:
    return format_date(timezone.localdate(at), "long", locale=reader_locale())  # type: ignore[arg-type]
