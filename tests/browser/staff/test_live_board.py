"""The live board of a sale in a real browser: it follows buyers, and says what it does not know."""

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, Route, expect

from seckill.changes.journal import make_change
from seckill.models import SaleChange, SaleItem
from shop.models import Product
from tests.browser.conftest import focus_by_tab, sign_in
from tests.browser.screen import serious_faults
from tests.steps.buying import new_buyers
from tests.steps.caller import Caller
from tests.steps.cast import PassFor
from tests.steps.drawing import entered, make_draw, opening_passes
from tests.steps.shop import make_item
from tests.steps.waiting_room import joined

PATIENCE_MS = 30_000


@pytest.fixture
def on_sale(product: Product) -> SaleItem:
    return make_item(product, quantity=3)


def open_board(page: Page, shop: str, item: SaleItem) -> None:
    """With its first figures."""
    page.goto(f"{shop}/admin/seckill/sale/{item.sale_id}/board/")
    expect(page.locator("[data-sum=left]")).to_have_text("3", timeout=PATIENCE_MS)
    expect(page.locator("[data-sum=orders]")).to_have_text("0", timeout=PATIENCE_MS)


def test_it_follows_buyers_and_changes(
    live_shop: str, page: Page, shop_manager: User, on_sale: SaleItem, pass_for: PassFor
) -> None:
    # Given a board, and five buyers who ask for three units
    sign_in(page.context, shop_manager)
    open_board(page, live_shop, on_sale)
    caller = Caller(live_shop, on_sale)
    expect(page.locator("[data-countdown]")).to_have_text(re.compile(r"^(1:00:00|5\d:\d\d)$"), timeout=PATIENCE_MS)
    assert [caller.reserve(pass_for(buyer, on_sale))[0] for buyer in new_buyers(5)] == [201] * 3 + [409] * 2
    # Then figures, table and chart show it
    expect(page.locator("[data-sum=left]")).to_have_text("0", timeout=PATIENCE_MS)
    expect(page.locator("[data-word=reserved] [data-figure=minute]")).to_have_text("3", timeout=PATIENCE_MS)
    expect(page.locator("[data-word=held_by_others] [data-figure=total]")).to_have_text("2", timeout=PATIENCE_MS)
    expect(page.locator(f'[data-item="{on_sale.pk}"] [data-figure=asked]')).to_have_text("5", timeout=PATIENCE_MS)
    for group in ("yes", "none_left"):
        expect(page.locator(f"path[data-group={group}]")).to_have_attribute("d", re.compile("^M"), timeout=PATIENCE_MS)
    expect(page.locator("[data-sum=orders]")).to_have_text("3", timeout=PATIENCE_MS)
    # And when somebody pauses the sale, phase, buttons and journal do
    make_change(kind=SaleChange.Kind.PAUSE, sale_id=on_sale.sale_id, reason="wrong price", made_by=None)
    expect(page.locator("[data-live-part=phase]")).to_have_text("paused", timeout=PATIENCE_MS)
    expect(page.locator("#journal-heading + ol")).to_contain_text("wrong price")
    # Each change is a link, for a keyboard too, to the page with its preview
    focus_by_tab(page, "Resume the sale")
    page.keyboard.press("Enter")
    expect(page.locator("[data-preview=resume]")).to_be_attached(timeout=PATIENCE_MS)


def test_it_shows_how_far_a_draw_is(live_shop: str, page: Page, shop_manager: User, product: Product) -> None:
    sign_in(page.context, shop_manager)
    draw = make_draw(product, quantity=2)
    entered(draw, 3)
    page.goto(f"{live_shop}/admin/seckill/sale/{draw.sale_id}/board/")
    expect(page.locator("[data-more=draw_entries]")).to_have_text("3", timeout=PATIENCE_MS)
    expect(page.locator("[aria-current=step]")).to_have_text("Takes entries")
    opening_passes(draw)
    expect(page.locator("[aria-current=step]")).to_have_text("Drawn", timeout=PATIENCE_MS)
    expect(page.locator("[data-more=draw_won]")).to_have_text("2", timeout=PATIENCE_MS)
    expect(page.locator("[data-more=draw_asked]")).to_have_text("2", timeout=PATIENCE_MS)
    expect(page.locator("[data-problem]")).to_be_empty()
    assert serious_faults(page) == []


def test_it_shows_who_waits_in_a_room_and_goes_on_while_a_server_does_not_answer(
    live_shop: str, page: Page, shop_manager: User, product: Product, buyer: User
) -> None:
    sign_in(page.context, shop_manager)
    room = make_item(product, opens_in_seconds=300, has_room=True)
    page.goto(f"{live_shop}/admin/seckill/sale/{room.sale_id}/board/")
    expect(page.locator("[data-more=room_state]")).to_have_text("moving", timeout=PATIENCE_MS)
    joined(room, buyer)
    waiting = page.locator("[data-more=room_waiting]")
    expect(waiting).to_have_text("1", timeout=PATIENCE_MS)
    expect(page.locator("[data-problem]")).to_be_empty()

    # When the figures come without the database
    def without_the_database(route: Route) -> None:
        answer = route.fetch()
        figures = answer.json()
        figures["sources"]["database"]["up"] = False
        route.fulfill(response=answer, json=figures)

    figures, said = "**/board/*/", page.locator("[data-away=database]")
    page.route(figures, without_the_database)
    # Then the board says so, what is known stays, and the clock goes on
    expect(said).to_contain_text("does not answer", timeout=PATIENCE_MS)
    clock = page.locator("[data-clock]")
    before = clock.inner_text()
    expect(clock).not_to_have_text(before, timeout=PATIENCE_MS)
    expect(waiting).to_have_text("1")
    expect(page.locator("[data-problem]")).to_be_empty()
    page.unroute(figures)
    expect(said).to_be_empty(timeout=PATIENCE_MS)
