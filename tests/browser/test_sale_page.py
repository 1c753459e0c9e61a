"""What the sale page shows a buyer who waits, reloads, opens a second tab, or buys more than once."""

import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from orders.life import lifecycle
from orders.models import Order, OrderLine, OrderStatus
from seckill import ledger
from seckill.changes.journal import make_change
from seckill.models import SaleChange, SaleItem
from seckill.passes import passes
from seckill.publication import publish_sale
from shop.models import Product
from tests.browser.conftest import NewPage, sign_in, width_of
from tests.browser.order_to_pay import open_order, order_to_pay, start_payment
from tests.browser.screen import HeldAnswers
from tests.processes import wait_until
from tests.steps.drawing import make_draw, opening_passes
from tests.steps.shop import make_item, make_product, other_item, variant_of
from tests.steps.staff import change

MY_ORDERS = re.compile(r"/orders/$")

# The visitor's own clock is two minutes ahead.
FAST_CLOCK = """const right = Date.now;
Date.now = () => right() + 120_000;
Object.defineProperty(performance, "timeOrigin", { value: performance.timeOrigin + 120_000 });"""


def open_sale(page: Page, live_shop: str, item: SaleItem) -> None:
    page.goto(f"{live_shop}/sales/{item.sale_id}/")


def hold(item: SaleItem, user: User, *, units: int) -> UUID:
    reservation_id = passes.new_reservation_id(item.pk)
    ledger.reserve(item_id=item.pk, reservation_id=reservation_id, buyer_id=user.pk, units=units)
    return reservation_id


def choices(page: Page) -> list[str]:
    return page.locator("[name=units] option").all_text_contents()


def test_a_refusal_at_the_limit_says_how_many_are_still_possible(
    live_shop: str, new_page: NewPage, buyer: User, product: Product
) -> None:
    # Given a page in Chinese, and one of three units bought elsewhere since it was opened
    item = make_item(product, quantity=9, per_buyer_max=3)
    page = new_page(buyer, viewport={"width": 360, "height": 740})
    with page.expect_response("**/api/v1/me/**"):
        open_sale(page, f"{live_shop}/zh-hans", item)
    assert choices(page) == ["1", "2", "3"]
    hold(item, buyer, units=1)
    # When the buyer asks for three
    page.select_option("[name=units]", "3")
    page.click("[data-buy]")
    # Then message and choice say what is possible, and that is reserved when it is asked for
    words = "每人限购 3 件，您已有 1 件，还可购买 2 件。"
    expect(page.locator("[data-outcome]")).to_contain_text(words)
    expect(page.locator("[data-limit]")).to_have_text(words)
    assert choices(page) == ["1", "2"]
    expect(page.locator("[name=units]")).to_have_value("2")
    assert width_of(page) == 360
    with page.expect_response("**/reservations/") as reserved:
        page.click("[data-buy]")
    assert reserved.value.json()["units"] == 2


def test_a_second_tab_shows_what_was_reserved_in_the_first(
    live_shop: str, page: Page, buyer: User, product: Product
) -> None:
    item = make_item(product, quantity=9, per_buyer_max=3)
    sign_in(page.context, buyer)
    second = page.context.new_page()
    for tab in (page, second):
        open_sale(tab, live_shop, item)
    page.select_option("[name=units]", "2")
    page.click("[data-buy]")
    expect(second.locator("[data-limit]")).to_have_text("You have 2 of at most 3; you can still take 1.")
    assert choices(second) == ["1"]
    # When the limit is reached in the second tab, then no button promises more
    second.click("[data-buy]")
    second.wait_for_url("**/orders/*/")
    open_sale(second, live_shop, item)
    expect(second.locator("[data-limit]")).to_have_text("You have reached the limit of 3 per buyer.")
    third = page.context.new_page()
    open_sale(third, live_shop, item)
    expect(third.locator("[data-buy]")).to_have_text("Limit reached")
    expect(third.locator("[data-buy]")).to_have_attribute("aria-disabled", "true")


