"""The assortment of the demo shop: its texts, its variants, and its pictures, which are drawings of our own."""

import itertools
import re
from xml.etree import ElementTree

import resvg_py

from orders.management.commands import load_demo
from shop.demo.assortment import PICTURES, PRODUCTS, VARIANTS
from shop.demo.drawings import pictures_of

SVG = "{http://www.w3.org/2000/svg}"
PICTURE_BYTES_MAX = 3_000

Row = dict[str, str]


def variants_of(product: Row) -> list[Row]:
    return [variant for variant in VARIANTS if variant["product"] == product["slug"]]


def test_the_products_of_the_demo_sales_keep_their_names_and_prices() -> None:
    here = {product["slug"]: product for product in PRODUCTS}
    for item in (*load_demo.OPENING_ITEMS, *load_demo.TOMORROW_ITEMS):
        assert item.price_minor < price_minor(variants_of(here[item.slug])[0])


def price_minor(variant: Row) -> int:
    return int(variant["price"].replace(".", ""))


def test_a_product_is_described_in_both_languages() -> None:
    chinese = re.compile(r"[一-鿿]")
    for product in PRODUCTS:
        slug = product["slug"]
        english = product["name_en"] + product["description_en"] + product["option_names_en"]
        assert not chinese.search(english), slug
        assert chinese.search(product["name_zh_hans"]), slug
        for language, stop in (("en", "."), ("zh_hans", "。")):
            description = product[f"description_{language}"]
            assert description.endswith(stop), slug
            assert 1 <= description.count(stop) <= 5, slug
        assert pictures_of(product), slug
        for picture in pictures_of(product):
            assert not chinese.search(product[f"{picture}_en"]), slug
            assert chinese.search(product[f"{picture}_zh_hans"]), slug


def test_each_choice_of_a_product_is_a_variant_and_the_first_is_the_cheapest() -> None:
    for product in PRODUCTS:
        slug, variants = product["slug"], variants_of(product)
        for language in ("en", "zh_hans"):
            names = [name for name in product[f"option_names_{language}"].split(" / ") if name]
            chosen = [tuple(value for value in row[f"options_{language}"].split(" / ") if value) for row in variants]
            assert {len(values) for values in chosen} == {len(names)}, slug
            # In the order of the choices, each with each.
            each = itertools.product(*(dict.fromkeys(values) for values in zip(*chosen, strict=True)))
            assert chosen == [*each], slug
        assert 0 < price_minor(variants[0]) == min(price_minor(variant) for variant in variants), slug
        assert [variant["position"] for variant in variants] == [str(number) for number in range(len(variants))], slug
        assert all(int(variant["weight_grams"]) > 0 for variant in variants), slug


def test_each_picture_is_of_a_product() -> None:
    named = [product[picture] for product in PRODUCTS for picture in pictures_of(product)]
    assert sorted(named) == sorted(path.relative_to(PICTURES).as_posix() for path in PICTURES.rglob("*.svg"))


def test_a_picture_is_a_small_drawing_of_shapes_alone() -> None:
    for path in PICTURES.rglob("*.svg"):
        text = path.read_text()
        assert len(text.encode()) < PICTURE_BYTES_MAX, path
        root = ElementTree.fromstring(text)
        assert root.get("viewBox") == "0 0 1200 1200", path
        shapes = {element.tag.removeprefix(SVG) for element in root.iter()}
        assert shapes <= {"svg", "g", "path", "circle", "ellipse"}, path
        assert "href" not in text, path
        assert bytes(resvg_py.svg_to_bytes(svg_string=text, width=60, height=60)).startswith(b"\x89PNG"), path
