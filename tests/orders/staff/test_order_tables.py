"""Staff export the lines of orders, and import which orders have left."""

import re
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pytest
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from openpyxl import load_workbook
from pytest_django import DjangoAssertNumQueries

from orders.life import lifecycle
from orders.models import Mail, Order, OrderLine, OrderStatus, ShippingAddress
from orders.staff import order_table
from shop.models import Product
from tests.steps.buying import status_of
from tests.steps.paying import refund_part
from tests.steps.shop import make_product, variant_of
from tests.steps.staff import ORDERS
from tests.steps.tables import XLSX, bring, confirm, errors_by_line, export, exported, upload, upload_xlsx

pytestmark = pytest.mark.usefixtures("_manager_signed_in")


@pytest.fixture
def order(buyer: User, product: Product) -> Order:
    """A paid order of two products, with delivery."""
    User.objects.filter(pk=buyer.pk).update(email="buyer@example.com")
    return make_order(buyer, [(product, 2, 9900), (make_product(name="Cup", slug="cup", price_minor=500), 1, 500)])


def make_order(buyer: User | None, goods: list[tuple[Product, int, int]], **values: Any) -> Order:
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    amount_minor = sum(units * price for _product, units, price in goods) + 800
    defaults: dict[str, Any] = {"status": OrderStatus.PAID, "currency": "CNY", "ended_at": at, "settled_at": at}
    order = Order.objects.create(
        buyer=buyer,
        amount_minor=amount_minor,
        shipping_minor=800,
        shipping_name="Post",
        reserved_at=at,
        expires_at=at,
        **defaults | values,
    )
    for product, units, price in goods:
        OrderLine.objects.create(
            order=order, variant=variant_of(product), units=units, unit_price_minor=price, tax_percent=13
        )
    ShippingAddress.objects.create(
        order=order, name="王伟", line1="建国路1号", city="北京", postcode="100001", country="CN"
    )
    order.refresh_from_db()
    return order


def locking_statements(statements: CaptureQueriesContext) -> list[int]:
    """Which of them lock rows of orders."""
    texts = [statement["sql"] for statement in statements.captured_queries]
    return [
        number
        for number, text in enumerate(texts)
        if text.startswith('UPDATE "orders_order"') or ("FOR NO KEY UPDATE" in text and '"orders_order"' in text)
    ]


