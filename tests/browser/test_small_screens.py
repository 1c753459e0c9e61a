"""A phone: what is asked for first comes first, and nothing is cut off."""

from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from orders.cart.cart_holder import Holder
from orders.models import OrderStatus, ShippingAddress
from seckill.models import SaleItem
from shop.models import Address
from tests.browser.conftest import sign_in, width_of
from tests.browser.screen import PHONE, opened
from tests.steps.buying import ADDRESS, fill, make_orders
from tests.steps.shop import goods

COLOURS_OF_INVOICE = """[...document.querySelectorAll(".invoice, .invoice *")].map((part) => {
    const { color, backgroundColor } = getComputedStyle(part);
    return `${part.tagName} ${color} on ${backgroundColor}`;
})"""


def top_of(page: Page, selector: str) -> float:
    box = page.locator(selector).first.bounding_box()
    assert box is not None, selector
    return box["y"]


def test_filters_open_above_the_products_and_sorting_needs_no_button(
    live_shop: str, browser: Browser, item: SaleItem
) -> None:
    with opened(browser, width=PHONE) as page:
        page.goto(f"{live_shop}/products/")
        expect(page.locator("#filters")).to_be_hidden()
        expect(page.get_by_role("button", name="Sort")).to_be_hidden()
        page.click(".to-filters")
        expect(page.locator("#filters")).to_be_visible()
        assert top_of(page, "#filters") < top_of(page, ".grid-cards")
        page.click(".to-results")
        expect(page.locator("#filters")).to_be_hidden()
        page.click(".to-filters")
        page.get_by_label("Price from").fill("50")
        page.get_by_role("button", name="Apply").click()
        page.wait_for_url("**min_price=50**")
        page.select_option("#id_sort", "price")
        page.wait_for_url("**sort=price**")
        page.goto(f"{live_shop}/search/?q={'a' * 100}")
        assert width_of(page) == PHONE


def test_what_is_asked_for_is_on_the_first_screen_and_nothing_is_cut_off(
    live_shop: str, browser: Browser, buyer: User, item: SaleItem
) -> None:
    (order,) = make_orders(1, buyer=buyer, item=item, status=OrderStatus.PAID)
    with opened(browser, width=PHONE) as page:
        sign_in(page.context, buyer)
        page.goto(f"{live_shop}/sales/{item.sale_id}/")
        expect(page.locator("[data-buy]")).to_be_in_viewport(ratio=1)
        name = page.locator(".brand span").bounding_box()
        assert name is not None
        assert name["width"] > 40
        # The menu of the account shows which page is open.
        page.goto(f"{live_shop}/accounts/data/")
        expect(page.locator(".account-nav [aria-current]")).to_be_in_viewport(ratio=0.9)
        # An invoice shows all its figures.
        page.goto(f"{live_shop}/orders/{order.number}/invoice/")
        cut = page.locator(".table-scroll").evaluate("box => box.scrollWidth - box.clientWidth")
        assert cut <= 0
        assert len(page.get_by_role("cell").all()) == 5
        # On paper it is dark on white, whatever the screen is.
        page.emulate_media(media="print", color_scheme="light")
        in_light = page.evaluate(COLOURS_OF_INVOICE)
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate(COLOURS_OF_INVOICE) == in_light


def test_a_name_without_a_space_makes_no_page_wider_than_the_phone(
    live_shop: str, browser: Browser, buyer: User, shop_manager: User, item: SaleItem
) -> None:
    (order,) = make_orders(1, buyer=buyer, item=item, status=OrderStatus.PAID)
    address = ADDRESS | {"name": "Maximilian" * 10}
    ShippingAddress.objects.create(order=order, **address)
    Address.objects.create(user=buyer, **address)
    goods("cup")
    fill(Holder(buyer_id=buyer.pk), cup=1)
    of_order = f"/orders/{order.number}/"
    for user, paths in (
        (buyer, ("/accounts/", "/accounts/addresses/", "/checkout/", of_order, f"{of_order}invoice/")),
        (shop_manager, (f"/admin/shop/customer/{buyer.pk}/change/",)),
    ):
        with opened(browser, width=PHONE) as page:
            sign_in(page.context, user)
            for path in paths:
                page.goto(live_shop + path)
                assert "MaximilianMaximilian" in page.content()
                assert width_of(page) == PHONE, path