def test_a_second_tab_does_not_believe_an_answer_from_before_the_reservation(
    live_shop: str, page: Page, buyer: User, product: Product
) -> None:
    # Given a second tab that has asked what the buyer has, and whose answer takes its time
    item = make_item(product, quantity=9, per_buyer_max=3)
    sign_in(page.context, buyer)
    second = page.context.new_page()
    with page.expect_response("**/api/v1/me/**"):
        open_sale(page, live_shop, item)
    answers = HeldAnswers(second)
    open_sale(second, live_shop, item)
    answers.wait()
    # When two units are reserved in the first tab before it comes
    page.select_option("[name=units]", "2")
    page.click("[data-buy]")
    limit = second.locator("[data-limit]")
    expect(limit).to_have_text("You have 2 of at most 3; you can still take 1.")
    with second.expect_response("**/api/v1/me/**"):
        answers.give()
    # Then the tab goes on showing two, and asks again
    second.wait_for_timeout(300)
    expect(limit).to_have_text("You have 2 of at most 3; you can still take 1.")
    assert choices(second) == ["1"]


def test_a_second_tab_hears_of_a_reservation_by_a_tab_that_did_not_know_what_the_buyer_has(
    live_shop: str, page: Page, buyer: User, product: Product
) -> None:
    # Given a first tab that reserves before it has heard what the buyer has
    item = make_item(product, quantity=9, per_buyer_max=3)
    sign_in(page.context, buyer)
    second = page.context.new_page()
    with second.expect_response("**/api/v1/me/**"):
        open_sale(second, live_shop, item)
    HeldAnswers(page)
    open_sale(page, live_shop, item)
    page.select_option("[name=units]", "2")
    page.click("[data-buy]")
    # Then the second tab shows the units, though the first one never hears it and leaves for the order
    page.wait_for_url("**/orders/*/")
    expect(second.locator("[data-limit]")).to_have_text("You have 2 of at most 3; you can still take 1.")
    assert choices(second) == ["1"]


def test_a_waiting_page_keeps_the_chosen_units_over_a_pause_and_a_reload_and_shows_both_items_that_it_reserved(
    live_shop: str, page: Page, buyer: User, product: Product
) -> None:
    # Given a page that waits for the start with two items: of one with fewer units than chosen at first,
    # of the other with a number that is typed
    item = make_item(product, per_buyer_max=3, opens_in_seconds=15, published=False)
    other = make_product(name="Teapot", slug="teapot", price_minor=9900)
    of_other = SaleItem.objects.create(
        sale=item.sale, variant=variant_of(other), price_minor=1900, quantity=40, per_buyer_max=20
    )
    publish_sale(sale_id=item.sale_id)
    sign_in(page.context, buyer)
    open_sale(page, live_shop, item)
    choice, number = page.locator("select[name=units]"), page.locator("input[name=units]")
    choice.select_option("3")
    number.fill("4")
    for button in page.locator("[data-buy]").all():
        button.click()
    choice.select_option("2")
    # When a number is typed that cannot be reserved, or none, then the page goes on with the one before
    for impossible in ("30", ""):
        number.fill(impossible)
        number.blur()
        expect(number).to_have_value("4")
    # When the sale is paused, and the page is reloaded, then it still waits
    make_change(kind=SaleChange.Kind.PAUSE, sale_id=item.sale_id, reason="a late lorry", made_by=None)
    expect(page.locator("[data-phase-text]")).to_have_text("Paused, closes in")
    waiting = page.get_by_role("button", name="Waiting for the start", disabled=False)
    expect(waiting).to_have_count(2)
    expect(page.get_by_role("link", name="Remind me")).to_be_visible()
    page.reload()
    expect(page.locator("[data-phase-text]")).to_have_text("Paused, closes in")
    expect(waiting).to_have_count(2)
    expect(choice).to_have_value("2")
    for words in ("2 × Longjing tea", "4 × Teapot"):
        expect(page.get_by_text(f"This page will reserve {words}")).to_be_visible()
    # And when another tab has news, and the calls of the start are refused, since it is still paused, whatever is
    # being typed just then
    number.fill("30")
    with page.expect_response("**/api/v1/me/**"):
        page.evaluate(
            "(item) => { const [, buyer] = document.cookie.match(/signed_in=([^;]+)/);"
            " new BroadcastChannel(`sale:${buyer}`).postMessage({ item }); }",
            str(of_other.pk),
        )
    expect(number).to_have_value("30")
    with page.expect_response(f"**/sale-items/{item.pk}/reservations/", timeout=20_000) as refused:
        pass
    assert refused.value.status == 409
    expect(waiting).to_have_count(2)
    expect(page.get_by_role("link", name="Remind me")).to_have_count(0)
    make_change(kind=SaleChange.Kind.RESUME, sale_id=item.sale_id, reason="it is here", made_by=None)
    # When both are reserved, then the buyer comes to a page with both, each with its countdown
    page.wait_for_url(MY_ORDERS, timeout=40_000)
    expect(page.locator("[data-order]")).to_have_count(2, timeout=15_000)
    expect(page.locator("[data-order] .countdown")).to_have_count(2)
    assert sorted(OrderLine.objects.values_list("units", flat=True)) == [2, 4]
    # And the page of one order shows the other
    page.get_by_role("link", name="Teapot").click()
    expect(page.locator(".note")).to_contain_text(re.compile(r"Another order is awaiting payment: \d × Longjing tea"))
    expect(page.locator(".note .countdown")).to_have_text(re.compile(r"1[45]:\d\d"))


