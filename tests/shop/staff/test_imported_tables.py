"""Tables of products, variants and stock come in with a preview, errors by line, and all rows or none."""

from collections.abc import Collection
from contextlib import nullcontext
from io import BytesIO
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from openpyxl import Workbook, load_workbook
from pytest_django import Settings

from seckill.models import SaleItem
from shop.models import Product, SearchEntry, StockChange, Variant
from shop.staff import product_tables
from shop.staff.product_tables import ProductTable
from shop.staff.table_files import SafeXLSX, TooLarge, with_mark, without_mark
from shop.staff.table_pages import CachedUpload
from shop.stock.movements import lock, move
from tests.steps.at_once import in_the_middle
from tests.steps.shop import found_among, goods, make_item, variant_of
from tests.steps.staff import messages_on
from tests.steps.tables import CSV, XLSX, bring, confirm, errors_by_line, export, exported, upload, upload_xlsx

pytestmark = pytest.mark.usefixtures("_manager_signed_in")

PRODUCTS = "/admin/shop/product/"
STOCK = "/admin/shop/variant/"
VARIANT_TABLE = "1"


class TestProducts:
    def test_a_preview_changes_nothing_and_the_confirmation_imports(self, client: Client, product: Product) -> None:
        rows = [
            {"slug": "longjing", "name_en": "Longjing", "category": "tea", "is_active": "1"},
            {"slug": "oolong", "name_en": "Oolong", "category": "tea", "is_active": "1"},
        ]
        with mock.patch.object(product_tables, "write_products") as written:
            preview = upload(client, PRODUCTS, *rows)
        assert not errors_by_line(preview)
        assert not written.called
        confirm(client, PRODUCTS, preview)
        assert sorted(Product.objects.values_list("slug", "category__slug")) == [("longjing", "tea"), ("oolong", "tea")]
        product.refresh_from_db()
        assert product.name == "Longjing"
        assert found_among(SearchEntry.objects.all(), "oolong").entries.get().product.slug == "oolong"
        # An error names its line, and nothing can be confirmed.
        wrong = {"slug": "bad slug", "name_en": "Bad", "category": "coffee"}
        preview = upload(client, PRODUCTS, rows[0], wrong)
        [(line, messages)] = errors_by_line(preview).items()
        assert line == 2
        assert "There is no category “coffee”." in messages
        assert "confirm_form" not in preview.context

    def test_a_wrong_word_and_a_key_that_comes_twice_are_errors_of_their_columns(
        self, client: Client, product: Product
    ) -> None:
        for table, key in (("0", "slug"), (VARIANT_TABLE, "sku")):
            row = exported(client, PRODUCTS, table=table)[0]
            assert not errors_by_line(upload(client, PRODUCTS, row | {"is_active": "Yes"}, table=table))
            preview = upload(client, PRODUCTS, row | {"is_active": "maybe"}, row, table=table)
            assert [row.error.message_dict for row in preview.context["result"].invalid_rows] == [
                {"is_active": ["“maybe” is neither yes (1) nor no (0)."]},
                {key: [f"“{row[key]}” is in line 1 already."]},
            ]
            assert "maybe" in preview.content.decode()
        assert Product.objects.get().is_active

    def test_an_export_comes_back_without_a_change(self, client: Client, product: Product) -> None:
        Product.objects.update(name_en="=2+5", name_zh_hans="'-龙井", description_en="+49 30 1\n@home")
        before = Product.objects.values("name_en", "name_zh_hans", "description_en").get()
        bring(client, PRODUCTS, *exported(client, PRODUCTS))
        assert Product.objects.values("name_en", "name_zh_hans", "description_en").get() == before

    def test_columns_that_the_table_does_not_have_stay_as_a_colleague_saves_them_meanwhile(
        self, client: Client, product: Product
    ) -> None:
        preview = upload(client, PRODUCTS, {"slug": product.slug, "name_en": "Longjing"})
        check = ProductTable.validate_instance

        def colleague_saves_after_the_check(*args: Any, **options: Any) -> None:
            check(*args, **options)
            Product.objects.update(is_active=False, description_en="Green tea.")

        with mock.patch.object(ProductTable, "validate_instance", colleague_saves_after_the_check):
            confirm(client, PRODUCTS, preview)
        now = {"name_en": "Longjing", "is_active": False, "description_en": "Green tea."}
        assert Product.objects.values(*now).get() == now
        assert Product.history.values(*now).latest() == now  # type: ignore[attr-defined]

    def test_a_product_that_a_colleague_deletes_meanwhile_is_not_said_to_be_imported(
        self, client: Client, product: Product
    ) -> None:
        Product.objects.create(slug="sencha", name="Sencha")
        preview = upload(client, PRODUCTS, {"slug": "sencha", "name_en": "New"}, {"slug": "longjing", "name_en": "New"})
        write = product_tables.write_products

        def write_late(*args: Any, **options: Any) -> None:
            Product.objects.filter(slug="sencha").delete()
            write(*args, **options)

        with mock.patch.object(product_tables, "write_products", write_late):
            (message,) = messages_on(confirm(client, PRODUCTS, preview, follow=False))
        assert message.startswith("Nothing was imported")
        assert not Product.objects.filter(name_en="New").exists()


