"""Staff, sales and expiring orders lock the stock in one order, and for a short time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from PIL import Image

from orders.life import lifecycle
from orders.models import Order
from orders.units import taken
from seckill.changes.journal import make_change
from seckill.models import SaleChange
from shop.models import Picture, Product, SearchEntry, Variant
from shop.models.search_entry import lock_entries
from shop.stock.movements import Kind, move
from tests.processes import wait_until
from tests.steps.at_once import at_once
from tests.steps.buying import let_deadlines_pass, order_of, plain_order
from tests.steps.operating import waiting_for_locks
from tests.steps.product_page import saved_page
from tests.steps.shop import PLENTY, found_among, goods, make_item, png, units_in, variant_of
from tests.steps.staff import admin_page
from tests.steps.tables import confirm, errors_by_line, exported, upload

pytestmark = pytest.mark.django_db(transaction=True)


def test_adding_units_to_a_sale_does_not_deadlock_with_orders_that_expire(
    product: Product, buyer: User, shop_manager: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One batch of expired orders has the sale's item and its variant; the manager takes the variant's units."""
    item, variant = make_item(product), variant_of(product)
    order_of(item, buyer)
    move(kind=Kind.HELD, units_of={variant.pk: 2})
    plain_order(variant, buyer, 2, 9900)
    let_deadlines_pass()
    statements: list[str] = []

    def give_back_and_wait(*, order_ids: Any) -> None:
        taken.give_back(order_ids=order_ids)
        statements.append("the item is locked")
        wait_until(lambda: waiting_for_locks() == 1, seconds_max=30)

    monkeypatch.setattr(lifecycle, "give_back", give_back_and_wait)

    def add_units() -> str:
        wait_until(lambda: bool(statements), seconds_max=30)
        (change,) = make_change(
            kind=SaleChange.Kind.ADD_UNITS, item_id=item.pk, units=3, reason="more", made_by=shop_manager
        )
        return change.status

    both: list[Callable[[], object]] = [lifecycle.expire_overdue, add_units]
    assert at_once(both) == [2, "applied"]
    item.refresh_from_db()
    assert (item.quantity, item.taken) == (8, 0)
    assert units_in(variant) == (PLENTY - 5 - 3, 0, 0)


def test_a_batch_of_expired_orders_writes_each_variant_once(buyer: User) -> None:
    tea = goods("tea", units=100)

    def statements_to_expire(count: int) -> int:
        for _ in range(count):
            move(kind=Kind.HELD, units_of={tea.pk: 1})
            plain_order(tea, buyer, 1, 1000)
        let_deadlines_pass()
        with CaptureQueriesContext(connection) as statements:
            assert lifecycle.expire_overdue() == count
        return sum("shop_variant" in statement["sql"] for statement in statements)

    assert statements_to_expire(8) == statements_to_expire(2)
    assert units_in(tea) == (100, 0, 0)
    assert Order.objects.filter(status="expired").count() == 10


def is_locked(variant: Variant) -> bool:
    """Whether somebody's transaction has the row of the variant."""

    def take() -> bool:
        try:
            with transaction.atomic():
                Variant.objects.select_for_update(no_key=True, nowait=True).get(pk=variant.pk)
        except OperationalError:
            return True
        return False

    (locked,) = at_once([take])
    return locked