def test_a_page_on_a_fast_clock_reserves_at_the_start_after_a_reload_too(
    live_shop: str, page: Page, buyer: User, product: Product
) -> None:
    # Given a visitor whose clock says that the sale has long opened
    item = make_item(product, opens_in_seconds=12)
    sign_in(page.context, buyer)
    page.add_init_script(FAST_CLOCK)
    open_sale(page, live_shop, item)
    page.get_by_role("button", name="Reserve at the start").click()
    waiting = page.get_by_role("button", name="Waiting for the start")
    expect(waiting).to_be_visible()
    # When the page is reloaded, then it still waits, and reserves at the start
    page.reload()
    expect(page.locator("[data-outcome]")).to_contain_text("This page will reserve 1")
    expect(waiting).to_be_visible()
    page.wait_for_url("**/orders/*/", timeout=25_000)


def test_a_press_before_the_first_answer_about_the_sale_counts(
    live_shop: str, page: Page, buyer: User, item: SaleItem
) -> None:
    sign_in(page.context, buyer)
    with page.expect_request("**/live/"):
        page.route("**/live/", lambda route: None)
        open_sale(page, live_shop, item)
    page.click("[data-buy]")
    page.wait_for_url("**/orders/*/")


def test_a_page_that_waits_for_a_paused_sale_hears_that_it_is_over(
    live_shop: str, page: Page, buyer: User, product: Product
) -> None:
    item = make_item(product, opens_in_seconds=4)
    change(item, SaleChange.Kind.PAUSE)
    sign_in(page.context, buyer)
    open_sale(page, live_shop, item)
    page.click("[data-buy]")
    expect(page.get_by_text("This page will reserve 1")).to_be_visible()
    with page.expect_response(f"**/sale-items/{item.pk}/reservations/", timeout=20_000):
        pass
    change(item, SaleChange.Kind.END_NOW)
    expect(page.locator("[data-outcome]")).to_contain_text("The sale is over", timeout=10_000)
    expect(page.locator("[data-buy]")).to_be_disabled()


def test_open_pages_of_a_sale_that_was_ended_sell_again_when_its_end_is_moved(
    live_shop: str, page: Page, buyer: User, item: SaleItem
) -> None:
    # Given a page that saw the end, and one that was opened after it
    sign_in(page.context, buyer)
    open_sale(page, live_shop, item)
    change(item, SaleChange.Kind.END_NOW)
    expect(page.locator("[data-buy]")).to_have_text("The sale is over", timeout=10_000)
    opened_later = page.context.new_page()
    open_sale(opened_later, live_shop, item)
    expect(opened_later.locator(".over")).to_have_text("This sale is over")
    # When the end is moved, then both have the button again, and the time until then
    change(item, SaleChange.Kind.MOVE_END, closes_at=timezone.now() + timedelta(days=2, minutes=5))
    for tab in (page, opened_later):
        expect(tab.locator("[data-buy]")).to_have_text("Reserve now", timeout=30_000)
        expect(tab.locator("[data-phase-text]")).to_have_text("Open, closes in")
        expect(tab.locator("[data-countdown]").first).to_contain_text("2 days 00:0")


