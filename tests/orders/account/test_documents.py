"""Invoices are documents: frozen rows with numbers without gaps, each refund with a credit note."""

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from importlib import import_module
from threading import Thread
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import ProtectedError
from django.db.utils import DatabaseError
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation

from orders import tasks
from orders.account.deletion import delete_account
from orders.invoices.included_taxes import shown_percent
from orders.invoices.invoice import invoice_of
from orders.invoices.numbering import number_waiting
from orders.invoices.writing import write_if_missing
from orders.life import lifecycle
from orders.models import Document, Order, OrderLine, OrderStatus, Payment, Refund, ShippingAddress
from orders.payments.simulated.models import SimulatedSession
from seckill.models import SaleItem
from shop.models import Product
from tests.steps.at_once import at_once, run_and_close
from tests.steps.buying import ADDRESS, make_orders, new_buyers, order_of, plain_order
from tests.steps.crash import Killed, killed_at
from tests.steps.paying import message, payment_of, refund_part, send_webhook
from tests.steps.shop import make_product, variant_of
from tests.steps.staff import staff_pay_back
from tests.steps.tables import exported

pytestmark = pytest.mark.django_db(transaction=True)


DOCUMENTS = "/admin/orders/document/"


@pytest.fixture
def order(item: SaleItem, buyer: User) -> Order:
    """19.00, to be paid."""
    order = order_of(item, buyer)
    ShippingAddress.objects.create(order=order, **ADDRESS)
    return order


def pay(order: Order) -> Payment:
    payment = payment_of(order)
    SimulatedSession.objects.filter(payment_id=payment.pk).update(status=SimulatedSession.Status.CAPTURED)
    send_webhook(message(payment))
    return payment


def numbers(kind: Document.Kind = Document.Kind.INVOICE) -> list[int | None]:
    return list(Document.objects.filter(kind=kind).order_by("number").values_list("number", flat=True))


def test_an_order_line_keeps_name_sku_and_options(order: Order, product: Product, as_buyer: Client) -> None:
    Product.objects.filter(pk=product.pk).update(name_en="Dragon well", name_zh_hans="西湖龙井")
    product.variants.update(sku="NEW", options_en="Large")
    line = OrderLine.objects.get()
    assert (str(line), line.sku, line.options) == ("1 × Longjing tea", "SKU-longjing", "")
    with translation.override("zh-hans"):
        assert str(line) == "1 × 龙井茶"
    assert "Longjing tea" in as_buyer.get(order.get_absolute_url()).content.decode()
    assert "龙井茶" in as_buyer.get(f"/zh-hans/orders/{order.number}/").content.decode()
    (shown,) = as_buyer.get(f"/api/v1/orders/{order.number}/").json()["lines"]
    assert (shown["name"], shown["sku"]) == ("Longjing tea", "SKU-longjing")


def test_lines_that_were_ordered_before_get_their_texts_in_batches(item: SaleItem, buyer: User) -> None:
    make_orders(5, buyer=buyer, item=item)
    OrderLine.objects.update(sku="", texts={})
    rows_of_before = import_module("orders.migrations.0004_rows_of_before")
    with mock.patch.object(rows_of_before, "BATCH_MAX", 2), connection.schema_editor() as editor:
        rows_of_before.fill_lines(None, editor)
    assert set(OrderLine.objects.values_list("sku", "texts__name__zh_hans")) == {("SKU-longjing", "龙井茶")}


def test_a_line_of_a_worker_of_the_release_before_has_its_texts_too(order: Order) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM orders_orderline")
        cursor.execute(
            "INSERT INTO orders_orderline (order_id, variant_id, units, unit_price_minor)"
            " SELECT %s, id, 1, 1 FROM shop_variant",
            [order.pk],
        )
    assert str(OrderLine.objects.get()) == "1 × Longjing tea"


def test_an_invoice_is_written_with_the_payment_and_says_the_same_for_ever(order: Order, as_buyer: Client) -> None:
    assert not Document.objects.exists()
    pay(order)
    document = Document.objects.get()
    assert (document.kind, document.total_minor, document.number) == ("invoice", 1900, None)
    before = as_buyer.get(f"/orders/{order.number}/invoice/").content.decode()
    for words in ("Invoice INV-000001", "Longjing tea", "Li Lei", "CN¥19.00"):
        assert words in before, words
    # When everything that it was made of changes
    Product.objects.update(name_en="Dragon well")
    ShippingAddress.objects.update(name="Han Meimei")
    OrderLine.objects.update(units=7, tax_percent=19)
    Order.objects.update(amount_minor=1)
    # Then it does not
    after = as_buyer.get(f"/orders/{order.number}/invoice/").content.decode()
    assert article_of(after) == article_of(before)
    # And PostgreSQL refuses to change it.
    for change in ({"total_minor": 1}, {"number": 7}):
        with pytest.raises(DatabaseError, match="does not change"), transaction.atomic():
            Document.objects.update(**change)
    with pytest.raises(ProtectedError):
        order.delete()


