"""The live board of a sale in a real browser: it follows buyers, and says what it does not know."""

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from seckill.changes.journal import make_change
from seckill.models import SaleChange, SaleItem
from shop.models import Product
from tests.browser.conftest import focus_by_tab, sign_in, width_of
from tests.browser.screen import PHONE, opened, serious_faults
from tests.live_shop import live_web
from tests.processes import wait_until
from tests.steps.buying import new_buyers
from tests.steps.caller import Caller
from tests.steps.cast import PassFor
from tests.steps.drawing import entered, make_draw, opening_passes
from tests.steps.frozen_servers import VARIABLES, frozen, through, ways_to_servers
from tests.steps.shop import make_item
from tests.steps.waiting_room import joined

pytestmark = pytest.mark.django_db(transaction=True)

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


@pytest.mark.parametrize(
    ("scheme", "locale", "title"), [("light", "en-GB", "Live board"), ("dark", "zh-CN", "实时看板")]
)
def test_it_is_for_a_phone_and_for_everybody(
    live_shop: str, browser: Browser, shop_manager: User, on_sale: SaleItem, scheme: str, locale: str, title: str
) -> None:
    with opened(browser, width=PHONE, scheme="dark" if scheme == "dark" else "light", locale=locale) as page:
        sign_in(page.context, shop_manager)
        open_board(page, live_shop, on_sale)
        assert title in page.title()
        assert width_of(page) == PHONE
        assert serious_faults(page) == []


def test_it_goes_on_while_a_server_is_frozen(
    page: Page, shop_manager: User, on_sale: SaleItem, pass_for: PassFor
) -> None:
    sign_in(page.context, shop_manager)
    with ways_to_servers() as proxy, live_web(**through(proxy, *VARIABLES)) as shop:
        open_board(page, shop, on_sale)
        clock, away = page.locator("[data-clock]"), page.locator("[data-away]")
        for name in VARIABLES:
            with frozen(proxy, name):
                said = page.locator(f"[data-away={name}]")
                expect(said).to_contain_text("does not answer", timeout=PATIENCE_MS)
                # What is known stays, and the clock goes on.
                expect(page.locator("[data-sum=left]")).to_have_text("3")
                expect(page.locator("[data-sum=orders]")).to_have_text("0")
                before = clock.inner_text()
                expect(clock).not_to_have_text(before, timeout=PATIENCE_MS)
                expect(page.locator("[data-problem]")).to_be_empty()
            for line in away.all():
                expect(line).to_be_empty(timeout=PATIENCE_MS)
        # And it follows the sale again
        buyer_pass = pass_for(shop_manager, on_sale)
        # As a buyer does who is told to try again: on a busy machine the store's server has just come back.
        wait_until(lambda: Caller(shop, on_sale).reserve(buyer_pass)[0] == 201, seconds_max=PATIENCE_MS / 1000)
        expect(page.locator("[data-sum=left]")).to_have_text("2", timeout=PATIENCE_MS)


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


def test_it_shows_who_waits_in_a_room(
    live_shop: str, page: Page, shop_manager: User, product: Product, buyer: User
) -> None:
    sign_in(page.context, shop_manager)
    room = make_item(product, opens_in_seconds=300, has_room=True)
    page.goto(f"{live_shop}/admin/seckill/sale/{room.sale_id}/board/")
    expect(page.locator("[data-more=room_state]")).to_have_text("moving", timeout=PATIENCE_MS)
    joined(room, buyer)
    expect(page.locator("[data-more=room_waiting]")).to_have_text("1", timeout=PATIENCE_MS)
    expect(page.locator("[data-problem]")).to_be_empty()