def test_a_refusal_does_not_stay_when_units_have_come_back(
    live_shop: str, page: Page, buyer: User, rival: User, product: Product
) -> None:
    # Given a page that says that nothing is left
    item = make_item(product, quantity=2, per_buyer_max=2)
    sign_in(page.context, buyer)
    open_sale(page, live_shop, item)
    reservation_id = hold(item, rival, units=2)
    page.click("[data-buy]")
    outcome = page.locator("[data-outcome]")
    expect(outcome).to_contain_text("All remaining units are reserved")
    # When the units are back
    wait_until(lambda: Order.objects.filter(reservation_id=reservation_id).exists(), seconds_max=20)
    assert lifecycle.cancel(order_id=Order.objects.get(reservation_id=reservation_id).pk)
    # Then the message says so beside the stock
    expect(page.locator("[data-stock-text]")).to_have_text("2 of 2 left", timeout=10_000)
    expect(outcome).to_contain_text("Units are available again")
    expect(outcome).not_to_contain_text("reserved")
    # And goes when they are gone once more
    hold(item, rival, units=2)
    expect(outcome).to_be_empty(timeout=10_000)


def test_a_refusal_of_more_leaves_what_is_held_and_the_page_goes_to_its_order(
    live_shop: str, page: Page, buyer: User, rival: User, product: Product
) -> None:
    # Given a buyer who has one unit and waits for its order, on a page that does not know that a rival has the other
    item = make_item(product, quantity=2, per_buyer_max=2)
    live = page.request.get(f"{live_shop}/api/v1/sales/{item.sale_id}/live/").json()
    page.route("**/live/", partial(Route.fulfill, json={**live, "poll_after_ms": 60_000}))
    status = "**/api/v1/reservations/*/"
    page.route(status, partial(Route.fulfill, json={"status": "reserved", "poll_after_ms": 100}))
    sign_in(page.context, buyer)
    open_sale(page, live_shop, item)
    page.click("[data-buy]")
    expect(page.locator("[data-buy]")).to_have_text("Reserve more")
    hold(item, rival, units=1)
    # When the buyer asks for more, then the page says why there is none, and still what is held
    page.click("[data-buy]")
    outcome = page.locator("[data-outcome]")
    expect(outcome).to_contain_text("All remaining units are reserved")
    expect(outcome).to_contain_text("Held for you until")
    # And goes to the order when that is there
    page.unroute(status)
    page.wait_for_url("**/orders/*/")
    page.unroute("**/live/")


def test_after_a_reload_an_order_that_went_on_is_not_said_to_be_held(
    live_shop: str, page: Page, buyer: User, product: Product
) -> None:
    item = make_item(product, per_buyer_max=2)
    sign_in(page.context, buyer)
    open_sale(page, live_shop, item)
    page.click("[data-buy]")
    page.wait_for_url("**/orders/*/")
    outcome = page.locator("[data-outcome]")

    def reload_when(status: OrderStatus, reload: Callable[[], object]) -> None:
        Order.objects.update(status=status, ended_at=timezone.now(), settled_at=timezone.now())
        with page.expect_response("**/api/v1/reservations/*/"):
            reload()

    for status in (OrderStatus.SHIPPED, OrderStatus.COMPLETED):
        reload_when(status, lambda: open_sale(page, live_shop, item))
        expect(outcome, status).to_contain_text("Paid. Thank you!")
        expect(outcome, status).not_to_contain_text("Held for you")
    # An order that ended leaves the page as it was before, also where Back shows a page that the browser has kept.
    back = "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))"
    reload_when(OrderStatus.REFUND_DUE, lambda: page.evaluate(back))
    expect(page.locator("[data-buy]")).to_have_text("Reserve now")
    expect(outcome).to_be_empty()


