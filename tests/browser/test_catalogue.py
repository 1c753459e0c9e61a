"""The catalogue in a browser: choosing a variant and sorting; on a phone, by keyboard."""

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from seckill.models import SaleChange, SaleItem
from shop.models import Product, Variant
from tests.browser.conftest import focus_by_tab
from tests.steps.shop import make_product, variant_of
from tests.steps.staff import change

PHONE: ViewportSize = {"width": 360, "height": 740}


@pytest.fixture
def shirt(product: Product) -> Product:
    """A shirt in three sizes, one of them sold out, beside the tea of other tests."""
    shirt = make_product(slug="shirt", name="Linen shirt", option_names="Size", price_minor=29900)
    small = variant_of(shirt)
    small.options = "S"
    small.save()
    Variant.objects.create(product=shirt, sku="SHIRT-M", options="M", price_minor=29900, position=1, available=3)
    Variant.objects.create(product=shirt, sku="SHIRT-L", options="L", price_minor=31900, position=2)
    return shirt


def test_price_and_stock_follow_the_choice_and_nothing_moves(live_shop: str, page: Page, shirt: Product) -> None:
    page.set_viewport_size(PHONE)
    page.goto(f"{live_shop}/products/shirt/")
    price, stock = page.locator("[data-chosen-price]"), page.locator("[data-chosen-stock]")
    button = page.locator("[data-add]")
    expect(price).to_have_text("CN¥299.00")
    expect(stock).to_have_text("In stock")
    top = "button => button.getBoundingClientRect().top + scrollY"
    where = button.evaluate(top)
    # By keyboard, as one of a group of radio buttons.
    page.locator("[name=sku]").first.focus()
    page.keyboard.press("ArrowRight")
    expect(price).to_have_text("CN¥299.00")
    expect(stock).to_have_text("Only 3 left")
    page.keyboard.press("ArrowRight")
    expect(price).to_have_text("CN¥319.00")
    expect(stock).to_have_text("Sold out")
    expect(button).to_be_disabled()
    assert button.evaluate(top) == where
    page.keyboard.press("ArrowRight")
    expect(button).to_be_enabled()
    expect(price).to_have_text("CN¥299.00")


def test_a_link_to_a_sale_keeps_the_keyboard_when_the_page_of_a_product_shows_that_it_goes_on(
    live_shop: str, page: Page, item: SaleItem
) -> None:
    change(item, SaleChange.Kind.PAUSE)
    page.goto(f"{live_shop}{item.product.get_absolute_url()}")
    focus_by_tab(page, "Go to the flash sale")
    # The first answer breaks within its body; the page asks again.
    page.evaluate(
        """() => {
            const real = Response.prototype.text;
            Response.prototype.text = () => { Response.prototype.text = real; return Promise.reject(new TypeError()); };
        }"""
    )
    change(item, SaleChange.Kind.RESUME)
    expect(page.get_by_role("link", name="Buy in the flash sale")).to_be_focused(timeout=40_000)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/sales/{item.sale_id}/**")


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
    former = chosen
    choice.focus()
    page.keyboard.press("ArrowUp")
    chosen = choice.input_value()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**sort={chosen}**")
    # After Back, the choice is the order of the list that is shown.
    page.go_back()
    page.wait_for_url(f"**sort={former}**")
    expect(choice).to_have_value(former)
