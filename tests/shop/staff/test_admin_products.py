"""Staff keep the catalogue: prices are decimals, options fit, pictures are added, and no rule is broken in silence."""

from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from shop.models import Category, Product, StockChange, Variant
from tests.steps.product_page import PRODUCTS, filled_page, new_row, saved_page
from tests.steps.shop import make_product, png, statements, statements_for, variant_of
from tests.steps.staff import admin_page, employee, errors_of_rows, messages_on

pytestmark = pytest.mark.usefixtures("_manager_signed_in")


def test_a_product_is_stored_with_its_price_in_minor_units_and_its_first_stock_in_the_journal(
    client: Client, shop_manager: User
) -> None:
    page = filled_page(new_row(price_minor="50.5", first_units=3))
    assert client.post(f"{PRODUCTS}add/", page).status_code == 302
    variant, entry = Variant.objects.get(), StockChange.objects.get()
    assert (variant.product.name, variant.price_minor, variant.available) == ("Oolong tea", 5050, 3)
    assert (entry.kind, entry.units, entry.made_by) == ("changed", 3, shop_manager)


def make_categories(**parent_of: Category | None) -> list[Category]:
    return [Category.objects.create(name=name, slug=name, parent=parent) for name, parent in parent_of.items()]


def test_a_category_moves_with_those_below_it_within_three_levels(client: Client, db: None) -> None:
    top, other = make_categories(top=None, other=None)
    (middle,) = make_categories(middle=top)
    (low,) = make_categories(low=middle)

    def refusal_of_move(category: Category, parent: Category | None) -> list[str]:
        form = {"name_en": category.name, "slug": category.slug, "position": 0, "parent": parent.pk if parent else ""}
        answer = client.post(admin_page(category), form)
        return [] if answer.status_code == 302 else answer.context["adminform"].form.errors["parent"]

    assert refusal_of_move(top, other) == ["Categories have at most 3 levels."]
    assert refusal_of_move(top, low) == ["A category cannot contain itself."]
    assert refusal_of_move(other, low) == ["Categories have at most 3 levels."]
    assert [refusal_of_move(middle, other), refusal_of_move(middle, None), refusal_of_move(middle, top)] == [[], [], []]
    assert refusal_of_move(low, other) == []
    assert refusal_of_move(top, other) == []


def test_pages_show_prices_categories_and_a_tab_for_each_language(client: Client, product: Product) -> None:
    assert "99.00 CNY" in client.get(PRODUCTS).content.decode()
    Variant.objects.create(product=product, sku="LARGE", price_minor=12900)
    assert "99.00 CNY – 129.00 CNY" in client.get(PRODUCTS).content.decode()
    green = Category.objects.create(name="Green tea", slug="green", parent=product.category)
    page = client.get(admin_page(product)).content.decode()
    assert 'value="99.00"' in page
    assert f'<option value="{green.pk}">Tea / Green tea</option>' in page
    assert 'name="name_zh_hans"' in page
    for code, name in django_settings.LANGUAGES:
        assert name in page, code


def test_a_currency_without_decimals_has_none(client: Client, product: Product, settings: Settings) -> None:
    settings.CURRENCY = "JPY"
    assert "9900 JPY" in client.get(PRODUCTS).content.decode()
    response = client.post(f"{PRODUCTS}add/", filled_page(new_row(price_minor="50.5")))
    assert errors_of_rows(response) == [{"price_minor": ["A price in JPY has no decimals."]}]


def test_a_price_that_is_none_is_refused_at_its_field(client: Client, db: None) -> None:
    sentences = {
        "": "This field is required.",
        "0": "The price must be above zero.",
        "-1": "The price must be above zero.",
        "1.999": "A price in CNY has at most 2 decimals.",
        "free": "Enter a number.",
        "Infinity": "Enter a number.",
        "9999999999999": "Ensure that there are no more than 12 digits in total.",
        "1e-9": "A price in CNY has at most 2 decimals.",
    }
    rows = [new_row(price_minor=price) for price in sentences]
    errors = errors_of_rows(client.post(f"{PRODUCTS}add/", filled_page(*rows)))
    assert dict(zip(sentences, errors, strict=True)) == {
        price: {"price_minor": [sentence]} for price, sentence in sentences.items()
    }
    assert not Product.objects.exists()


def test_staff_who_may_only_look_see_the_price_and_the_stock_as_text(client: Client, product: Product) -> None:
    client.force_login(employee("view_product"))
    page = client.get(admin_page(product)).content.decode()
    assert "99.00 CNY" in page
    assert "9900" not in page
    assert "new_pictures" not in page
    assert client.post(admin_page(product), saved_page(product)).status_code == 403


def test_a_right_to_change_products_is_one_to_change_their_variants_and_not_their_stock(
    client: Client, product: Product
) -> None:
    Variant.objects.update(available=7, held=2, sold=5)
    client.force_login(employee("view_product", "change_product"))
    assert client.post(admin_page(product), saved_page(product, price_minor="88.00")).status_code == 302
    variant = variant_of(product)
    assert (variant.price_minor, variant.available, variant.held, variant.sold) == (8800, 7, 2, 5)


def test_products_are_found_by_either_name_when_an_item_is_added(client: Client, product: Product) -> None:
    query = {"app_label": "seckill", "model_name": "saleitem", "field_name": "variant", "term": "龙\0井"}
    found = client.get("/admin/autocomplete/", query).json()["results"]
    assert [result["text"] for result in found] == ["Longjing tea"]