def test_pictures_are_decoded_and_written_before_the_stock_is_locked(
    as_manager: Client, product: Product, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEDIA_ROOT = str(tmp_path)
    file = png(size=(60, 40))
    locked: list[bool] = []
    for owner, name in ((Image, "open"), (Image.Image, "save"), (Image.Image, "resize")):
        work = getattr(owner, name)

        def looking(*args: Any, work: Any = work, **options: Any) -> Any:
            locked.append(is_locked(variant_of(product)))
            return work(*args, **options)

        monkeypatch.setattr(owner, name, looking)
    pictures = [SimpleUploadedFile(f"{number}.png", file, "image/png") for number in range(2)]
    page = saved_page(product, price_minor="98.00") | {"new_pictures": pictures}
    assert as_manager.post(admin_page(product), page).status_code == 302
    assert Picture.objects.count() == 2
    assert len(locked) > 10
    assert not any(locked)


def test_a_form_that_was_read_before_units_moved_does_not_write_the_former_stock(product: Product) -> None:
    variant = variant_of(product)
    move(kind=Kind.HELD, units_of={variant.pk: 4})
    variant.price_minor = 8800
    variant.save()
    assert variant_of(product).price_minor == 8800
    assert units_in(variant) == (PLENTY - 4, 4, 0)


PRODUCTS, STOCK, VARIANT_TABLE = "/admin/shop/product/", "/admin/shop/variant/", "1"


def statements_of_import(client: Client, page: str, rows: list[dict[str, str]], table: str) -> tuple[int, int]:
    """How many statements lock or write variants in the preview, and how many the import makes from its first lock."""

    def locks(statement: dict[str, str]) -> bool:
        sql = statement["sql"]
        return "FOR NO KEY UPDATE" in sql or sql.startswith('UPDATE "shop_variant"')

    with CaptureQueriesContext(connection) as in_preview:
        preview = upload(client, page, *rows, table=table)
    assert not errors_by_line(preview)
    with CaptureQueriesContext(connection) as in_import:
        answer = confirm(client, page, preview)
    assert answer.status_code == 200
    locking = [place for place, statement in enumerate(in_import.captured_queries) if locks(statement)]
    last = max(
        n
        for n, statement in enumerate(in_import.captured_queries)
        if "shop_stockchange" in statement["sql"] or "shop_variant" in statement["sql"]
    )
    return sum(map(locks, in_preview.captured_queries)), last - locking[0]


def test_an_import_of_products_locks_them_at_its_end_and_its_preview_not_at_all(as_manager: Client) -> None:
    for number in range(16):
        goods(f"tea-{number}")
    rows = exported(as_manager, PRODUCTS)
    renamed = [row | {"name_en": f"{row['name_en']} of spring"} for row in rows]
    with CaptureQueriesContext(connection) as in_preview:
        preview = upload(as_manager, PRODUCTS, *renamed, {**renamed[0], "slug": "new", "name_en": "New"})
    assert not errors_by_line(preview)
    with CaptureQueriesContext(connection) as in_import:
        confirm(as_manager, PRODUCTS, preview)

    def writing(statements: Any) -> list[int]:
        words = ("FOR NO KEY UPDATE", 'UPDATE "shop_product"', 'INSERT INTO "shop_', "INSERT INTO shop_searchentry")
        found = enumerate(statement["sql"] for statement in statements.captured_queries)
        return [place for place, sql in found if any(word in sql for word in words)]

    assert not writing(in_preview)
    assert writing(in_import)[-1] - writing(in_import)[0] < 12
    assert Product.objects.filter(name_en__endswith=" of spring").count() == 16
    assert Product.history.filter(name_en__endswith=" of spring").count() == 16  # type: ignore[attr-defined]
    for typed in ("spring", "new"):
        assert found_among(SearchEntry.objects.all(), typed).entries.exists(), typed


@pytest.mark.parametrize("way", ["form", "table", "low-at"])
def test_who_waits_for_an_entry_of_the_search_does_not_hold_the_stock_up(
    as_manager: Client, product: Product, way: str
) -> None:
    """A category's new name takes the entries of all its products."""
    variant, seen = variant_of(product), {"entry is locked": False, "variant is locked": True}
    preview = upload(as_manager, PRODUCTS, {"sku": variant.sku, "price": "98"}, table=VARIANT_TABLE)

    def hold_the_entry() -> None:
        with transaction.atomic():
            lock_entries([product.pk])
            seen["entry is locked"] = True
            wait_until(lambda: waiting_for_locks() == 1 or way == "low-at", seconds_max=30)
            if way == "low-at":
                # It needs no entry, and does not wait.
                wait_until(lambda: variant_of(product).low_stock_at == 3, seconds_max=9)
            seen["variant is locked"] = is_locked(variant)

    def save() -> None:
        wait_until(lambda: seen["entry is locked"], seconds_max=30)
        if way == "table":
            confirm(as_manager, PRODUCTS, preview)
        elif way == "form":
            as_manager.post(admin_page(product), saved_page(product, price_minor="98.00"))
        else:
            as_manager.post(admin_page(variant), {"how": "change", "low_stock_at": 3})

    calls: list[Callable[[], None]] = [hold_the_entry, save]
    at_once(calls)
    assert not seen["variant is locked"]
    saved = variant_of(product)
    assert saved.low_stock_at == 3 if way == "low-at" else saved.price_minor == 9800


@pytest.mark.parametrize(
    ("page", "table", "change"),
    [(PRODUCTS, VARIANT_TABLE, {"price": "77.00"}), (STOCK, "0", {"change": "3", "reason": "a delivery"})],
)
def test_an_import_locks_the_stock_for_a_few_statements_and_its_preview_not_at_all(
    as_manager: Client, page: str, table: str, change: dict[str, str]
) -> None:
    for number in range(4):
        goods(f"tea-{number}")
    four = [row | change for row in exported(as_manager, page, table=table)]
    first = statements_of_import(as_manager, page, four, table)
    for number in range(4, 14):
        goods(f"tea-{number}")
    many = [
        row | change | ({"price": "66.00"} if "price" in row else {}) for row in exported(as_manager, page, table=table)
    ]
    assert len(many) == 14
    preview, short = statements_of_import(as_manager, page, many, table)
    assert (first[0], preview) == (0, 0)
    assert short <= first[1]
    if "price" in change:
        assert set(Variant.objects.values_list("price_minor", flat=True)) == {6600}
    else:
        assert sorted(Variant.objects.values_list("available", flat=True)) == [13] * 10 + [16] * 4
