"""A waiting room in a browser: two tabs, one place, a call and a purchase; and the same without JavaScript."""

import pytest
from django.contrib.auth.models import User
from django.utils.crypto import get_random_string
from playwright.sync_api import Page, Request, Route, expect

from shop.models import Product
from tests.browser.conftest import NewPage, sign_in, width_of
from tests.browser.screen import HeldAnswers
from tests.steps.guarding import guarded_by
from tests.steps.shop import make_item, other_item

# The opening, the question that comes after it at a moment by chance, and the next sweep, on a busy machine.
CALLED_MS = 60_000


def test_pages_wait_for_their_places_and_go_on_when_they_are_called_with_javascript_and_without(
    live_shop: str, new_page: NewPage, buyer: User, rival: User, product: Product
) -> None:
    waiting = make_item(product, quantity=2, opens_in_seconds=15, has_room=True)
    # Given a buyer with the sale on a phone, in two tabs
    phone = new_page(buyer, viewport={"width": 360, "height": 740})
    tabs = phone, phone.context.new_page()
    for tab in tabs:
        tab.goto(f"{live_shop}/sales/{waiting.sale_id}/")
    # And a rival without JavaScript, whose page reloads itself
    page = new_page(rival, java_script_enabled=False)
    page.goto(f"{live_shop}/zh-hans/sales/{waiting.sale_id}/")
    page.click("text=进入等候室")
    page.click("text=开始排队")
    expect(page.locator(".room-headline")).to_have_text("您已在等候室")
    for tab in tabs:
        expect(tab.locator("[data-room-headline]")).to_have_text("You are in the waiting room", timeout=CALLED_MS)
        expect(tab.locator("[data-buy]")).to_have_text("Not your turn yet")
        expect(tab.locator("[data-buy]")).to_be_disabled()
    assert width_of(phone) <= 360
    # When the sale has opened and the places are called
    for tab in tabs:
        expect(tab.locator("[data-room-headline]")).to_have_text("It is your turn", timeout=CALLED_MS)
    expect(page.locator(".room-headline")).to_have_text("轮到您了", timeout=CALLED_MS)
    # Then both reserve as in any other sale
    phone.click("[data-buy]")
    expect(phone.locator("[data-outcome]")).to_contain_text("Reserved for you: 1 × Longjing tea")
    page.click("text=抢购 龙井茶")
    page.click("[data-buy]")
    # By way of the reservation's page, unless the worker was quicker.
    page.wait_for_url("**/orders/**")


def test_a_place_is_asked_for_again_and_a_proof_computed_before_it_is_given(
    live_shop: str, page: Page, buyer: User, product: Product
) -> None:
    item = guarded_by(make_item(product, opens_in_seconds=300, has_room=True), proof_of_work=True)
    sign_in(page.context, buyer)
    # The challenge comes when the sentence has been read: a proof takes a part of a second at times.
    challenges: list[Route] = []
    page.route("**/challenges/", lambda route: challenges.append(route))
    page.route("**/queue/", lambda route: route.abort(), times=1)
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    no_place_yet = "You have no place yet. This page goes on asking for one."
    expect(page.locator("[data-room-lines]")).to_have_text(no_place_yet, timeout=CALLED_MS)
    headline = page.locator("[data-room-headline]")
    expect(headline).to_have_text("Your browser computes for some seconds. Then you get your place.", timeout=CALLED_MS)
    challenges.pop().continue_()
    expect(headline).to_have_text("You are in the waiting room", timeout=CALLED_MS)


def test_a_buyer_who_gets_a_new_place_by_keyboard_goes_on_where_the_page_says_it(
    live_shop: str, page: Page, buyer: User, product: Product
) -> None:
    item = make_item(product, opens_in_seconds=300, has_room=True)
    sign_in(page.context, buyer)

    places: list[Route] = []

    def lapse_the_first(route: Route) -> None:
        answer = route.fetch()
        # A room that is just opening refuses at first.
        places.extend([route] if answer.ok else [])
        lapsed = {"state": "lapsed"} if places == [route] else {}
        route.fulfill(response=answer, json={**answer.json(), **lapsed})

    page.route("**/queue/", lapse_the_first)
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    again = page.get_by_role("button", name="Get a new place")
    expect(again).to_be_visible(timeout=CALLED_MS)
    again.press("Enter")
    headline = page.locator("[data-room-headline]")
    expect(headline).to_have_text("You are in the waiting room", timeout=CALLED_MS)
    expect(headline).to_be_focused()


HIDE = """hidden => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_a_token_that_changes_while_a_call_is_under_way_costs_no_place_and_a_page_that_is_shown_again_asks_at_once(
    live_shop: str, page: Page, buyer: User, product: Product
) -> None:
    item = make_item(product, opens_in_seconds=300, has_room=True)
    early = other_item(opens_in_seconds=1800, has_room=True)
    sign_in(page.context, buyer)
    # Before the room opens, the page says when it does.
    page.goto(f"{live_shop}/sales/{early.sale_id}/")
    headline = page.locator("[data-room-headline]")
    expect(headline).to_have_text("The waiting room is not open yet")
    expect(page.locator("[data-room-lines]")).to_contain_text("It opens at")
    answers: list[int] = []
    calls_of_me: list[Request] = []
    page.on("response", lambda answer: answers.append(answer.status) if answer.url.endswith("/queue/") else None)
    page.on("request", lambda call: calls_of_me.append(call) if "/api/v1/me/" in call.url else None)

    def exchange_the_token(route: Route) -> None:
        page.context.add_cookies([{"name": "csrftoken", "value": get_random_string(32), "url": live_shop}])
        route.continue_()

    page.route("**/queue/", exchange_the_token, times=1)
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    expect(headline).to_have_text("You are in the waiting room", timeout=CALLED_MS)
    # On a busy machine there may be a 503 between them.
    assert answers[0] == 403
    assert 201 in answers
    # One call brought the first token and what is the buyer's.
    assert len(calls_of_me) == 1
    # And otherwise it asks ten seconds after its last question.
    page.evaluate(HIDE, True)
    with page.expect_request("**/queue/", timeout=5_000):
        page.evaluate(HIDE, False)


@pytest.mark.parametrize("hours_fast", [-1, 1])
def test_a_page_on_a_wrong_clock_goes_by_the_shop_s_as_soon_as_it_hears_it(
    live_shop: str, page: Page, buyer: User, product: Product, hours_fast: int
) -> None:
    # Given an open room for a clock that is slow, and one that opens later for one that is fast
    item = make_item(product, opens_in_seconds=1800 if hours_fast > 0 else 300, has_room=True)
    sign_in(page.context, buyer)
    wrong = f"performance.timeOrigin + {hours_fast * 3_600_000}"
    page.add_init_script(f'Object.defineProperty(performance, "timeOrigin", {{ value: {wrong} }});')
    # When the page begins by it, since the shop takes its time to answer
    answers = HeldAnswers(page, "**/live/")
    page.goto(f"{live_shop}/sales/{item.sale_id}/")
    headline = page.locator("[data-room-headline]")
    expect(headline).to_have_text("The waiting room is not open yet")
    # Then it takes its place once the shop has answered
    if hours_fast < 0:
        answers.give()
        expect(headline).to_have_text("You are in the waiting room", timeout=CALLED_MS / 2)
