"""The first page of the admin and the page of a sale in a real browser: they follow, and keep in sight what must be."""

import re
from functools import partial

from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from seckill.models import SaleItem
from tests.browser.conftest import NewPage, sign_in
from tests.steps.buying import make_orders, reserve
from tests.steps.shop import goods

PATIENCE_MS = 60_000
PARTS = "**/board/home/"
LOOK_AGAIN = "document.dispatchEvent(new Event('visibilitychange'))"
LAST_BAR = "canvas => window.Chart.getChart(canvas)?.data.datasets[0].data.at(-1)"


def test_they_follow_and_keep_the_buttons_in_sight(
    live_shop: str, page: Page, shop_manager: User, buyer: User, item: SaleItem
) -> None:
    # Given the first page, and its table of days that somebody has opened
    sign_in(page.context, shop_manager)
    page.goto(f"{live_shop}/admin/")
    today = page.locator("[data-part=today] dd").first
    canvas = page.locator("[data-chart=orders] canvas")
    expect(today).to_have_text("0")
    page.get_by_text("These days as a table").click()
    # When buyers order
    make_orders(2, buyer=buyer, item=item)
    # Then its figures, its chart and its table follow by themselves, and the table stays open
    expect(today).to_have_text("2", timeout=PATIENCE_MS)
    expect(page.locator("[data-part=days] tbody tr").first).to_contain_text("38.00 CNY")
    assert canvas.evaluate(LAST_BAR) == 2

    # And on the long page of a sale, its name, phase, countdown, pause and end stay in sight
    for number in range(8):
        SaleItem.objects.create(sale=item.sale, variant=goods(f"cup-{number}"), price_minor=100, quantity=1)
    page.get_by_role("link", name="Spring sale").click()
    # Whole, though there are many buttons beside it.
    name = page.locator("h1 > a:last-of-type")
    expect(name).to_have_text("Spring sale")
    assert name.evaluate("link => link.scrollWidth <= link.clientWidth")
    countdown = page.get_by_role("timer")
    before = countdown.inner_text()
    page.locator("#id_listed").scroll_into_view_if_needed()
    expect(page.locator(".sale-item").first).not_to_be_in_viewport()
    for seen in (countdown, *(page.get_by_role("link", name=name) for name in ("Pause the sale", "End now"))):
        expect(seen).to_be_in_viewport()
    expect(countdown).not_to_have_text(before, timeout=PATIENCE_MS)
    # And the bar of an item follows buyers
    reserve(item, buyer)
    expect(page.locator(".sale-item .units-held").first).to_have_attribute("width", "20", timeout=PATIENCE_MS)


def without_sums(route: Route) -> None:
    """The page or its parts while PostgreSQL has not summed up the orders."""
    answer = route.fetch()
    route.fulfill(response=answer, body=re.sub(r'data-value="[^"]+"', 'data-value=""', answer.text()))


def test_charts_come_with_the_first_sums_and_stay_while_there_are_none_or_no_answer(
    live_shop: str, new_page: NewPage, shop_manager: User, buyer: User, item: SaleItem
) -> None:
    make_orders(2, buyer=buyer, item=item)
    page = new_page(shop_manager, timezone_id="Asia/Kolkata")
    # Given the first page of a process that has no sums yet
    page.route("**/admin/", without_sums)
    page.goto(f"{live_shop}/admin/")
    canvases = page.locator("[data-chart] canvas")
    assert canvases.evaluate_all(f"all => all.map({LAST_BAR})") == [None, None]
    # When they come, then the page has its charts
    with page.expect_response(PARTS):
        page.evaluate(LOOK_AGAIN)
    expect(page.locator("[data-chart=orders] canvas[data-value*=labels]")).to_be_attached()
    assert page.locator("[data-chart=orders] canvas").evaluate(LAST_BAR) == 2
    # And when a process answers that has none, then they stay
    page.route(PARTS, without_sums)
    with page.expect_response(PARTS):
        page.evaluate(LOOK_AGAIN)
    page.wait_for_timeout(300)
    assert page.locator("[data-chart=orders] canvas").evaluate(LAST_BAR) == 2
    problem = page.locator("[data-problem]")
    expect(problem).to_be_empty()
    # And an outage is told in the shop's time
    page.unroute(PARTS)
    page.route(PARTS, partial(Route.fulfill, status=502))
    page.evaluate(LOOK_AGAIN)
    expect(problem).to_contain_text("The shop does not answer.")
    hour, minute = map(int, re.findall(r"at (\d\d):(\d\d):\d\d", problem.inner_text())[0])
    now = timezone.localtime()
    assert (now.hour * 60 + now.minute - hour * 60 - minute) % (24 * 60) < 5
    assert page.locator("[data-chart=orders] canvas").evaluate(LAST_BAR) == 2
