"""The admin's pages in a browser: axe finds nothing serious, nothing is wider than the screen, no script fails."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Browser, Page

from orders.models import Mail
from orders.preflight.finding import stop
from seckill.live import answer_counts
from seckill.models import SaleItem
from seckill.outcomes import Outcome
from tests.browser.conftest import console_errors_of, sign_in, width_of
from tests.browser.screen import CONTRAST, DESKTOP, HEIGHT, PHONE, opened, serious_faults, wait_until_quiet, width_on
from tests.steps.buying import make_orders, with_address
from tests.steps.shop import make_item, make_product
from tests.steps.staff import was_checked, was_rehearsed

PAGES = (
    *("/admin/", "/admin/shop/", "/admin/orders/order/", "/admin/orders/mail/", "/admin/shop/customer/"),
    *("/admin/orders/order/{order}/change/", "/admin/orders/order/{order}/refund/now/"),
    *("/admin/orders/order/{order}/ship/now/", "/admin/shop/customer/{buyer}/change/"),
    *("/admin/orders/mail/{mail}/change/", "/admin/orders/mail/{mail}/again/"),
    "/admin/seckill/sale/{sale}/board/",
    *("/admin/seckill/sale/{sale}/preflight/", "/admin/seckill/sale/{sale}/rehearsal/"),
    "/admin/seckill/sale/{sale}/report/",
    *("/admin/seckill/sale/{draft}/publish/", "/admin/seckill/sale/{sale}/change/"),
    *("/admin/seckill/sale/{draft}/change/", "/admin/shop/product/{product}/change/"),
    *("/admin/seckill/sale/{sale}/control/add_units/{item}/", "/admin/seckill/sale/{sale}/control/end_now/"),
)

# Whether a chart has pixels that are not empty.
DRAWN = """canvas => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean)"""
# The name of what is open, where it does not stand whole over the page.
CUT_NAME = """() => [...document.querySelectorAll("#header-inner h1 > :is(a, span)")]
    .filter((name) => !name.matches(".before-the-name, .text-subtle")).slice(-1)
    .filter((name) => name.scrollWidth > name.clientWidth).map((name) => name.innerText)"""


@pytest.fixture
def paths(item: SaleItem, buyer: User) -> list[str]:
    with_address(buyer)
    order, _other = make_orders(2, buyer=buyer, item=item)
    mail = Mail.objects.create(order=order, kind=Mail.Kind.PAID, sent_at=timezone.now(), next_attempt_at=None)
    draft = make_item(make_product(slug="cup", name="Cup", price_minor=99_900), published=False)
    opened_s = int(item.sale.opens_at.timestamp())
    answer_counts.add_to_sums({(item.pk, word): 9 for word in (Outcome.RESERVED, Outcome.SOLD_OUT)}, second=opened_s)
    was_rehearsed(item)
    was_checked(draft.sale, stop("The sale is paused.", "Resume it."))
    rows = {"order": order, "mail": mail, "buyer": buyer, "draft": draft.sale, "sale": item.sale, "item": item}
    rows["product"] = item.product
    return [path.format(**{name: row.pk for name, row in rows.items()}) for path in PAGES]


def pages_of(page: Page, shop: str, paths: list[str]) -> Iterator[str]:
    for path in paths:
        answer = page.goto(shop + path)
        assert answer is not None
        assert answer.status == 200, path
        if path.endswith("/report/"):
            page.wait_for_function(f"[...document.querySelectorAll('canvas')].filter({DRAWN}).length === 2")
        yield path
    page.goto(f"{shop}/admin/orders/order/")
    for box in page.locator("[name=_selected_action]").all():
        box.evaluate("box => box.click()")
    page.select_option("select[name=action]", "ship_orders", force=True)
    page.locator("#changelist-form").evaluate("form => form.submit()")
    page.wait_for_selector("[name=confirmed]", state="attached")
    yield "many orders that are marked as shipped"
    assert page.goto(f"{shop}/admin/orders/order/add/")
    yield "what the account may not do (403)"


def test_a_name_of_one_word_without_end_pushes_no_column_away(
    live_shop: str, browser: Browser, shop_manager: User, buyer: User
) -> None:
    User.objects.filter(pk=buyer.pk).update(username="x" * 150)
    with opened(browser) as page:
        sign_in(page.context, shop_manager)
        page.goto(f"{live_shop}/admin/shop/customer/")
        for screen in (DESKTOP, PHONE):
            page.set_viewport_size({"width": screen, "height": HEIGHT})
            name = page.locator("#result_list tbody .field-username")
            assert name.evaluate("cell => cell.scrollWidth <= cell.clientWidth && cell.offsetWidth <= 400"), screen


def test_the_keyboard_opens_the_sidebar_and_the_menu_of_the_account(
    live_shop: str, browser: Browser, shop_manager: User
) -> None:
    with opened(browser) as page:
        sign_in(page.context, shop_manager)
        for screen, name, shown in ((PHONE, "All pages", "Stock journal"), (DESKTOP, str(shop_manager), "Log out")):
            page.set_viewport_size({"width": screen, "height": HEIGHT})
            page.goto(f"{live_shop}/admin/orders/order/")
            for _stop in range(40):
                page.keyboard.press("Tab")
                if name in page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.innerText"):
                    break
            assert not page.get_by_text(shown).first.is_visible()
            page.keyboard.press("Enter")
            page.get_by_text(shown).first.wait_for()


# As where somebody's machine is dark when the page is opened.
DARK = "document.documentElement.classList.add('dark')"


# In English, which is the wider language.
def test_the_pages_of_staff_are_for_everybody_and_fit(
    live_shop: str, browser: Browser, shop_manager: User, paths: list[str]
) -> None:
    faults: dict[str, list[str]] = {}
    with opened(browser) as page:
        sign_in(page.context, shop_manager)
        errors = console_errors_of(page)
        for name in pages_of(page, live_shop, paths):
            wait_until_quiet(page)
            found = serious_faults(page)
            for screen in (DESKTOP, PHONE):
                wide = width_on(page, screen)
                found += [f"{wide} px wide on {screen}"] if wide > screen else []
                found += [f"{cut} is cut on {screen}" for cut in page.evaluate(CUT_NAME)]
            page.emulate_media(color_scheme="dark")
            page.evaluate(DARK)
            found += [f"dark: {faint}" for faint in serious_faults(page, CONTRAST)]
            page.emulate_media(color_scheme="light")
            page.set_viewport_size({"width": DESKTOP, "height": HEIGHT})
            if found:
                faults[name] = found
        # On the pages on which rights are given, axe finds fault with Django's own lists.
        for path in ("/admin/auth/group/add/", f"/admin/auth/user/{shop_manager.pk}/change/"):
            page.goto(live_shop + path)
            page.wait_for_selector(".selector-chosen")
            assert width_of(page) <= DESKTOP, path
    assert not faults
    assert [error for error in errors if "403" not in error] == []
