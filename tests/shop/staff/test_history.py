"""Every change of the catalogue is kept: who changed what, when, from what to what."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from orders.models import ShippingMethod
from seckill.models import SaleItem
from shop.models import Category, Product, StockChange, Variant
from shop.stock.movements import move
from tests.steps.product_page import saved_page
from tests.steps.shop import make_item, png, variant_of
from tests.steps.staff import admin_page, employee, form_of, row_of_saved

pytestmark = pytest.mark.usefixtures("_manager_signed_in")


def history_of(client: Client, row: Any) -> list[tuple[str, str, str, str, str]]:
    """Each changed field on the page, newest first: what, by whom, field, old, new."""
    url = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_history", args=[row.pk])
    return [
        (entry.what, entry.by, change.field, change.old, change.new)
        for entry in client.get(url).context["entries"]
        for change in entry.changes
    ]


def test_the_history_of_a_product_has_its_variants_with_old_and_new_values(client: Client, product: Product) -> None:
    client.post(admin_page(product), saved_page(product, price_minor="88.00") | {"name_zh_hans": "明前龙井"})
    assert set(history_of(client, product)) >= {
        ("Variant · SKU-longjing", "manager", "Price", "99.00 CNY", "88.00 CNY"),
        ("Product · Longjing tea", "manager", "Name (简体中文)", "龙井茶", "明前龙井"),
    }


def test_saving_without_a_change_adds_nothing_to_the_page(client: Client, product: Product) -> None:
    url = reverse("admin:shop_product_history", args=[product.pk])
    page = saved_page(product) | {"category": product.category_id, "name_zh_hans": "龙井茶"}
    client.post(admin_page(product), page | {"variants-0-weight_grams": 0})
    before = len(client.get(url).context["entries"])
    client.post(admin_page(product), page | {"variants-0-weight_grams": 0})
    assert len(client.get(url).context["entries"]) == before


def test_the_history_of_a_product_says_who_added_changed_and_removed_its_pictures(
    client: Client, product: Product, settings: Settings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    files = [SimpleUploadedFile(f"{number}.png", png(), "image/png") for number in range(3)]
    client.post(admin_page(product), saved_page(product) | {"new_pictures": files})
    client.post(admin_page(product), saved_page(product) | {"pictures-0-alt_en": "Red tin"})
    page = saved_page(product) | {"pictures-0-alt_en": "Red tin", "pictures-0-DELETE": "on", "pictures-1-DELETE": "on"}
    client.post(admin_page(product), page)
    client.post(admin_page(product), saved_page(product))
    url = reverse("admin:shop_product_history", args=[product.pk])
    notes = [(entry.by, entry.kind) for entry in client.get(url).context["entries"] if "picture" in entry.kind]
    assert notes == [
        ("manager", "2 pictures removed: Red tin"),
        ("manager", "1 picture changed: Red tin"),
        ("manager", "3 pictures added"),
    ]


def test_deleted_entries_can_still_be_read(client: Client, product: Product) -> None:
    StockChange.objects.all().delete()
    client.post(reverse("admin:shop_product_delete", args=[product.pk]), {"post": "yes"})
    assert not Product.objects.exists()
    entries = client.get(reverse("admin:shop_product_history", args=[product.pk])).context["entries"]
    assert ("Product · Longjing tea", "deleted") in [(entry.what, entry.kind) for entry in entries]


def test_units_that_move_are_in_the_journal_and_not_here(client: Client, product: Product) -> None:
    before = Variant.history.count()  # type: ignore[attr-defined]
    move(kind="held", units_of={variant_of(product).pk: 1})  # type: ignore[arg-type]
    assert Variant.history.count() == before  # type: ignore[attr-defined]


def test_a_category_and_a_shipping_method_have_one(client: Client, product: Product) -> None:
    category = Category.objects.get()
    client.post(admin_page(category), {"name_en": "Teas", "name_zh_hans": "茶", "slug": "tea", "position": 0})
    assert ("Category · Teas", "manager", "Name (English)", "Tea", "Teas") in history_of(client, category)
    method = ShippingMethod.objects.create(code="post", name="Post")
    form = {"name_en": "Post", "code": "post", "position": 0, "basis": "weight", "free_from_minor": "99"}
    client.post(admin_page(method), form | {"prices-TOTAL_FORMS": 0, "prices-INITIAL_FORMS": 0})
    assert ("Shipping method · Post", "manager", "Free from", "–", "99.00 CNY") in history_of(client, method)


def test_a_draft_of_a_sale_has_one_with_its_items(client: Client, product: Product) -> None:
    item = make_item(product, published=False, opens_in_seconds=3600, closes_in_seconds=7200)
    url = reverse("admin:seckill_sale_change", args=[item.sale_id])
    row = row_of_saved(item, price_minor="18.00")
    assert client.post(url, form_of(item.sale, row, name="Winter sale")).status_code == 302
    changes = history_of(client, item.sale)
    assert ("Sale item · Longjing tea", "manager", "Price", "19.00 CNY", "18.00 CNY") in changes
    assert ("Sale · Winter sale", "manager", "Name (English)", "Spring sale", "Winter sale") in changes
    assert SaleItem.objects.get().price_minor == 1800


def test_staff_who_may_not_see_products_see_no_history_of_them(client: Client, product: Product) -> None:
    client.force_login(employee("view_category"))
    assert client.get(reverse("admin:shop_product_history", args=[product.pk])).status_code == 403


def test_a_number_that_is_none_is_not_found(client: Client, product: Product) -> None:
    for number in ("nothing", "1x", "99999999999999999999"):
        assert client.get(f"/admin/shop/product/{number}/history/").status_code == 404, number
