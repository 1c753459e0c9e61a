"""Two of the staff have the same page open: who saves last undoes no change that they have not seen."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from orders.models import ShippingMethod, ShippingPrice
from seckill.models import SaleItem
from shop.models import Category, Product, Variant
from tests.steps.product_page import saved_page
from tests.steps.shop import make_item, make_product, png, variant_of
from tests.steps.staff import admin_page, employee, form_of, row_of_saved

pytestmark = pytest.mark.usefixtures("_manager_signed_in")


@pytest.fixture
def colleague(db: None) -> Client:
    rights = ("product", "category", "shippingmethod", "sale")
    client = Client()
    client.force_login(employee(*(f"{verb}_{right}" for verb in ("view", "change") for right in rights)))
    return client


def seen_on(client: Client, row: Any) -> dict[str, Any]:
    """The hidden field of a page that is open."""
    page = client.get(admin_page(row))
    seen = page.context["seen_history"]
    assert f'<input type="hidden" name="seen_history" value="{seen}">' in page.content.decode()
    return {"seen_history": seen}


def shown_page(product: Product, **changes: Any) -> dict[str, Any]:
    """All of the page, so that saving it changes nothing else."""
    more = {"category": product.category_id, "name_zh_hans": "龙井茶", "variants-0-weight_grams": 0}
    return saved_page(product, **changes) | more


def said_again(response: Any) -> list[tuple[str, str, str, str]]:
    """What the page that was shown again names: by whom, field, old, new."""
    assert response.status_code == 200
    return [
        (entry.by, change.field, change.old, change.new)
        for entry in response.context["changed_since"]
        for change in entry.changes
    ]


def shown_on(response: Any, name: str, row: int | None = None) -> Any:
    form = response.context["adminform"].form
    if row is not None:
        form = response.context["inline_admin_formsets"][0].formset.forms[row]
    return form[name].value()


def test_a_late_save_of_a_product_neither_lowers_the_price_nor_sells_a_variant_that_a_colleague_withdrew(
    client: Client, colleague: Client, product: Product
) -> None:
    page = shown_page(product)
    mine = page | seen_on(client, product) | {"description_en": "From Hangzhou", "search_words": "tea leaves"}
    theirs = page | seen_on(colleague, product) | {"variants-0-price_minor": "129.00", "variants-0-is_active": ""}
    theirs |= {"name_en": "Longjing", "search_words": "green tea"}
    assert colleague.post(admin_page(product), theirs).status_code == 302

    late = client.post(admin_page(product), mine)
    assert set(said_again(late)) >= {
        ("employee", "Price", "99.00 CNY", "129.00 CNY"),
        ("employee", "Can be bought", "yes", "no"),
        ("employee", "Words of the search", "–", "green tea"),
    }
    text = late.content.decode()
    assert "This page was changed while you had it open, and nothing has been saved yet." in text
    assert "employee</span>" in text
    assert "Please correct" not in text
    # A field that one of the two changed shows that change; a field that both changed shows what was typed last.
    assert (shown_on(late, "description_en"), shown_on(late, "name_en")) == ("From Hangzhou", "Longjing")
    assert shown_on(late, "search_words") == "tea leaves"
    assert 'value="129.00"' in text
    assert shown_on(late, "is_active", row=0) is False
    variant = variant_of(product)
    assert (variant.price_minor, variant.is_active) == (12900, False)

    again = theirs | {"description_en": "From Hangzhou", "search_words": "tea leaves"}
    again |= {"seen_history": late.context["seen_history"]}
    assert client.post(admin_page(product), again).status_code == 302
    variant = variant_of(product)
    assert (variant.price_minor, variant.is_active) == (12900, False)
    product = Product.objects.get()
    assert (product.description, product.search_words) == ("From Hangzhou", "tea leaves")


def test_where_both_changed_only_the_same_field_the_late_one_is_asked_and_keeps_what_they_typed(
    client: Client, colleague: Client, product: Product
) -> None:
    mine = shown_page(product, price_minor="120.00") | seen_on(client, product)
    colleague.post(admin_page(product), shown_page(product, price_minor="129.00"))
    late = client.post(admin_page(product), mine)
    assert ("employee", "Price", "99.00 CNY", "129.00 CNY") in said_again(late)
    assert shown_on(late, "price_minor", row=0) == "120.00"


def test_staff_who_work_alone_save_a_page_twice_and_again_after_going_back(
    client: Client, product: Product, shop_manager: User
) -> None:
    mine = saved_page(product, price_minor="129.00") | seen_on(client, product)
    assert client.post(admin_page(product), mine).status_code == 302
    assert client.post(admin_page(product), mine).status_code == 302
    assert client.post(admin_page(product), mine | {"search_words": "green"}).status_code == 302
    assert Product.objects.get().search_words == "green"
    # Their own account is named as any other, where they undo what they did on another page.
    undone = client.post(admin_page(product), mine | {"variants-0-price_minor": "99.00"})
    assert said_again(undone)[0][0] == str(shop_manager)


def test_a_colleague_who_changed_nothing_on_the_page_stops_nobody(
    client: Client, colleague: Client, product: Product
) -> None:
    page = shown_page(product)
    mine = page | seen_on(client, product) | {"variants-0-price_minor": "129.00"}
    colleague.post(admin_page(product), page)
    Variant.objects.get().save()
    assert client.post(admin_page(product), mine).status_code == 302
    assert variant_of(product).price_minor == 12900


def test_a_page_that_names_no_state_or_one_that_is_none_is_saved_as_before(client: Client, product: Product) -> None:
    for seen in ({}, {"seen_history": "product:x:1 variant 2 :: a:1:²"}):
        assert client.post(admin_page(product), saved_page(product, price_minor="9.00") | seen).status_code == 302


def test_a_change_of_a_row_without_a_history_is_noticed_too(
    client: Client, colleague: Client, product: Product
) -> None:
    Variant.history.all().delete()  # type: ignore[attr-defined]
    mine = shown_page(product) | seen_on(client, product)
    colleague.post(admin_page(product), shown_page(product, price_minor="129.00"))
    late = client.post(admin_page(product), mine)
    assert "Variant · SKU-longjing" in [entry.what for entry in late.context["changed_since"]]
    assert variant_of(product).price_minor == 12900


def test_a_late_save_of_a_shipping_method_leaves_the_prices_that_a_colleague_set(
    client: Client, colleague: Client
) -> None:
    method = ShippingMethod.objects.create(code="post", name="Post", basis="total")
    price = ShippingPrice.objects.create(method=method, up_to=5000, price_minor=900)
    page = {"name_en": "Post", "code": "post", "position": 0, "basis": "total", "is_active": "on"}
    page |= {"prices-TOTAL_FORMS": 1, "prices-INITIAL_FORMS": 1, "prices-0-id": price.pk, "prices-0-method": method.pk}
    page |= {"prices-0-up_to": "50.00", "prices-0-price_minor": "9.00"}
    mine = page | seen_on(client, method) | {"position": 3}
    theirs = page | {"countries": ["DE", "FR"], "prices-0-price_minor": "12.00"}
    assert colleague.post(admin_page(method), theirs).status_code == 302
    late = client.post(admin_page(method), mine)
    assert ("employee", "Price", "9.00 CNY", "12.00 CNY") in said_again(late)
    assert sorted(shown_on(late, "countries")) == ["DE", "FR"]
    assert (shown_on(late, "position"), shown_on(late, "price_minor", row=0)) == ("3", "12.00")
    price.refresh_from_db()
    assert price.price_minor == 1200


def test_a_late_save_of_a_draft_leaves_the_quantity_and_the_times_that_a_colleague_set(
    client: Client, colleague: Client, product: Product
) -> None:
    item = make_item(product, published=False, opens_in_seconds=3600, closes_in_seconds=7200)
    sale = item.sale
    mine = form_of(sale, row_of_saved(item), name="Winter sale") | seen_on(client, sale)
    theirs = form_of(sale, row_of_saved(item, quantity="", unlimited="on"), hold_seconds=600)
    assert colleague.post(admin_page(sale), theirs).status_code == 302
    late = client.post(admin_page(sale), mine)
    assert {"Quantity"} < {change[1] for change in said_again(late)}
    assert (shown_on(late, "name_en"), shown_on(late, "hold_seconds")) == ("Winter sale", 600)
    assert (shown_on(late, "quantity", row=0), shown_on(late, "unlimited", row=0)) == (None, True)
    assert SaleItem.objects.get().quantity is None
    # A row that one deletes oneself is no late save, also if the form is sent twice.
    gone = form_of(sale, row_of_saved(item, DELETE="on")) | seen_on(client, sale)
    assert client.post(admin_page(sale), gone).status_code == 302
    assert client.post(admin_page(sale), gone).status_code == 302


def test_a_row_that_a_colleague_deleted_is_named_and_the_second_save_goes_through(
    client: Client, colleague: Client, product: Product
) -> None:
    item = make_item(product, published=False, opens_in_seconds=3600, closes_in_seconds=7200)
    sale, cup = item.sale, make_product(slug="cup", name="Cup", price_minor=5000)
    kept = SaleItem.objects.create(sale=sale, variant=variant_of(cup), price_minor=1900, quantity=5)
    rows = [row_of_saved(item), row_of_saved(kept)]
    mine = form_of(sale, rows[0], rows[1] | {"quantity": 7}, name="Winter sale") | seen_on(client, sale)
    assert colleague.post(admin_page(sale), form_of(sale, rows[0] | {"DELETE": "on"}, rows[1])).status_code == 302
    late = client.post(admin_page(sale), mine)
    assert ("employee", "deleted") in [(entry.by, entry.kind) for entry in late.context["changed_since"]]
    formset = late.context["inline_admin_formsets"][0].formset
    assert (len(formset.initial_forms), shown_on(late, "id", row=0), shown_on(late, "quantity", row=0)) == (
        *(1, str(kept.pk), "7"),
    )
    again = form_of(sale, rows[1] | {"quantity": 7}, name="Winter sale")
    assert client.post(admin_page(sale), again | {"seen_history": late.context["seen_history"]}).status_code == 302
    assert SaleItem.objects.values_list("pk", "quantity").get() == (kept.pk, 7)


def test_a_picture_that_a_colleague_removed_stops_no_save(
    client: Client, colleague: Client, product: Product, settings: Settings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    files = [SimpleUploadedFile(f"{number}.png", png(), "image/png") for number in range(2)]
    client.post(admin_page(product), saved_page(product) | {"new_pictures": files})
    mine = saved_page(product) | {"search_words": "green", "pictures-1-alt_en": "Tin"} | seen_on(client, product)
    colleague.post(admin_page(product), saved_page(product) | {"pictures-0-DELETE": "on"})
    assert client.post(admin_page(product), mine).status_code == 302
    assert (Product.objects.get().search_words, product.pictures.get().alt) == ("green", "Tin")


def test_a_late_save_of_a_category_is_asked_too(client: Client, colleague: Client, product: Product) -> None:
    category = Category.objects.get()
    page = {"name_en": "Tea", "name_zh_hans": "茶", "slug": "tea", "position": 0}
    mine = page | seen_on(client, category) | {"position": 2}
    colleague.post(admin_page(category), page | {"name_en": "Teas"})
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans"
    late = client.post(admin_page(category), mine)
    assert ("employee", "名称 (English)", "Tea", "Teas") in said_again(late)
    assert "您的修改尚未保存" in late.content.decode()
    assert Category.objects.get().name_en == "Teas"  # type: ignore[attr-defined]
