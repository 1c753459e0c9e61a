"""The invoice of a paid order: its page, its PDF, its sums, and who may see it."""

from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import translation
from pytest_django import Settings

from orders.account.deletion import delete_account
from orders.invoices.included_taxes import shown_percent, tax_in
from orders.invoices.invoice import invoice_of
from orders.invoices.invoice_pdf import amount_text, invoice_pdf, text
from orders.invoices.pages import document_of
from orders.models import Order, OrderLine, OrderStatus, ShippingAddress
from seckill.models import SaleItem
from tests.steps.buying import ADDRESS, make_orders

pytestmark = pytest.mark.django_db


@pytest.fixture
def paid(buyer: User, item: SaleItem, settings: Settings) -> Order:
    settings.SHOP_NAME, settings.SHOP_ADDRESS = "Tea & Co", "Market Street 1 | 200000 Shanghai"
    (order,) = make_orders(1, buyer=buyer, item=item)
    ShippingAddress.objects.create(order=order, **ADDRESS)
    OrderLine.objects.filter(order=order).update(tax_percent=Decimal("13.00"))
    Order.objects.filter(pk=order.pk).update(
        shipping_name="Courier", shipping_minor=600, shipping_tax_percent=Decimal("6.00"), amount_minor=2500
    )
    return Order.objects.get(pk=order.pk)


def test_the_page_names_seller_buyer_lines_taxes_and_total(as_buyer: Client, paid: Order) -> None:
    assert f"/orders/{paid.number}/invoice/" in as_buyer.get(paid.get_absolute_url()).content.decode()
    page = as_buyer.get(f"/orders/{paid.number}/invoice/").content.decode()
    for words in (
        "Invoice INV-000001",
        f"{paid.code[:4]}-{paid.code[4:]}",
        "Tea &amp; Co",
        "200000 Shanghai",
        "Li Lei",
        "200051",
        "China",
        "Shipping: Courier",
        "Included tax, 13 %",
        "CN¥2.19",  # 1900 × 13 / 113
        "Included tax, 6 %",
        "CN¥0.34",  # 600 × 6 / 106
        "CN¥25.00",
    ):
        assert words in page, words
    assert "其中税额（13%）" in as_buyer.get(f"/zh-hans/orders/{paid.number}/invoice/").content.decode()


@pytest.mark.parametrize("prefix", ["", "/zh-hans"])
def test_the_pdf_is_a_file_with_both_fonts(as_buyer: Client, paid: Order, prefix: str) -> None:
    answer = as_buyer.get(f"{prefix}/orders/{paid.number}/invoice.pdf")
    assert answer["Content-Type"] == "application/pdf"
    assert answer["Content-Disposition"] == 'attachment; filename="INV-000001.pdf"'
    assert answer.content.startswith(b"%PDF-")
    assert answer.content.rstrip().endswith(b"%%EOF")
    assert b"/Helvetica" in answer.content
    assert (b"/STSong-Light" in answer.content) == (prefix == "/zh-hans")
    assert len(answer.content) < 20_000


def frags(content: str) -> list[tuple[str, str]]:
    """Font and letters of each run of a paragraph."""
    return [(frag.fontName, frag.text) for frag in text(content).frags]


def test_each_letter_is_in_a_font_that_has_it_or_the_nearest_letter() -> None:
    for content, runs in (
        ("José Müller, 5 €", [("Helvetica", "José Müller, 5 €")]),
        ("Jose\u0301", [("Helvetica", "José")]),
        ("龙井茶 Größe 3", [("STSong-Light", "龙井茶"), ("Helvetica", " Größe 3")]),
        ("서울 北京", [("HYSMyeongJo-Medium", "서울"), ("Helvetica", " "), ("STSong-Light", "北京")]),
        ("Łukasz Żuk, Ağrı, Nguyễn", [("Helvetica", "Lukasz Zuk, Agri, Nguyen")]),
        ("Žofie Dvořáková", [("Helvetica", "Žofie Dvoráková")]),
        ("Γιώργος", [("STSong-Light", "Γιωργοσ")]),
        ("Євген", [("STSong-Light", "Евген")]),
        ("1\u202f234,00 €, \u22125", [("Helvetica", "1\xa0234,00 €, -5")]),
        ("Tea 🍵\ufe0f", [("Helvetica", "Tea ?")]),
    ):
        assert frags(content) == runs, content


