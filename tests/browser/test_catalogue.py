"""The catalogue in a browser: choosing a variant, filters, search; on a phone, without scripts, for screen readers."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from shop.models import Category, Product, Variant
from tests.conftest import make_item
from tests.live_shop import live_web
from tests.products import make_product, variant_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("static_files")]

PHONE = {"width": 360, "height": 740}
LANGUAGES = ("", "/zh-hans")


@pytest.fixture
def shirt(product: Product) -> Product:
    """A shirt in three sizes, one of them sold out, beside the tea of other tests."""
    tops = Category.objects.create(slug="tops", name="Tops", name_zh_hans="上衣")
    shirt = make_product(
        slug="shirt",
        name="Linen shirt",
        name_zh_hans="亚麻衬衫",
        description="Washed linen.\n\nFor warm days.",
        description_zh_hans="水洗亚麻。",
        option_names="Size",
        option_names_zh_hans="尺码",
        price_minor=29900,
        category=tops,
    )
    small = variant_of(shirt)
    small.options = "S"
    small.save()
    Variant.objects.create(product=shirt, sku="SHIRT-M", options="M", price_minor=29900, position=1, available=3)
    Variant.objects.create(product=shirt, sku="SHIRT-L", options="L", price_minor=31900, position=2)
    return shirt


def serious(page: Page) -> list[str]:
    violations = Axe().run(page).response["violations"]
    return [f"{it['id']}: {it['nodes'][0]['html']}" for it in violations if it["impact"] in ("serious", "critical")]


def is_too_wide(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


def test_a_buyer_finds_a_product_and_chooses_a_variant(page: Page, shirt: Product) -> None:
    with live_web() as url:
        page.goto(f"{url}/")
        page.get_by_role("searchbox", name="Search products").fill("linnen shirt")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Results for “linnen shirt”")).to_be_visible()
        expect(page.get_by_text("These come close")).to_be_visible()
        page.get_by_role("link", name="Linen shirt").click()
        sizes = page.get_by_role("group", name="Size")
        expect(sizes.get_by_role("radio", name=re.compile("^S "))).to_be_checked()
        expect(sizes.get_by_role("radio", name=re.compile("^L "))).to_be_disabled()
        expect(sizes.get_by_text("Only 3 left")).to_be_visible()
        sizes.get_by_role("radio", name=re.compile("^M ")).check()
        expect(sizes.get_by_role("radio", name=re.compile("^M "))).to_be_checked()
        page.get_by_role("navigation", name="Breadcrumbs").get_by_role("link", name="Tops").click()
        expect(page.get_by_role("heading", name="Tops", level=1)).to_be_visible()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_fits_a_phone_and_axe_finds_nothing_serious(page: Page, shirt: Product, language: str) -> None:
    make_item(Product.objects.get(slug="longjing"))
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    with live_web() as url:
        for path in (
            *("/", "/products/", "/products/shirt/", "/products/longjing/", "/categories/tops/"),
            *("/search/", "/search/?q=shirt", "/search/?q=unicorn"),
            *("/products/?min_price=x", "/products/?min_price=9999"),
        ):
            page.goto(f"{url}{language}{path}")
            assert not is_too_wide(page), path
            assert not serious(page), path


def test_without_scripts_lists_are_filtered_and_sorted(browser: Browser, shirt: Product) -> None:
    with live_web() as url:
        page = browser.new_context(java_script_enabled=False, viewport=PHONE).new_page()  # type: ignore[arg-type]
        page.goto(f"{url}/products/")
        page.get_by_label("Price from").fill("100")
        page.get_by_role("button", name="Apply").click()
        expect(page.get_by_role("article")).to_have_count(1)
        expect(page.get_by_role("link", name="Linen shirt")).to_be_visible()
        page.get_by_role("link", name="Clear filters").click()
        page.get_by_label("Sort by").select_option("price")
        page.get_by_role("button", name="Sort").click()
        expect(page.get_by_role("article").first).to_contain_text("Longjing tea")
        page.get_by_role("searchbox").fill("衬衫")
        page.get_by_role("button", name="Search").click()
        expect(page.get_by_role("article")).to_have_count(1)