def article_of(page: str) -> str:
    return page.partition('<article class="panel invoice">')[2].partition("</article>")[0]


def test_numbers_have_no_gaps_whatever_is_rolled_back_or_killed(item: SaleItem) -> None:
    orders = [order_of(item, one) for one in new_buyers(3)]
    payments = [payment_of(order) for order in orders]
    send_webhook(message(payments[0]))
    # The second payment is rolled back before its commit, and reported again later.
    with killed_at("payments.before_commit"):
        send_webhook(message(payments[1]))
    send_webhook(message(payments[2]))
    # Numbering dies after its statement.
    with pytest.raises(Killed):
        number_and_die()
    assert numbers() == [None, None]
    assert tasks.write_invoices() == 2
    send_webhook(message(payments[1]))
    assert tasks.write_invoices() == 1
    assert tasks.write_invoices() == 0
    assert numbers() == [1, 2, 3]
    assert set(Document.objects.values_list("order", flat=True)) == {order.pk for order in orders}


def number_and_die() -> None:
    with transaction.atomic():
        assert number_waiting() == 2
        raise Killed


def test_payments_and_numberings_at_once_make_one_row_of_numbers(item: SaleItem) -> None:
    SaleItem.objects.update(quantity=None)
    payments = [payment_of(order) for order in make_unpaid(item, 5)]
    work: list[Callable[[], object]] = [partial(send_webhook, message(payment)) for payment in payments]
    at_once([*work, *[number_waiting] * 3])
    number_waiting()
    assert numbers() == list(range(1, 6))


def make_unpaid(item: SaleItem, count: int) -> list[Order]:
    return [make_orders(1, buyer=one, item=item, status=OrderStatus.AWAITING_PAYMENT)[0] for one in new_buyers(count)]


def test_a_payment_does_not_wait_for_a_numbering(item: SaleItem, order: Order) -> None:
    """Otherwise the commits of all payments would come one after the other."""
    other = order_of(item, new_buyers(1)[0])
    pay(other)
    done: list[str] = []
    with transaction.atomic():
        assert number_waiting() == 1
        thread = Thread(target=run_and_close(lambda: done.append(pay(order).pk.hex)))
        thread.start()
        thread.join(timeout=20)
        assert done
    number_waiting()
    assert numbers() == [1, 2]


def test_each_refund_has_a_credit_note_and_all_stay(order: Order, as_buyer: Client, buyer: User) -> None:
    pay(order)
    OrderLine.objects.update(tax_percent=13)
    refund_part(order, 500)
    tasks.move_refunds()
    assert not Document.objects.filter(kind="credit_note").exists()
    deliver_refunds(order)
    note = Document.objects.get(kind="credit_note")
    assert note.total_minor == 500
    lifecycle.refund(order_id=order.pk, units_back=False)
    tasks.move_refunds()
    deliver_refunds(order)
    order.refresh_from_db()
    assert order.status == OrderStatus.REFUNDED
    # The page of a refunded order leads to the invoice, and that to both notes
    assert f"/orders/{order.number}/invoice/" in as_buyer.get(order.get_absolute_url()).content.decode()
    page = as_buyer.get(f"/orders/{order.number}/invoice/").content.decode()
    for words in ("Invoice INV-000001", "CRN-000001", "CRN-000002", "CN¥19.00"):
        assert words in page, words
    path = f"/orders/{order.number}/invoice/{note.pk}"
    text = as_buyer.get(f"{path}/").content.decode()
    for words in ("Credit note CRN-000001", "INV-000001", "Part of the price, refunded", "CN¥5.00"):
        assert words in text, words
    assert as_buyer.get(f"{path}.pdf").content.startswith(b"%PDF-")
    # And they outlive the account
    delete_account(buyer.pk)
    invoice = invoice_of(Document.objects.get(kind="invoice"))
    assert invoice.buyer[0] == "Li Lei"
    assert Document.objects.count() == 3