def test_an_amount_has_the_currencys_code_where_no_font_has_its_sign() -> None:
    for currency, language, shown in (
        ("EUR", "en", "€19.00"),
        ("CNY", "zh-hans", "¥19.00"),
        ("JPY", "en", "¥1,900"),
        ("KRW", "en", "KRW1,900"),
        ("INR", "en", "INR19.00"),
        ("VND", "zh-hans", "VND1,900"),
        ("PLN", "pl", "19,00\xa0PLN"),
        ("XOF", "en", "F\xa0CFA1,900"),
    ):
        with translation.override(language):
            assert text(amount_text(1900, currency)).getPlainText() == shown, currency


def test_markup_in_a_name_is_text(paid: Order) -> None:
    ShippingAddress.objects.update(name="<b>Li & Lei</b></para>", line1="龙井路 <1>")
    invoice = invoice_of(document_of(paid, None))
    with translation.override("zh-hans"):
        assert invoice_pdf(invoice).startswith(b"%PDF-")


def test_an_invoice_with_more_lines_of_its_buyer_than_a_page_has_goes_on_on_the_next(paid: Order) -> None:
    Order.objects.update(billing_address="1\n" * 250)
    paid.refresh_from_db()
    assert invoice_pdf(invoice_of(document_of(paid, None))).startswith(b"%PDF-")


def test_only_a_paid_order_has_an_invoice(as_buyer: Client, buyer: User, item: SaleItem, paid: Order) -> None:
    (unpaid,) = make_orders(1, buyer=buyer, item=item, status=OrderStatus.AWAITING_PAYMENT)
    for path in ("invoice/", "invoice.pdf"):
        assert as_buyer.get(f"/orders/{paid.number}/{path}").status_code == 200
        assert as_buyer.get(f"/orders/{unpaid.number}/{path}").status_code == 404
    assert "Show the invoice" not in as_buyer.get(unpaid.get_absolute_url()).content.decode()


def test_a_guest_has_the_invoice_at_the_link_of_the_order(
    client: Client, paid: Order, buyer: User, item: SaleItem
) -> None:
    Order.objects.update(buyer=None, email="guest@example.com")
    order = Order.objects.get()
    link = order.get_absolute_url()
    assert f'href="{link}invoice/"' in client.get(link).content.decode()
    page = client.get(f"{link}invoice/")
    for words in ("guest@example.com", "Li Lei", f'href="{link}invoice.pdf"', f'href="{link}"'):
        assert words in page.content.decode(), words
    assert page["Referrer-Policy"] == "same-origin"
    assert "no-store" in page["Cache-Control"]
    assert client.get(f"{link}invoice.pdf").content.startswith(b"%PDF-")
    # It is not found without the signature, nor by the number alone, nor before it is paid
    assert client.get(f"{link[:-3]}xx/invoice/").status_code == 404
    client.force_login(buyer)
    assert client.get(f"/orders/{order.number}/invoice/").status_code == 404
    (unpaid,) = make_orders(1, buyer=buyer, item=item, status=OrderStatus.AWAITING_PAYMENT)
    Order.objects.update(buyer=None, email="guest@example.com")
    unpaid.refresh_from_db()
    for path in ("invoice/", "invoice.pdf"):
        assert client.get(f"{unpaid.get_absolute_url()}{path}").status_code == 404


def test_an_order_without_an_invoice_gets_it_before_its_buyer_is_forgotten(buyer: User, paid: Order) -> None:
    Order.objects.filter(pk=paid.pk).update(status=OrderStatus.COMPLETED)
    delete_account(buyer.pk)
    invoice = invoice_of(document_of(Order.objects.get(pk=paid.pk), None))
    assert invoice.buyer == ["Li Lei", "Tianshan Road 123", "Shanghai", "200051", "China", "buyer@example.com"]


def test_the_tax_that_is_in_an_amount_and_a_rate_without_needless_zeros() -> None:
    taxes = ((11900, "19", 1900), (1900, "13", 219), (1, "13", 0), (0, "6", 0), (105, "5", 5))
    assert [tax_in(gross, Decimal(percent)) for gross, percent, _ in taxes] == [tax for *_, tax in taxes]
    percents = {"13.00": "13", "10.00": "10", "5.50": "5.5", "0.00": "0"}
    assert {percent: shown_percent(Decimal(percent)) for percent in percents} == percents