class TestVariants:
    def test_columns_that_the_table_does_not_have_stay_as_a_colleague_saves_them_meanwhile(
        self, client: Client, product: Product
    ) -> None:
        preview = upload(client, PRODUCTS, {"sku": variant_of(product).sku, "price": "88"}, table=VARIANT_TABLE)
        sencha = Product.objects.create(slug="sencha", name="Sencha")

        def colleague_saves_before_the_lock(variant_ids: Collection[int]) -> list[Variant]:
            Variant.objects.update(is_active=False, weight_grams=250, product=sencha)
            return lock(variant_ids)

        with mock.patch("shop.staff.product_tables.lock", colleague_saves_before_the_lock):
            confirm(client, PRODUCTS, preview)
        now = {"price_minor": 8800, "is_active": False, "weight_grams": 250}
        assert Variant.objects.values(*now).get() == now
        assert Variant.history.values(*now).latest() == now  # type: ignore[attr-defined]
        assert found_among(SearchEntry.objects.all(), "SKU-longjing").entries.get().product == sencha

    def test_all_rows_are_imported_or_none_where_one_is_refused_meanwhile(
        self, client: Client, product: Product
    ) -> None:
        sencha = goods("sencha")
        rows = ({"sku": sencha.sku, "price": "50"}, {"sku": variant_of(product).sku, "price": "50"})
        preview = upload(client, PRODUCTS, *rows, table=VARIANT_TABLE)
        make_item(product, price_minor=9000)
        message, *_more = messages_on(confirm(client, PRODUCTS, preview, follow=False))
        assert message.startswith("Nothing was imported")
        assert not Variant.objects.filter(price_minor=5000).exists()

    def test_a_price_is_refused_where_a_dearer_sale_is_published_meanwhile(
        self, client: Client, product: Product
    ) -> None:
        preview = upload(client, PRODUCTS, {"sku": variant_of(product).sku, "price": "50"}, table=VARIANT_TABLE)

        def colleague_publishes_before_the_lock(variant_ids: Collection[int]) -> list[Variant]:
            make_item(product, price_minor=9000)
            return lock(variant_ids)

        with mock.patch("shop.staff.product_tables.lock", colleague_publishes_before_the_lock):
            message, *_more = messages_on(confirm(client, PRODUCTS, preview, follow=False))
        assert message.startswith("Nothing was imported")
        assert variant_of(product).price_minor == 9900

    def test_prices_are_decimals_and_the_stock_stays_as_it_is(self, client: Client, product: Product) -> None:
        Variant.objects.update(available=7, held=2, sold=4)
        (row,) = exported(client, PRODUCTS, table=VARIANT_TABLE)
        assert row["price"] == "99.00"
        bring(client, PRODUCTS, row | {"price": "88.5"}, table=VARIANT_TABLE)
        variant = variant_of(product)
        assert (variant.price_minor, variant.available, variant.held, variant.sold) == (8850, 7, 2, 4)

    def test_what_is_no_whole_number_is_refused(self, client: Client, product: Product) -> None:
        (row,) = exported(client, PRODUCTS, table=VARIANT_TABLE)
        wrong = {"weight_grams": "many", "position": "1.5", "low_stock_at": "-+5"}
        assert not errors_by_line(upload(client, PRODUCTS, row | dict.fromkeys(wrong, "5.0"), table=VARIANT_TABLE))
        rows = [row | {"sku": column, column: text} for column, text in wrong.items()]
        assert list(errors_by_line(upload(client, PRODUCTS, *rows, table=VARIANT_TABLE)).values()) == [
            [f"“{text}” in “{column}” is no whole number."] for column, text in wrong.items()
        ]

    def test_a_variant_that_moves_to_another_product_is_searched_and_priced_there_alone(
        self, client: Client, product: Product
    ) -> None:
        Product.objects.create(slug="sencha", name="Sencha")
        Variant.objects.create(product=product, sku="CHEAP", price_minor=100)
        bring(client, PRODUCTS, {"sku": "CHEAP", "product": "sencha"}, table=VARIANT_TABLE)
        lowest = dict(SearchEntry.objects.values_list("product__slug", "lowest_minor"))
        assert lowest == {"longjing": 9900, "sencha": 100}
        found = found_among(SearchEntry.objects.all(), "CHEAP").entries
        assert [entry.product.slug for entry in found] == ["sencha"]

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("checked_until", ["write_variants", "lowest_prices"])
    def test_of_two_tables_that_come_at_once_one_makes_the_variant(
        self, client: Client, shop_manager: User, product: Product, checked_until: str
    ) -> None:
        colleague = Client()
        colleague.force_login(shop_manager)
        Product.objects.update(option_names_en="Size")
        Variant.objects.update(options_en="M")
        row = {"product": product.slug, "price": "50", "options_en": "L"}
        previews = {
            one: upload(one, PRODUCTS, row | {"sku": sku}, table=VARIANT_TABLE)
            for one, sku in ((client, "ONE"), (colleague, "OTHER"))
        }
        with in_the_middle(
            product_tables, checked_until, lambda: confirm(colleague, PRODUCTS, previews[colleague], follow=False)
        ) as other:
            page = confirm(client, PRODUCTS, previews[client], follow=False)
        assert Variant.objects.filter(options_en="L").count() == 1
        # A refused table can be uploaded again.
        shown = [answer["Location"] for answer in (page, other[0].result())]
        assert sorted(shown) == [PRODUCTS, f"{PRODUCTS}import/"]

    def test_the_rules_of_the_form_hold_here_too(self, client: Client, item: SaleItem, product: Product) -> None:
        rows = [
            {"sku": "SKU-longjing", "product": "longjing", "price": "18.99", "options_en": ""},
            {"sku": "NEW", "product": "longjing", "price": "1.999", "options_en": ""},
            {"sku": "OTHER", "product": "longjing", "price": "50", "options_en": ""},
            {"sku": "WRONG", "product": "longjing", "price": "50", "options_en": "M"},
        ]
        errors = errors_by_line(upload(client, PRODUCTS, *rows, table=VARIANT_TABLE))
        assert "The published sale “Spring sale” sells this product for 19.00 CNY." in errors[1][0]
        assert errors[2] == ["A price in CNY has at most 2 decimals."]
        assert errors[3] == ["Another variant has the same options."]
        assert errors[4][0].startswith("This product has no options.")
        Product.objects.update(option_names_en="Size")
        rows = [{"sku": sku, "product": "longjing", "price": "50", "options_en": "L"} for sku in ("ONE", "TWO")]
        errors = errors_by_line(upload(client, PRODUCTS, *rows, table=VARIANT_TABLE))
        assert errors == {2: ["Another variant has the same options."]}


