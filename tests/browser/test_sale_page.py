"""What the sale page shows a buyer who waits, reloads, opens a second tab, or buys more than once."""

import re
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
from tests.browser.order_to_pay import start_payment
from tests.browser.screen import HeldAnswers
from tests.processes import wait_until
from tests.steps.drawing import make_draw
from tests.steps.shop import make_item, make_product, other_item, variant_of
from tests.steps.staff import change

MY_ORDERS = re.compile(r"/orders/$")
# A room that has just opened, and its next sweep, on a busy machine.
CALLED_MS = 60_000
IN_THE_ROOM = re.compile("You are in the waiting room|It is your turn")


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


def test_a_second_tab_shows_what_was_reserved_in_the_first_and_believes_no_older_answer(
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
    # And when the limit is reached there, then no button promises more
    second.click("[data-buy]")
    second.wait_for_url("**/orders/*/")
    open_sale(second, live_shop, item)
    expect(limit).to_have_text("You have reached the limit of 3 per buyer.")
    third = page.context.new_page()
    open_sale(third, live_shop, item)
    expect(third.locator("[data-buy]")).to_have_text("Limit reached")
    expect(third.locator("[data-buy]")).to_have_attribute("aria-disabled", "true")


def test_an_open_page_offers_more_units_once_staff_have_raised_a_limit_of_one(
    live_shop: str, page: Page, buyer: User, product: Product
) -> None:
    item = make_item(product)
    sign_in(page.context, buyer)
    open_sale(page, live_shop, item)
    expect(page.get_by_label("Units")).to_be_hidden()
    change(item, SaleChange.Kind.UNITS_PER_BUYER, units=3)
    expect(page.get_by_label("Units")).to_be_visible(timeout=10_000)
    page.select_option("[name=units]", "3")


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


def test_a_press_before_the_first_answer_about_the_sale_counts(
    live_shop: str, page: Page, buyer: User, item: SaleItem
) -> None:
    sign_in(page.context, buyer)
    with page.expect_request("**/live/"):
        page.route("**/live/", lambda route: None)
        open_sale(page, live_shop, item)
    page.click("[data-buy]")
    page.wait_for_url("**/orders/*/")


def test_open_pages_show_the_note_of_a_pause_and_sell_again_when_the_end_of_an_ended_sale_is_moved(
    live_shop: str, page: Page, buyer: User, item: SaleItem
) -> None:
    # Given a page in either language, and one of a sale whose waiting room does not let the buyer in
    sign_in(page.context, buyer)
    with_room = other_item("oolong", has_room=True)
    in_room, chinese = page.context.new_page(), page.context.new_page()
    in_room.route("**/passes/", lambda route: route.abort())
    open_sale(in_room, live_shop, with_room)
    headline = in_room.locator("[data-room-headline]")
    expect(headline).to_have_text(IN_THE_ROOM, timeout=CALLED_MS)
    open_sale(page, live_shop, item)
    open_sale(chinese, f"{live_shop}/zh-hans", item)
    # When the sale is paused, then its note is there until the pause ends
    change(item, SaleChange.Kind.PAUSE, public_note={"en": "Back at 10:15", "zh-hans": "10:15 恢复"})
    notes = [tab.locator("[data-pause-note]") for tab in (page, chinese)]
    for note, words in zip(notes, ("Back at 10:15", "10:15 恢复"), strict=True):
        expect(note).to_have_text(words, timeout=10_000)
        expect(note).to_be_in_viewport()
    change(item, SaleChange.Kind.RESUME)
    for note in notes:
        expect(note).to_be_hidden(timeout=10_000)
    # When both sales have been ended, also before one more page is opened
    for ended in (item, with_room):
        change(ended, SaleChange.Kind.END_NOW)
    expect(page.locator("[data-buy]")).to_have_text("The sale is over", timeout=10_000)
    opened_later = page.context.new_page()
    open_sale(opened_later, live_shop, item)
    expect(opened_later.locator(".over")).to_have_text("This sale is over")
    expect(headline).to_have_text("The sale is over", timeout=CALLED_MS)
    # And their ends are moved, then all pages have the button again, and the time until then, or are in the room again
    for ended in (item, with_room):
        change(ended, SaleChange.Kind.MOVE_END, closes_at=timezone.now() + timedelta(days=2, minutes=5))
    for tab in (page, opened_later):
        expect(tab.locator("[data-buy]")).to_have_text("Reserve now", timeout=30_000)
        expect(tab.locator("[data-phase-text]")).to_have_text("Open, closes in")
        expect(tab.locator("[data-countdown]").first).to_contain_text("2 days 00:0")
    expect(headline).to_have_text(IN_THE_ROOM, timeout=CALLED_MS)


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
    expect(page.locator("[data-buy]")).to_be_focused()
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
    live_shop: str, page: Page, buyer: User, product: Product
) -> None:
    # Given a buyer who has one unit and waits for its order
    item = make_item(product, quantity=2, per_buyer_max=2)
    status = "**/api/v1/reservations/*/"
    page.route(status, partial(Route.fulfill, json={"status": "reserved", "poll_after_ms": 100}))
    sign_in(page.context, buyer)
    open_sale(page, live_shop, item)
    page.click("[data-buy]")
    expect(page.locator("[data-buy]")).to_have_text("Reserve more")
    # When the buyer asks for more, then the page says why there is none, and still what is held
    page.route("**/sale-items/*/reservations/", partial(Route.fulfill, status=409, json={"code": "held_by_others"}))
    page.click("[data-buy]")
    outcome = page.locator("[data-outcome]")
    expect(outcome).to_contain_text("All remaining units are reserved")
    expect(outcome).to_contain_text("Held for you until")
    # And goes to the order when that is there
    page.unroute(status)
    page.wait_for_url("**/orders/*/")