def test_without_javascript_the_page_leads_through_the_sale(
    live_shop: str, new_page: NewPage, buyer: User, product: Product
) -> None:
    # Given a browser without JavaScript, long before the opening
    item = make_item(product, opens_in_seconds=3600, closes_in_seconds=7200)
    page = new_page(buyer, java_script_enabled=False, viewport={"width": 360, "height": 740})
    open_sale(page, live_shop, item)
    for _ in range(2):
        expect(page.locator("[data-buy]")).to_have_text("Not open yet")
        page.click("[data-buy]")
    expect(page.locator(".note.error")).to_have_text("Not open yet. The sale has not opened yet.")
    assert width_of(page) == 360
    # When a sale is open and the buyer has paid, then the page of the order says by itself that it is paid
    open_item = other_item(per_buyer_max=3)
    open_sale(page, live_shop, open_item)
    expect(page.get_by_role("link", name="Sign in to buy")).to_be_hidden()
    page.select_option("[name=units]", "2")
    page.click("[data-buy]")
    # A page for everybody can have no token: its button leads to one that can.
    page.wait_for_url("**/reserve/**")
    page.click("[data-buy]")
    page.wait_for_url("**/orders/*/")
    assert Order.objects.get().lines.get().units == 2
    start_payment(page)
    page.click("button[value=pay]")
    page.wait_for_url("**/orders/*/?payment=returned")
    expect(page.locator(".order-state")).to_contain_text("This page updates automatically")
    expect(page.locator(".status")).to_have_text("paid", timeout=30_000)


def test_a_buyer_who_pays_late_sees_what_becomes_of_the_money(
    live_shop: str, page: Page, buyer: User, item: SaleItem
) -> None:
    # Given a buyer who pays slowly, and whose deadline passes while the money is on its way
    sign_in(page.context, buyer)
    open_order(page, live_shop, order_to_pay(item, buyer))
    start_payment(page)
    page.click("button[value=pay_slowly]")
    page.wait_for_url("**/orders/*/?payment=returned")
    Order.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    expect(page.locator(".status")).to_have_text("expired", timeout=20_000)
    expect(page.locator(".order-state")).to_contain_text("we do not know yet whether you paid there")
    expect(page.locator(".order-state")).not_to_contain_text("Nothing was charged")
    # Then the open page says by itself that the order stands
    expect(page.locator(".status")).to_have_text("paid", timeout=40_000)
    assert Order.objects.get().status == OrderStatus.PAID


def test_an_open_page_shows_the_note_of_a_pause_until_it_ends(
    live_shop: str, new_page: NewPage, product: Product
) -> None:
    item = make_item(product)
    page = new_page(viewport={"width": 360, "height": 740})
    page.goto(f"{live_shop}/zh-hans/sales/{item.sale_id}/")
    note = page.locator("[data-pause-note]")
    expect(note).to_be_hidden()
    change(item, SaleChange.Kind.PAUSE, public_note={"en": "Back at 10:15", "zh-hans": "10:15 恢复"})
    expect(note).to_have_text("10:15 恢复")
    expect(note).to_be_in_viewport()
    change(item, SaleChange.Kind.RESUME)
    expect(note).to_be_hidden()


def test_the_page_of_a_draw_says_that_it_is_paused(live_shop: str, page: Page, product: Product) -> None:
    item = make_draw(product)
    opening_passes(item)
    open_sale(page, live_shop, item)
    phase = page.locator("[data-phase-text]")
    expect(phase).to_have_text("Open, closes in")
    change(item, SaleChange.Kind.PAUSE)
    expect(phase).to_have_text("Paused, closes in", timeout=10_000)
    # And a page that is opened meanwhile goes on saying it
    open_sale(page, live_shop, item)
    for _ in range(2):
        with page.expect_response("**/live/"):
            pass
    expect(phase).to_have_text("Paused, closes in")
    expect(page.locator("#announcer")).to_be_empty()


def test_an_open_page_of_a_draw_says_by_itself_that_the_entries_have_closed(
    live_shop: str, page: Page, product: Product
) -> None:
    # Given a sale that is paused, which does not keep the draw from its opening
    item = make_draw(product, opens_in_seconds=8)
    change(item, SaleChange.Kind.PAUSE)
    open_sale(page, live_shop, item)
    expect(page.locator("[data-phase-text]")).to_have_text("Paused, closes in")
    expect(page.get_by_role("link", name="Enter the draw")).to_be_visible()
    expect(page.get_by_role("link", name="My entry in the draw")).to_be_visible(timeout=30_000)
    expect(page.get_by_text("The units were drawn among all entries.")).to_be_visible()
