"""The report of a sale in a real browser: its charts are drawn, and it is for a phone and for everybody."""

from django.contrib.auth.models import User
from playwright.sync_api import Browser, expect

from orders.life import lifecycle
from seckill.guards.pass_guards import Guard
from seckill.live import answer_counts
from seckill.models import SaleItem
from seckill.outcomes import Outcome
from shop.models import Product
from tests.browser.conftest import sign_in, width_of
from tests.browser.order_to_pay import order_to_pay
from tests.browser.screen import PHONE, opened, serious_faults
from tests.steps.shop import make_item
from tests.steps.staff import report_page

# Pixels of a canvas that are not empty.
DRAWN = """canvas => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean)"""


def test_its_charts_are_drawn_on_a_phone_and_a_table_says_the_same(
    live_shop: str, browser: Browser, shop_manager: User, product: Product, buyer: User
) -> None:
    item: SaleItem = make_item(product)
    lifecycle.pay(order_id=order_to_pay(item, buyer).pk)
    second = int(item.sale.opens_at.timestamp())
    told = {Outcome.RESERVED: 1, Outcome.SOLD_OUT: 9, Guard.TOO_MANY_ACCOUNTS: 3}
    answer_counts.add_to_sums({(item.pk, word): count for word, count in told.items()}, second=second)
    with opened(browser, width=PHONE, scheme="dark", locale="zh-CN") as page:
        sign_in(page.context, shop_manager)
        page.goto(live_shop + report_page(item))
        expect(page.locator("canvas")).to_have_count(2)
        page.wait_for_function(f"[...document.querySelectorAll('canvas')].every({DRAWN})")
        tables = page.locator("details")
        for number in range(2):
            tables.nth(number).locator("summary").click()
        expect(tables.nth(1).locator("tbody tr")).to_contain_text("9")
        expect(page.get_by_role("region", name="谁得到了商品")).to_contain_text("不到一天")
        assert width_of(page) == PHONE
        assert serious_faults(page) == []