def test_after_a_reload_an_order_that_went_on_is_not_said_to_be_held(
    live_shop: str, page: Page, buyer: User, product: Product
) -> None:
    item = make_item(product, per_buyer_max=2)
    sign_in(page.context, buyer)
    open_sale(page, live_shop, item)
    page.click("[data-buy]")
    page.wait_for_url("**/orders/*/")
    outcome = page.locator("[data-outcome]")
    Order.objects.update(status=OrderStatus.SHIPPED, ended_at=timezone.now(), settled_at=timezone.now())
    open_sale(page, live_shop, item)
    expect(outcome).to_contain_text("Paid. Thank you!")
    expect(outcome).not_to_contain_text("Held for you")
    # An order that ended leaves the page as it was before, also where Back shows a page that the browser has kept.
    Order.objects.update(status=OrderStatus.REFUND_DUE)
    with page.expect_response("**/api/v1/reservations/*/"):
        page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    expect(page.locator("[data-buy]")).to_have_text("Reserve now")
    expect(outcome).to_be_empty()


def test_without_javascript_the_page_leads_through_the_sale(
    live_shop: str, new_page: NewPage, buyer: User, product: Product
) -> None:
    page = new_page(buyer, java_script_enabled=False, viewport={"width": 360, "height": 740})
    open_sale(page, live_shop, make_item(product, per_buyer_max=3))
    expect(page.get_by_role("link", name="Sign in to buy")).to_be_hidden()
    page.select_option("[name=units]", "2")
    page.click("[data-buy]")
    # A page for everybody can have no token: its button leads to one that can.
    page.wait_for_url("**/reserve/**")
    assert width_of(page) == 360
    page.click("[data-buy]")
    page.wait_for_url("**/orders/*/")
    assert Order.objects.get().lines.get().units == 2
    # When they have paid, then the page of the order says by itself that it is paid
    start_payment(page)
    page.click("button[value=pay]")
    page.wait_for_url("**/orders/*/?payment=returned")
    expect(page.locator(".order-state")).to_contain_text("This page updates automatically")
    expect(page.locator(".status")).to_have_text("paid", timeout=30_000)


def test_an_open_page_of_a_draw_says_by_itself_that_it_is_paused_and_that_the_entries_have_closed(
    live_shop: str, page: Page, product: Product
) -> None:
    # Given an open page, and a pause, which does not keep the draw from its opening
    item = make_draw(product, opens_in_seconds=12)
    open_sale(page, live_shop, item)
    phase = page.locator("[data-phase-text]")
    expect(phase).to_have_text("Entries close in")
    change(item, SaleChange.Kind.PAUSE)
    expect(phase).to_have_text("Paused, closes in", timeout=10_000)
    # When it is opened anew meanwhile, then it goes on saying it
    open_sale(page, live_shop, item)
    for _ in range(2):
        with page.expect_response("**/live/"):
            pass
    expect(phase).to_have_text("Paused, closes in")
    expect(page.get_by_role("link", name="My entry in the draw")).to_be_visible(timeout=40_000)
    expect(page.get_by_text("The units were drawn among all entries.")).to_be_visible()