class TestStock:
    @pytest.fixture
    def variant(self, product: Product) -> Variant:
        Variant.objects.update(available=8, held=2)
        return variant_of(product)

    def test_counts_and_changes_go_into_the_journal(self, client: Client, variant: Variant, shop_manager: User) -> None:
        entries = StockChange.objects.count()
        (row,) = exported(client, STOCK)
        # Lines that are not filled in are skipped.
        bring(client, STOCK, row)
        assert StockChange.objects.count() == entries
        assert (row["in_stock"], row["available"], row["held"]) == ("10", "8", "2")
        bring(client, STOCK, row | {"count": "12", "reason": "stocktaking"})
        variant.refresh_from_db()
        assert variant.available == 10
        entry = StockChange.objects.order_by("-pk")[0]
        assert (entry.kind, entry.units, entry.reason, entry.made_by) == ("counted", 2, "stocktaking", shop_manager)

    def test_a_count_against_an_old_table_is_refused_and_a_change_is_not(
        self, client: Client, variant: Variant
    ) -> None:
        (row,) = exported(client, STOCK)
        move(kind=StockChange.Kind.SOLD, units_of={variant.pk: 1})
        errors = errors_by_line(upload(client, STOCK, row | {"count": "12"}))
        assert errors[1][0].startswith("The stock has changed from 10 to 9 in the meantime.")
        bring(client, STOCK, row | {"change": "-3", "reason": "broken"})
        variant.refresh_from_db()
        assert variant.available == 5

    def test_units_that_were_bought_between_preview_and_confirmation_are_seen(
        self, client: Client, variant: Variant
    ) -> None:
        preview = upload(client, STOCK, {"sku": variant.sku, "change": "-8", "reason": "broken"})
        move(kind=StockChange.Kind.HELD, units_of={variant.pk: 1})
        response = confirm(client, STOCK, preview, follow=False)
        assert "Line 1: Only 7 units are available; checkouts hold 3 more." in messages_on(response)
        variant.refresh_from_db()
        assert variant.available == 7

    @pytest.mark.parametrize(
        ("change", "has_died"), [("5", False), ("-5", True)], ids=["sent-twice", "killed-before-the-upload-was-removed"]
    )
    def test_a_table_that_is_confirmed_twice_changes_the_stock_once_and_says_so(
        self, client: Client, variant: Variant, change: str, has_died: bool
    ) -> None:
        preview = upload(client, STOCK, {"sku": variant.sku, "change": change, "reason": "delivery"})
        with mock.patch.object(CachedUpload, "remove") if has_died else nullcontext():
            confirm(client, STOCK, preview, follow=False)
        entries = StockChange.objects.count()
        sentence = "This table was imported before, and its changes of the stock are not made twice."
        assert messages_on(confirm(client, STOCK, preview, follow=False)) == [sentence]
        variant.refresh_from_db()
        assert (variant.available, StockChange.objects.count()) == (8 + int(change), entries)

    def test_a_wrong_line_is_refused(self, client: Client, variant: Variant) -> None:
        wrong = (
            ({"sku": "NOBODY", "change": "1"}, "There is no variant with the SKU “NOBODY”."),
            ({"change": "many"}, "“many” in “change” is no whole number."),
            ({"change": "-+5"}, "“-+5” in “change” is no whole number."),
            ({"count": "-1"}, "A count cannot be negative."),
            ({"count": "9999999999"}, "A stock has at most 100000000 units, with those that checkouts hold."),
            ({"change": "9999999999"}, "A stock has at most 100000000 units, with those that checkouts hold."),
            ({"change": "99999991"}, "A stock has at most 100000000 units, with those that checkouts hold."),
            ({"count": "1", "change": "1"}, "Fill in “count” or “change”, not both."),
            ({"count": "1"}, "Checkouts hold 2 units, so the stock cannot be lower."),
            ({"change": "1", "reason": " "}, "Enter a reason for the journal, for all lines or in this column."),
        )
        whole = {"sku": variant.sku, "count": "", "change": "", "reason": "delivery"}
        errors = errors_by_line(upload(client, STOCK, *(whole | row for row, _sentence in wrong)))
        assert errors == {line: [sentence] for line, (_row, sentence) in enumerate(wrong, 1)}

    def test_one_reason_may_be_given_for_all_lines(self, client: Client, variant: Variant) -> None:
        row = {"sku": variant.sku, "change": "1", "reason": ""}
        preview = upload(client, STOCK, row, {**row, "reason": "found"}, reason="a delivery")
        assert not errors_by_line(preview)
        confirm(client, STOCK, preview)
        entries = StockChange.objects.order_by("pk").values_list("reason", flat=True)
        assert list(entries)[-2:] == ["a delivery", "found"]


