"""The assortment of the demo shop: its texts, its variants, and its pictures, which are drawings of our own."""

import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
import resvg_py

from orders.management.commands import load_demo
from shop.demo.assortment import CATEGORIES, PICTURES, PRODUCTS
from shop.demo.goods import DemoProduct

SVG = "{http://www.w3.org/2000/svg}"
PICTURE_BYTES_MAX = 3_000

each_product = pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.slug)


def test_the_shop_has_enough_to_look_around_in() -> None:
    assert len(PRODUCTS) >= 24
    assert len([category for category in CATEGORIES if category.parent is None]) == 6
    assert any(len(product.pictures) > 1 for product in PRODUCTS)
    assert any(variant.stock == 0 for product in PRODUCTS for variant in product.variants)


def test_nothing_has_the_name_of_another() -> None:
    for names in (
        [product.slug for product in PRODUCTS],
        [product.name for product in PRODUCTS],
        [product.name_zh for product in PRODUCTS],
        [variant.sku for product in PRODUCTS for variant in product.variants],
        [category.slug for category in CATEGORIES],
    ):
        assert not [name for name, count in Counter(names).items() if count > 1]


def test_products_are_in_the_lowest_categories_of_a_tree_of_two_levels() -> None:
    tops = {category.slug for category in CATEGORIES if category.parent is None}
    below = {category.slug: category.parent for category in CATEGORIES if category.parent is not None}
    assert set(below.values()) == tops
    assert {product.category for product in PRODUCTS} == set(below)


def test_the_products_of_the_demo_sales_keep_their_names_and_prices() -> None:
    here = {product.slug: product for product in PRODUCTS}
    for item in (*load_demo.OPENING_ITEMS, *load_demo.TOMORROW_ITEMS):
        assert item.price_minor < here[item.slug].variants[0].price_minor


@each_product
def test_a_product_is_described_in_both_languages(product: DemoProduct) -> None:
    chinese = re.compile(r"[一-鿿]")
    assert not chinese.search(product.name + product.description + product.option_names)
    assert chinese.search(product.name_zh)
    assert 2 <= product.description.count(". ") + 1 <= 5
    assert product.description.endswith(".")
    assert 1 <= product.description_zh.count("。") <= 5
    assert product.description_zh.endswith("。")
    for picture in product.pictures:
        assert not chinese.search(picture.alt)
        assert chinese.search(picture.alt_zh)


@each_product
def test_each_choice_of_a_product_is_a_variant_and_the_first_is_the_cheapest(product: DemoProduct) -> None:
    choices: list[list[str]] = [[]]
    for option in product.options:
        choices = [[*chosen, value.name] for chosen in choices for value in option.values]
    assert [list(variant.values) for variant in product.variants] == choices
    assert product.variants[0].price_minor == min(variant.price_minor for variant in product.variants)
    for variant in product.variants:
        assert variant.price_minor > 0
        assert variant.weight_grams > 0
        assert product.values_en(variant).count(" / ") == product.values_zh(variant).count(" / ")
    assert len({product.values_zh(variant) for variant in product.variants}) == len(product.variants)


def test_each_picture_is_of_a_product() -> None:
    named = [picture.file for product in PRODUCTS for picture in product.pictures]
    assert sorted(named) == sorted(path.relative_to(PICTURES).as_posix() for path in PICTURES.rglob("*.svg"))


@pytest.mark.parametrize("path", sorted(PICTURES.rglob("*.svg")), ids=lambda path: path.stem)
def test_a_picture_is_a_small_drawing_of_shapes_alone(path: Path) -> None:
    text = path.read_text()
    assert len(text.encode()) < PICTURE_BYTES_MAX
    root = ElementTree.fromstring(text)
    assert root.get("viewBox") == "0 0 1200 1200"
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {"svg", "g", "path", "circle", "ellipse"}
    assert "href" not in text
    assert bytes(resvg_py.svg_to_bytes(svg_string=text, width=60, height=60)).startswith(b"\x89PNG")