class TestOptions:
    """A variant has as many values as its product has options, and no two variants have the same."""

    def test_those_that_do_not_fit_are_refused_at_their_field(self, client: Client, db: None) -> None:
        two = "This product has 2 options. Enter a value for each, with “/” between them."
        none = "This product has no options. Name them in the field “options” first, or leave this empty."
        again = "Another variant has the same options."
        for english, chinese, rows, errors in (
            ("Size / Colour", "", [{"options_en": "M"}], [{"options_en": [two]}]),
            ("Size", "", [{}], [{"options_en": ["This product has 1 option. Enter one value."]}]),
            ("", "", [{"options_en": "M"}], [{"options_en": [none]}]),
            ("Size", "", [{"options_en": "M"}, {"options_en": "m"}], [{}, {"options_en": [again]}]),
            # Another language may be left out, but not half filled.
            ("A / B", "甲 / 乙", [{"options_en": "M / R", "options_zh_hans": "中号"}], [{"options_zh_hans": [two]}]),
        ):
            names: dict[str, Any] = {"option_names_en": english, "option_names_zh_hans": chinese}
            page = filled_page(*(new_row(**row) for row in rows), **names)
            assert errors_of_rows(client.post(f"{PRODUCTS}add/", page)) == errors
        whole = filled_page(new_row(options_en="M / R"), option_names_en="A / B", option_names_zh_hans="甲 / 乙")
        assert client.post(f"{PRODUCTS}add/", whole).status_code == 302

    def test_a_form_that_is_sent_twice_adds_its_variant_once(self, client: Client, product: Product) -> None:
        Product.objects.update(option_names_en="Size")
        Variant.objects.update(options_en="S")
        page = saved_page(product, options_en="S") | {"option_names_en": "Size", "variants-TOTAL_FORMS": 2}
        page |= {f"variants-1-{field}": value for field, value in new_row(options_en="m").items()}
        assert client.post(admin_page(product), page).status_code == 302
        again = client.post(admin_page(product), page)
        assert "Another variant has the same options." in again.content.decode()
        assert sorted(product.variants.values_list("options_en", flat=True)) == ["S", "m"]

    def test_an_sku_is_made_from_the_slug_and_the_options(self, client: Client, db: None) -> None:
        make_product(slug="other", price_minor=100, name="Other")
        Variant.objects.update(sku="OOLONG-M-RED")
        rows = [new_row(options_en="M / Red", sku=""), new_row(options_en="L / Red", sku="")]
        client.post(f"{PRODUCTS}add/", filled_page(*rows, option_names_en="Size / Colour"))
        skus = Variant.objects.filter(product__slug="oolong").values_list("sku", flat=True)
        assert sorted(skus) == ["OOLONG-L-RED", "OOLONG-M-RED-2"]


def test_a_product_that_is_shown_but_cannot_be_bought_is_saved_with_a_warning(client: Client, product: Product) -> None:
    response = client.post(admin_page(product), saved_page(product, is_active=""))
    warning = "“Longjing tea” is shown in the shop, but no variant of it can be bought."
    assert warning in messages_on(response)


def test_a_variant_of_which_checkouts_hold_units_is_not_deleted(client: Client, product: Product) -> None:
    Variant.objects.update(held=2)
    response = client.post(admin_page(product), saved_page(product, DELETE="on"))
    sentence = "Checkouts hold units of SKU-longjing, “Longjing tea”, so it cannot be deleted now."
    assert sentence in response.content.decode()
    assert Variant.objects.exists()


def test_several_pictures_are_added_in_their_order_after_those_that_are_there(
    client: Client, product: Product, tmp_path: Any, settings: Settings
) -> None:
    settings.MEDIA_ROOT = str(tmp_path)
    for sizes in (((40, 30), (30, 40)), ((20, 30),)):
        files = [SimpleUploadedFile("picture.png", png(size=size), "image/png") for size in sizes]
        assert client.post(admin_page(product), saved_page(product) | {"new_pictures": files}).status_code == 302
    pictures = product.pictures.order_by("position")
    assert [picture.image.width for picture in pictures] == [40, 30, 20]
    # The list shows the first one.
    assert pictures[0].small.url in client.get(PRODUCTS).content.decode()


def test_no_page_makes_more_queries_where_there_are_more_products(client: Client, product: Product) -> None:
    filters = f"stock=low&sale=no&is_active__exact=1&category={product.category_id}"
    pages = [f"{PRODUCTS}?q=tea", f"{PRODUCTS}?{filters}&o=4.5", admin_page(product)]
    pages.append("/admin/autocomplete/?app_label=seckill&model_name=saleitem&field_name=variant&term=tea")

    def add_products(*numbers: int) -> None:
        for number in numbers:
            slug = f"tea-{number}"
            make_product(slug=slug, name=f"Tea {number}", price_minor=100, units=0, category=product.category)
            Variant.objects.create(product=product, sku=f"V{number}", price_minor=100)

    add_products(1, 2)
    few = {page: statements_for(client, page) for page in pages}
    add_products(3, 4, 5, 6)
    assert {page: statements(client, page) for page in pages} == few
    assert client.get(pages[1]).context["cl"].result_count == 7