class TestFiles:
    def test_a_cell_that_a_spreadsheet_would_compute_is_marked(self, client: Client, product: Product) -> None:
        Product.objects.update(name_en='=HYPERLINK("http://evil.example","x")')
        assert "'=HYPERLINK" in export(client, PRODUCTS).content.decode("utf-8-sig")
        book = load_workbook(BytesIO(export(client, PRODUCTS, file_format=XLSX).content))
        cells = [cell for row in book.active.iter_rows() for cell in row]
        assert not [cell for cell in cells if cell.data_type == "f"]

    def test_a_text_that_only_begins_like_a_phone_number_is_marked(self) -> None:
        for text in ("+86 138 0013 8000", "+1 (555) 01.00"):
            assert with_mark(text) == text
        for text in ("+1+1", "+1-1", "+A1", "+", "+49 30\n=1", "-1 2", "＝1+1", "＠A1", "\n=1"):
            assert without_mark(with_mark(text)) == text
            assert with_mark(text) == f"'{text}"
        assert without_mark("'t Hooft") == "'t Hooft"

    def test_a_sparse_xlsx_is_not_filled_up(self, client: Client, db: None, settings: Settings) -> None:
        """A small file names one cell far down and to the right, and all between would be made."""
        book = Workbook()
        book.active.append(["slug", "name_en"])
        book.active["FZ4999"] = book.active["FZ1"] = "x"
        data = BytesIO()
        book.save(data)
        assert len(data.getvalue()) < 10_000
        table = SafeXLSX().create_dataset(data.getvalue())
        assert sum(len(row) for row in table) <= 2
        assert table.headers == ["slug", "name_en"]
        settings.IMPORT_ROWS_MAX = 3
        book.active["A5"] = book.active["A6"] = book.active["A7"] = book.active["A8"] = "tea"
        data = BytesIO()
        book.save(data)
        with pytest.raises(TooLarge, match="rows"):
            SafeXLSX().create_dataset(data.getvalue())
        settings.IMPORT_BYTES_MAX = 10
        with pytest.raises(TooLarge, match="when unpacked"):
            SafeXLSX().create_dataset(data.getvalue())

    def test_an_xlsx_is_read(self, client: Client, product: Product) -> None:
        before = variant_of(product).available
        delivery = {"sku": "SKU-longjing", "change": 5, "reason": "delivery"}
        preview = upload_xlsx(client, STOCK, delivery, dict.fromkeys(delivery))
        assert not errors_by_line(preview)
        confirm(client, STOCK, preview)
        assert variant_of(product).available == before + 5

    def test_semicolons_between_the_columns_are_read_as_commas_are(self, client: Client, db: None) -> None:
        content = "\ufeffslug;name_en\r\ntea;Tea, green\r\n".encode()
        preview = upload(client, PRODUCTS, import_file=SimpleUploadedFile("table.csv", content))
        assert not errors_by_line(preview)
        confirm(client, PRODUCTS, preview)
        assert Product.objects.get(slug="tea").name == "Tea, green"

    def test_a_price_with_a_comma_is_refused_with_what_to_write(self, client: Client, product: Product) -> None:
        for price in ("19,90", "1,234", "1,234.50"):
            file = SimpleUploadedFile("table.csv", f"sku;price\nSKU-longjing;{price}\n".encode())
            errors = errors_by_line(upload(client, PRODUCTS, import_file=file, table=VARIANT_TABLE))
            assert f"“{price}”: write prices with a point and without a comma" in str(errors), price

    def test_a_file_that_is_no_table_or_too_large_is_refused(
        self, client: Client, db: None, settings: Settings
    ) -> None:
        def errors_of_file(content: bytes) -> list[str]:
            page = upload(client, PRODUCTS, import_file=SimpleUploadedFile("table.csv", content))
            assert "Traceback" not in page.content.decode()
            errors: list[str] = page.context["form"].errors["import_file"]
            return errors

        rows = [{"slug": f"tea-{number}", "name_en": "Tea"} for number in range(2)]
        no_table = SimpleUploadedFile("table.xlsx", b"no zip at all")
        refused = upload(client, PRODUCTS, *rows, import_file=no_table, format=XLSX)
        assert refused.context["form"].errors["import_file"]
        other_encoding = SimpleUploadedFile("table.csv", "slug\nthé".encode("latin-1"))
        page = upload(client, PRODUCTS, import_file=other_encoding).content.decode()
        assert "UnicodeDecodeError" not in page
        assert "UTF-8" in page
        (error,) = errors_of_file(b"slug,name_en\ntea,T\0ea")
        assert error.startswith("The file could not be read.")
        (error,) = errors_of_file(b"slug\tname_en\ntea\tTea")
        assert error.startswith("The table has no column “slug”.")
        settings.IMPORT_ROWS_MAX = 1
        assert upload(client, PRODUCTS, *rows).context["form"].errors["import_file"]
        settings.IMPORT_ROWS_MAX, settings.IMPORT_BYTES_MAX = 2, 10
        (error,) = upload(client, PRODUCTS, *rows).context["form"].errors["import_file"]
        assert error.startswith("The file may have 10")

    def test_an_upload_whose_preview_is_too_old_must_come_again(self, client: Client, product: Product) -> None:
        old = {"import_file_name": "0" * 32, "original_file_name": "table.csv", "format": CSV, "resource": "0"}
        response = client.post(f"{PRODUCTS}process_import/", old)
        (message,) = messages_on(response)
        assert message.startswith("This table was imported before, or its preview was too long ago.")