class TestExport:
    def test_each_line_of_an_order_is_a_line_with_its_refunds(self, client: Client, order: Order) -> None:
        refund_part(order, 9900, units_of_line={order.lines.all()[0].pk: 1}, reason="broken")
        with timezone.override("Asia/Shanghai"):
            first, second = exported(client, ORDERS)
        assert (first["order"], first["status"]) == (order.shown_code, "paid")
        assert (first["email"], first["buyer"], first["name"]) == ("buyer@example.com", "buyer", "王伟")
        assert first["address"] == "100001, 北京, 建国路1号, 王伟, China"
        assert first["paid_or_ended_at"] == "2026-03-01 20:00:00+08:00"
        assert (first["sku"], first["units"], first["unit_price"], first["amount"]) == (
            "SKU-longjing",
            "2",
            "99.00",
            "198.00",
        )
        assert (first["tax_percent"], first["tax"]) == ("13.00", "22.78")
        assert (second["order"], second["sku"], second["amount"]) == (order.shown_code, "SKU-cup", "5.00")
        # Amounts of the order stand on its first line.
        of_order = ("total", "shipping", "refunded", "refunded_units")
        assert [first[name] for name in of_order] == ["211.00", "8.00", "99.00", "1"]
        assert [second[name] for name in of_order] == ["", "", "", ""]

    def test_the_filters_and_the_search_of_the_list_hold(self, client: Client, order: Order, product: Product) -> None:
        guest = make_order(None, [(product, 1, 9900)], email="guest@example.com", status=OrderStatus.SHIPPED)
        assert {row["order"] for row in exported(client, ORDERS)} == {order.shown_code, guest.shown_code}
        (row,) = exported(client, ORDERS, "?status__exact=shipped")
        assert (row["order"], row["email"], row["buyer"]) == (guest.shown_code, "guest@example.com", "")
        assert len(exported(client, ORDERS, f"?q={order.shown_code}")) == 2
        assert len(exported(client, ORDERS, f"?lines__variant__product__id__exact={product.pk}")) == 3

    def test_a_past_month_is_exported_to_its_last_moment(self, client: Client, order: Order, product: Product) -> None:
        # Given an order of the last half second of January, and others of today
        make_order(None, [(product, 1, 9900)], email="guest@example.com")
        last_moment = datetime(2026, 1, 31, 23, 59, 59, 500_000, tzinfo=timezone.get_current_timezone())
        Order.objects.filter(pk=order.pk).update(created_at=last_moment)
        # Then it is found by its days, not by an earlier hour, and with the date as it is written in Chinese
        for found, query in (
            (1, "created_at_from_0=2026-01-01&created_at_from_1=&created_at_to_0=2026-01-31&created_at_to_1="),
            (1, "created_at_from_0=2026-01-31&created_at_from_1=23:00&created_at_to_0=2026-01-31"),
            (1, "created_at_from_0=2026-02-01"),
            (0, "created_at_to_0=2026-01-31&created_at_to_1=23:00"),
            (1, "created_at_to_0=2026/01/31"),
        ):
            client.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans" if "/" in query else "en"
            assert client.get(f"{ORDERS}?{query}").context["cl"].result_count == found, query
        assert {row["order"] for row in exported(client, ORDERS, f"?{query}")} == {order.shown_code}

    def test_a_time_that_cannot_be_read_finds_nothing_and_is_said_to_be_wrong(
        self, client: Client, order: Order
    ) -> None:
        for query in ("from_0=January", "to_1=12:00"):
            page = client.get(f"{ORDERS}?created_at_{query}")
            assert page.context["cl"].result_count == 0, query
            assert "Enter a valid" in page.content.decode(), query

    def test_the_form_of_the_filters_keeps_what_was_chosen_beside_it(self, client: Client, order: Order) -> None:
        page = client.get(ORDERS, {"refund": "owed", "status__exact": "paid"}).content.decode()
        form = page.partition('<form id="filter-form"')[2].partition("</form>")[0]
        hidden = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]+)"', form)
        assert sorted(hidden) == [("refund", "owed"), ("status__exact", "paid")]

    def test_no_cell_begins_like_a_formula_and_a_spreadsheet_has_numbers_where_there_are_amounts(
        self, client: Client, order: Order
    ) -> None:
        Order.objects.update(buyer_note="=1+1", carrier="@SUM(A1)")
        ShippingAddress.objects.update(name="+HYPERLINK", line1="-2+3")
        row = exported(client, ORDERS)[0]
        assert (row["buyer_note"], row["carrier"]) == ("'=1+1", "'@SUM(A1)")
        assert (row["name"], row["line1"]) == ("'+HYPERLINK", "'-2+3")
        sheet = load_workbook(BytesIO(export(client, ORDERS, file_format=XLSX).content)).active
        headers, first, *_ = sheet.iter_rows(values_only=True)
        cells = dict(zip(headers, first, strict=True))
        assert (cells["amount"], cells["units"], cells["name"]) == (198, 2, "'+HYPERLINK")

    def test_too_many_orders_are_refused_with_a_reason(
        self, client: Client, order: Order, product: Product, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(order_table, "ORDERS_MAX", 1)
        make_order(None, [(product, 1, 9900)], email="guest@example.com", status=OrderStatus.SHIPPED)
        answer = export(client, ORDERS)
        assert "These are more than 1 orders." in answer.content.decode()
        assert len(exported(client, ORDERS, "?status__exact=paid")) == 2

    def test_many_orders_take_no_more_queries_than_few(
        self, client: Client, buyer: User, product: Product, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        for _ in range(9):
            make_order(buyer, [(product, 1, 9900)])
        with django_assert_max_num_queries(8):
            assert len(exported(client, ORDERS)) == 9


class TestShipments:
    def test_a_preview_changes_nothing_and_the_confirmation_ships(
        self, client: Client, order: Order, shop_manager: User
    ) -> None:
        row = {"order": order.shown_code.lower(), "carrier": "DHL", "tracking_number": "0034012345"}
        preview = upload(client, ORDERS, row)
        assert not errors_by_line(preview)
        assert status_of(order) == OrderStatus.PAID
        assert not Mail.objects.exists()
        bring(client, ORDERS, row)
        order.refresh_from_db()
        assert (order.status, order.carrier, order.tracking_number) == (OrderStatus.SHIPPED, "DHL", "0034012345")
        assert Mail.objects.get(order=order).kind == Mail.Kind.SHIPPED
        entry = LogEntry.objects.get(object_id=str(order.pk))
        assert (entry.user, entry.get_change_message()) == (shop_manager, "Shipped. Sent with DHL 0034012345.")

    def test_a_number_is_corrected_and_no_second_mail_is_sent(self, client: Client, order: Order) -> None:
        lifecycle.ship(order_id=order.pk, carrier="DHL", tracking_number="1")
        bring(client, ORDERS, {"order": order.shown_code, "carrier": "", "tracking_number": "2"})
        order.refresh_from_db()
        assert (order.carrier, order.tracking_number) == ("DHL", "2")
        assert Mail.objects.filter(order=order).count() == 1

    def test_the_exported_table_comes_back_with_what_staff_filled_in(self, client: Client, order: Order) -> None:
        first, second = exported(client, ORDERS)
        bring(client, ORDERS, first | {"carrier": "DHL", "tracking_number": "1"}, second)
        order.refresh_from_db()
        assert (order.status, order.tracking_number) == (OrderStatus.SHIPPED, "1")
        again = upload(client, ORDERS, *exported(client, ORDERS))
        assert again.context["result"].totals["skip"] == 2

    def test_each_wrong_line_is_named_and_nothing_is_imported(
        self, client: Client, order: Order, product: Product
    ) -> None:
        cancelled = make_order(None, [(product, 1, 9900)], email="g@example.com", status=OrderStatus.CANCELLED)
        lines = errors_by_line(
            upload(
                client,
                ORDERS,
                {"order": order.shown_code, "carrier": "DHL", "tracking_number": "1"},
                {"order": "AAAA-AAAA", "carrier": "DHL", "tracking_number": "2"},
                {"order": cancelled.shown_code, "carrier": "DHL", "tracking_number": "3"},
                {"order": order.shown_code, "carrier": "DHL", "tracking_number": "4"},
                {"order": order.shown_code, "carrier": "DHL", "tracking_number": "3.40123E+17"},
                {"order": order.shown_code, "carrier": "D" * 101, "tracking_number": "1"},
            )
        )
        errors = {line: " ".join(said) for line, said in lines.items()}
        assert sorted(errors) == [2, 3, 4, 5, 6]
        assert "There is no order “AAAA-AAAA”." in errors[2]
        assert "it is “cancelled”" in errors[3]
        assert "with another carrier or tracking number" in errors[4]
        assert "has cut the tracking number" in errors[5]
        assert "at most 100 characters" in errors[6]
        assert status_of(order) == OrderStatus.PAID

    def test_a_number_with_more_digits_than_a_spreadsheet_keeps_is_refused(self, client: Client, order: Order) -> None:
        for number in (3.4043416116461197e19, 10**15):
            preview = upload_xlsx(client, ORDERS, {"order": order.shown_code, "tracking_number": number})
            assert "has cut the tracking number" in " ".join(errors_by_line(preview)[1]), number
        assert status_of(order) == OrderStatus.PAID
        # One with as many is taken.
        row = {"order": order.shown_code, "tracking_number": 999_999_999_999_999.0}
        confirm(client, ORDERS, upload_xlsx(client, ORDERS, row))
        order.refresh_from_db()
        assert (order.status, order.tracking_number) == (OrderStatus.SHIPPED, "9" * 15)

    def test_a_cell_of_blanks_is_empty_and_ships_nothing(self, client: Client, order: Order) -> None:
        blanks = dict.fromkeys(("carrier", "tracking_number", "status"), " \t")
        preview = upload(client, ORDERS, {"order": order.shown_code, **blanks})
        assert preview.context["result"].totals["skip"] == 1
        confirm(client, ORDERS, preview)
        assert status_of(order) == OrderStatus.PAID
        # Blanks around a word do not matter, and an order can leave without a number.
        bring(client, ORDERS, {"order": order.shown_code, "status": " Shipped "})
        order.refresh_from_db()
        assert (order.status, order.tracking_number) == (OrderStatus.SHIPPED, "")

    def test_an_empty_cell_keeps_what_a_colleague_entered_while_the_table_was_read(
        self, client: Client, order: Order, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lifecycle.ship(order_id=order.pk, carrier="DHL", tracking_number="1")
        preview = upload(client, ORDERS, {"order": order.shown_code, "carrier": "", "tracking_number": "2"})
        ship_all = lifecycle.ship_all

        def after_a_colleague(**given: Any) -> set[int]:
            # All lines are read by now.
            lifecycle.correct_tracking(order_id=order.pk, carrier="UPS", tracking_number="1")
            return ship_all(**given)

        monkeypatch.setattr(lifecycle, "ship_all", after_a_colleague)
        confirm(client, ORDERS, preview)
        order.refresh_from_db()
        assert (order.carrier, order.tracking_number) == ("UPS", "2")
        (entry,) = LogEntry.objects.filter(object_id=str(order.pk))
        assert entry.get_change_message() == "Sent with 2."

    def test_an_order_that_changed_after_the_preview_stops_the_import(
        self, client: Client, order: Order, product: Product
    ) -> None:
        other = make_order(None, [(product, 1, 9900)], email="g@example.com")
        rows = [{"order": each.shown_code, "tracking_number": "1"} for each in (order, other)]
        preview = upload(client, ORDERS, *rows)
        lifecycle.refund(order_id=other.pk, units_back=False)
        page = confirm(client, ORDERS, preview)
        assert "Nothing was imported" in page.content.decode()
        assert status_of(order) == OrderStatus.PAID

    def test_a_preview_locks_nothing_and_an_import_locks_late(
        self, client: Client, order: Order, product: Product
    ) -> None:
        """Neither a payment nor a buyer waits while lines are read and checked."""
        others = [make_order(None, [(product, 1, 9900)], email="g@example.com") for _ in range(4)]
        lifecycle.ship(order_id=others[0].pk)
        rows = [{"order": each.shown_code, "tracking_number": "1"} for each in (order, *others)]
        with CaptureQueriesContext(connection) as read:
            preview = upload(client, ORDERS, *rows)
        assert not locking_statements(read)
        with CaptureQueriesContext(connection) as written:
            confirm(client, ORDERS, preview)
        assert Order.objects.filter(status=OrderStatus.SHIPPED, tracking_number="1").count() == 5
        texts = [statement["sql"] for statement in written.captured_queries]
        last = next(number for number, text in enumerate(texts) if text.startswith('INSERT INTO "orders_mail"'))
        assert 0 < last - locking_statements(written)[0] < len(rows)