def deliver_refunds(order: Order) -> None:
    for refund in Refund.objects.filter(order=order, status=Refund.Status.DUE):
        assert refund.payment is not None
        send_webhook(message(refund.payment, "refund_paid", refund=str(refund.pk), amount_minor=refund.amount_minor))


@pytest.fixture
def two_rates(product: Product, buyer: User) -> Order:
    """Paid, with an invoice: two pots at 20 %, two books at 5 %, 50.00 each, and delivery at 20 % for 10.00."""
    status = {"status": OrderStatus.PAID, "ended_at": timezone.now(), "amount_minor": 21000}
    delivery = {"shipping_name": "Courier", "shipping_minor": 1000, "shipping_tax_percent": 20}
    order = plain_order(variant_of(product), buyer, 2, 5000, **status, **delivery)
    book = variant_of(make_product(slug="book", name="Book", price_minor=5000))
    OrderLine.objects.create(order=order, variant=book, units=2, unit_price_minor=5000, tax_percent=5)
    OrderLine.objects.filter(order=order, variant=variant_of(product)).update(tax_percent=20)
    assert write_if_missing(order_id=order.pk)
    return order


def refunded(order: Order, amount_minor: int, **units_of: int) -> dict[str, tuple[int, int]]:
    """Refund it, about these units, if any. Returns gross amount and tax of each rate in its credit note."""
    units = {order.lines.get(variant__product__slug=slug).pk: count for slug, count in units_of.items()}
    refund = refund_part(order, amount_minor, units_of_line=units)
    staff_pay_back(order)
    return taxes_of(refund.documents.get())


def taxes_of(document: Document) -> dict[str, tuple[int, int]]:
    return {shown_percent(Decimal(percent)): (gross, tax) for percent, gross, tax in document.contents["taxes"]}


def test_an_order_refunded_in_two_parts_is_credited_at_the_rates_of_its_invoice(two_rates: Order) -> None:
    assert taxes_of(Document.objects.get()) == {"20": (11000, 1833), "5": (10000, 476)}
    assert refunded(two_rates, 10000, longjing=2) == {"20": (10000, 1667)}
    # The rest are the books and the delivery; rounding is made up for.
    assert refunded(two_rates, 11000, book=2) == {"20": (1000, 166), "5": (10000, 476)}
    names = [line.name for line in invoice_of(Document.objects.latest("pk")).lines]
    assert names == ["Book · SKU-book", "Shipping: Courier"]


def test_a_part_of_the_price_is_taken_from_what_is_left_of_each_rate(two_rates: Order) -> None:
    assert refunded(two_rates, 10000, longjing=2) == {"20": (10000, 1667)}
    # Of 10.00 at 20 % and 100.00 at 5 %
    assert refunded(two_rates, 2200) == {"20": (200, 33), "5": (2000, 95)}
    # The books cost more than is left at their rate, so this is a part of the price too
    assert refunded(two_rates, 8800, book=2) == {"20": (800, 133), "5": (8000, 381)}
    two_rates.refresh_from_db()
    assert two_rates.status == OrderStatus.REFUNDED


def test_notes_of_any_parts_credit_the_whole_invoice_and_no_more(two_rates: Order) -> None:
    assert refunded(two_rates, 5500)["20"] == (2880, 480)
    # Pots and delivery cost more than is left at 20 %
    assert refunded(two_rates, 11000, longjing=2) == {"20": (5762, 960), "5": (5238, 249)}
    assert refunded(two_rates, 4500, book=2) == {"20": (2358, 393), "5": (2142, 102)}
    notes = Document.objects.filter(kind="credit_note")
    for percent, whole in taxes_of(Document.objects.get(kind="invoice")).items():
        credited = [taxes_of(note)[percent] for note in notes]
        assert (sum(gross for gross, _tax in credited), sum(tax for _gross, tax in credited)) == whole


def test_the_delivery_is_credited_once(two_rates: Order) -> None:
    assert refunded(two_rates, 6000, longjing=1) == {"20": (6000, 1000)}
    # 50.00 is left at 20 %, and 100.00 at 5 %
    assert refunded(two_rates, 6000, book=1) == {"20": (2000, 333), "5": (4000, 190)}


