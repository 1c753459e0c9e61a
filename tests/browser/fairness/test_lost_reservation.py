"""A reservation that the shop has lost: the page brings the receipt. That of a buyer who was signed out is not lost."""

import json

from django.conf import settings
from django.contrib.auth.models import User
from playwright.sync_api import Page, Route, expect

from orders.models import Order
from seckill.models import SaleItem
from seckill.passes import receipts
from tests.browser.conftest import sign_in

STATUS = "**/api/v1/reservations/*/"
RECEIPTS = "**/api/v1/receipts/"
TWO_DAYS_FAST = 'Object.defineProperty(performance, "timeOrigin", { value: performance.timeOrigin + 172_800_000 });'


def not_found(route: Route) -> None:
    route.fulfill(status=404, content_type="application/problem+json", body='{"code": "not_found"}')


def kept_receipts(page: Page) -> list[str]:
    names: list[str] = page.evaluate("Object.keys(localStorage).filter((name) => name.startsWith('receipt:'))")
    return names


def test_the_page_brings_the_receipt_of_a_lost_reservation(
    live_shop: str, page: Page, buyer: User, item: SaleItem
) -> None:
    # Given a shop that does not know the reservation when it is first asked
    asked: list[str] = []

    def lost_at_first(route: Route) -> None:
        asked.append(route.request.url)
        not_found(route) if len(asked) == 1 else route.continue_()

    page.route(STATUS, lost_at_first)
    sign_in(page.context, buyer)
    page.goto(f"{live_shop}/sales/{item.sale_id}/")

    # When the buyer reserves
    with page.expect_request(RECEIPTS) as brought:
        page.click("[data-buy]")

    # Then the page brings the receipt, goes on to the order, and needs the receipt no more
    told = receipts.read(json.loads(brought.value.post_data or "")["receipt"])
    page.wait_for_url("**/orders/*/")
    assert (told.buyer_id, told.reservation_id) == (buyer.pk, Order.objects.get().reservation_id)
    assert kept_receipts(page) == []
    page.unroute(STATUS)


def test_a_page_that_is_opened_later_brings_what_was_kept(
    live_shop: str, page: Page, buyer: User, item: SaleItem
) -> None:
    # Given a reservation that is lost for good
    refusal = {"code": "reservation_lost", "title": "Lost", "detail": "Its units have gone."}
    page.route(STATUS, not_found)
    page.route(
        RECEIPTS,
        lambda route: route.fulfill(status=409, content_type="application/problem+json", body=json.dumps(refusal)),
    )
    sign_in(page.context, buyer)
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    page.click("[data-buy]")
    expect(page.locator("[data-outcome]")).to_contain_text("Its units have gone.")
    assert len(kept_receipts(page)) == 1
    page.unroute(STATUS)
    page.unroute(RECEIPTS)

    # When the buyer opens the page in another tab, then it finds the order, also with a clock that is two days fast
    other = page.context.new_page()
    other.add_init_script(TWO_DAYS_FAST)
    other.route("**/live/", lambda route: route.abort())
    with other.expect_response(STATUS):
        other.goto(f"{live_shop}/sales/{item.sale_id}/")
    expect(other.locator("[data-outcome]")).to_contain_text("Your order is ready")
    assert kept_receipts(other) == []


def test_a_buyer_who_was_signed_out_after_reserving_is_led_to_sign_in_and_has_the_order(
    live_shop: str, page: Page, buyer: User, item: SaleItem
) -> None:
    # Given a session that ends before the call with the pass, which needs none
    def signed_out_meanwhile(route: Route) -> None:
        page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
        route.continue_()

    page.route("**/reservations/", signed_out_meanwhile)
    sign_in(page.context, buyer)
    page.goto(f"{live_shop}/sales/{item.sale_id}/")

    # When the buyer reserves, then the page says that the units are held, and for how long
    page.click("[data-buy]")
    outcome = page.locator("[data-outcome]")
    expect(outcome).to_contain_text("You are signed out. Sign in to pay.")
    expect(outcome).to_contain_text("Reserved for you: 1 × Longjing tea")
    assert len(kept_receipts(page)) == 1

    # And after signing in it finds the order
    sign_in(page.context, buyer)
    page.get_by_role("link", name="Sign in to pay").click()
    expect(outcome).to_contain_text("Your order is ready")
    assert kept_receipts(page) == []
    page.unroute("**/reservations/")
