"""The catalogue in a browser: choosing a variant, filters, search; on a phone, by keyboard, without scripts."""

import re

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from seckill.models import SaleChange, SaleItem
from shop.models import Category, Product, Variant
from tests.browser.conftest import NewPage, focus_by_tab
from tests.steps.buying import ADDRESS
from tests.steps.shop import make_item, make_product, variant_of
from tests.steps.staff import change

PHONE: ViewportSize = {"width": 360, "height": 740}


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


def test_a_buyer_finds_a_product_and_chooses_a_variant(live_shop: str, page: Page, shirt: Product) -> None:
    page.goto(f"{live_shop}/")
    page.get_by_role("searchbox", name="Search products").fill("linnen shirt")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Results for “linnen shirt”")).to_be_visible()
    expect(page.get_by_text("These come close")).to_be_visible()
    page.get_by_role("link", name="Linen shirt").click()
    sizes = page.get_by_role("group", name="Size")
    expect(sizes.get_by_role("radio", name=re.compile("^S "))).to_be_checked()
    expect(sizes.get_by_text("Only 3 left")).to_be_visible()
    sizes.get_by_role("radio", name=re.compile("^M ")).check()
    expect(sizes.get_by_role("radio", name=re.compile("^M "))).to_be_checked()
    page.get_by_role("navigation", name="Breadcrumbs").get_by_role("link", name="Tops").click()
    expect(page.get_by_role("heading", name="Tops", level=1)).to_be_visible()


@pytest.mark.parametrize(
    ("language", "prices", "stocks"),
    [
        ("", ("CN¥299.00", "CN¥319.00"), ("In stock", "Only 3 left", "Sold out")),
        ("/zh-hans", ("¥299.00", "¥319.00"), ("有货", "仅剩 3 件", "已售罄")),
    ],
)
def test_price_and_stock_follow_the_choice_and_nothing_moves(
    live_shop: str, page: Page, shirt: Product, language: str, prices: tuple[str, str], stocks: tuple[str, str, str]
) -> None:
    page.set_viewport_size(PHONE)
    page.goto(f"{live_shop}{language}/products/shirt/")
    price, stock = page.locator("[data-chosen-price]"), page.locator("[data-chosen-stock]")
    button = page.locator("[data-add]")
    expect(price).to_have_text(prices[0])
    expect(stock).to_have_text(stocks[0])
    top = "button => button.getBoundingClientRect().top + scrollY"
    where = button.evaluate(top)
    # By keyboard, as one of a group of radio buttons.
    page.locator("[name=sku]").first.focus()
    page.keyboard.press("ArrowRight")
    expect(price).to_have_text(prices[0])
    expect(stock).to_have_text(stocks[1])
    page.keyboard.press("ArrowRight")
    expect(price).to_have_text(prices[1])
    expect(stock).to_have_text(stocks[2])
    expect(button).to_be_disabled()
    assert button.evaluate(top) == where
    page.keyboard.press("ArrowRight")
    expect(button).to_be_enabled()
    expect(price).to_have_text(prices[0])


def test_a_link_to_a_sale_keeps_the_keyboard_when_the_page_of_a_product_shows_that_it_goes_on(
    live_shop: str, page: Page, item: SaleItem
) -> None:
    change(item, SaleChange.Kind.PAUSE)
    page.goto(f"{live_shop}{item.product.get_absolute_url()}")
    focus_by_tab(page, "Go to the flash sale")
    change(item, SaleChange.Kind.RESUME)
    expect(page.get_by_role("link", name="Buy in the flash sale")).to_be_focused(timeout=40_000)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/sales/{item.sale_id}/**")


def test_the_links_of_a_sale_keep_the_keyboard_when_the_home_page_shows_that_it_opens(
    live_shop: str, page: Page, product: Product
) -> None:
    item = make_item(product, opens_in_seconds=10)
    page.goto(live_shop)
    focus_by_tab(page, "Spring sale")
    expect(page.locator(".hero").get_by_role("link", name="Spring sale")).to_be_focused(timeout=40_000)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/sales/{item.sale_id}/")


def test_without_scripts_each_choice_says_its_price_and_a_guest_orders_it(
    live_shop: str, new_page: NewPage, shirt: Product
) -> None:
    page = new_page(java_script_enabled=False, viewport=PHONE)
    page.goto(f"{live_shop}/products/shirt/")
    expect(page.locator("[data-chosen-price]")).to_have_text("from CN¥299.00")
    expect(page.get_by_role("radio", name="L · CN¥319.00 Sold out")).to_be_disabled()
    page.get_by_role("radio", name="M · CN¥299.00 Only 3 left").check()
    page.get_by_role("button", name="Add to cart").click()
    page.wait_for_url("**/cart/")
    expect(page.locator("main")).to_contain_text("In your cart: Linen shirt")
    page.get_by_role("button", name="To the checkout").click()
    for name, value in {"email": "guest@example.com", **ADDRESS}.items():
        field = page.locator(f"[name={name}]")
        if name != "country":
            field.fill(value)
    page.get_by_role("button", name="Order now").click()
    page.wait_for_url("**/orders/guest/**")
    expect(page.locator(".status")).to_have_text("awaiting payment")
    variant = Variant.objects.get(sku="SHIRT-M")
    assert (variant.available, variant.held) == (2, 1)
    # And it is cancelled again
    page.get_by_role("link", name="Cancel the order").click()
    page.click("main form button")
    expect(page.locator(".status")).to_have_text("cancelled")
    variant.refresh_from_db()
    assert (variant.available, variant.held) == (3, 0)


def test_by_keyboard_a_list_is_sorted_when_the_choice_is_made(live_shop: str, page: Page, shirt: Product) -> None:
    page.goto(f"{live_shop}/products/")
    choice, button = page.get_by_label("Sort by"), page.get_by_role("button", name="Sort")
    expect(button).to_be_hidden()
    choice.focus()
    before = page.url
    for _ in range(2):
        page.keyboard.press("ArrowDown")
        expect(button).to_be_visible()
    expect(choice).to_be_focused()
    assert page.url == before
    chosen = choice.input_value()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**sort={chosen}**")
    # The button does it too.
    choice.focus()
    page.keyboard.press("ArrowUp")
    chosen = choice.input_value()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**sort={chosen}**")