def test_a_debit_note_cancels_just_what_its_credit_note_said(order: Order) -> None:
    OrderLine.objects.update(tax_percent=20)
    Order.objects.update(amount_minor=2900, shipping_minor=1000, shipping_tax_percent=5)
    payment = pay(order)
    first, second = refund_part(order, 1000), refund_part(order, 1000)
    deliver_refunds(order)
    failed = message(payment, "refund_failed", refund=str(second.pk))
    for _ in range(2):
        send_webhook(failed)
    credit, debit = Document.objects.filter(refund=second).order_by("pk")
    assert (debit.kind, debit.contents) == ("debit_note", credit.contents)
    # What it gave back can be credited again.
    refund_part(order, 1900)
    deliver_refunds(order)
    invoice = taxes_of(Document.objects.get(kind="invoice"))
    last = taxes_of(Document.objects.latest("pk"))
    before = taxes_of(Document.objects.get(refund=first))
    assert {percent: tuple(map(sum, zip(last[percent], before[percent], strict=True))) for percent in last} == invoice


def test_money_that_an_order_did_not_take_has_no_document(order: Order) -> None:
    payment = payment_of(order)
    send_webhook(message(payment, amount_minor=1500))
    tasks.move_refunds()
    assert tasks.write_invoices() == 0
    assert not Document.objects.exists()


def test_orders_of_the_release_before_get_their_documents(buyer: User, item: SaleItem) -> None:
    sold = make_orders(2, buyer=buyer, item=item)
    (refunded,) = make_orders(1, buyer=buyer, item=item, status=OrderStatus.REFUNDED)
    make_orders(1, buyer=buyer, item=item, status=OrderStatus.EXPIRED)
    Order.objects.filter(pk=refunded.pk).update(refunded_minor=1900)
    Refund.objects.create(order=refunded, amount_minor=1900, status=Refund.Status.REFUNDED)
    assert tasks.write_invoices() > 0
    while tasks.write_invoices():
        pass
    assert numbers() == [1, 2, 3]
    assert numbers(Document.Kind.CREDIT_NOTE) == [1]
    assert {it.order_id for it in Document.objects.all()} == {order.pk for order in (*sold, refunded)}


def test_staff_open_print_and_export_documents(as_manager: Client, order: Order) -> None:
    pay(order)
    tasks.write_invoices()
    client, url = as_manager, DOCUMENTS
    document = Document.objects.get()
    for query, count in (
        ({"q": "inv-1"}, 1),
        ({"q": order.shown_code}, 1),
        ({"q": "INV-2"}, 0),
        # The days of a month are chosen as in the list of orders.
        ({"issued_at_to_0": "2025-10-31"}, 0),
    ):
        assert client.get(url, query).context["cl"].result_count == count, query
    page = client.get(f"{url}{document.pk}/change/").content.decode()
    assert f"{url}{document.pk}/print/" in page
    printed = client.get(f"{url}{document.pk}/print/").content.decode()
    assert "Invoice INV-000001" in printed
    assert "Li Lei" in printed
    assert client.get(f"{url}{document.pk}/pdf/").content.startswith(b"%PDF-")


def test_a_table_of_notes_alone_names_the_invoices_in_one_statement(as_manager: Client, two_rates: Order) -> None:
    taken = []
    for _ in range(2):
        refunded(two_rates, 1000)
        tasks.write_invoices()
        with CaptureQueriesContext(connection) as captured:
            rows = exported(as_manager, DOCUMENTS, "?kind__exact=credit_note")
        taken.append(len(captured))
        assert {row["corrects"] for row in rows} == {"INV-000001"}
    assert (len(rows), taken[0]) == (2, taken[1])


def test_the_table_of_documents_names_the_buyer_whom_the_invoice_names(
    as_manager: Client, item: SaleItem, order: Order
) -> None:
    company = order_of(item, new_buyers(1)[0])
    ShippingAddress.objects.create(order=company, **ADDRESS)
    given = {"billing_address": "\r\nTea Import Ltd\r\nHafenstr. 1", "vat_number": "DE123456789"}
    Order.objects.filter(pk=company.pk).update(**given)
    for one in (order, company):
        pay(one)
    tasks.write_invoices()
    rows = {row["order"]: row for row in exported(as_manager, DOCUMENTS)}
    buyers = {code: (row["buyer"], row["vat_number"]) for code, row in rows.items()}
    assert buyers == {order.shown_code: ("Li Lei", ""), company.shown_code: ("Tea Import Ltd", "DE123456789")}
    assert {"INV-000001", "19.00"} <= set(rows[order.shown_code].values())
