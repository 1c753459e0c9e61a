"""Staff change a running sale in a real browser: the preview follows what is typed and what buyers do meanwhile."""

from uuid import uuid4

from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from seckill import ledger
from seckill.changes.journal import make_change
from seckill.models import Sale, SaleChange, SaleItem
from shop.models import Product
from tests.browser.conftest import sign_in
from tests.steps.shop import make_item


def reserve(item: SaleItem, buyer: User, *, units: int) -> None:
    ledger.reserve(item_id=item.pk, reservation_id=uuid4(), buyer_id=buyer.pk, units=units)


def figures_of_preview(page: Page) -> str:
    return " ".join(page.locator("[data-preview] dl").inner_text().split())


def test_the_preview_follows_typing_and_buyers_and_the_change_holds(
    live_shop: str, page: Page, shop_manager: User, buyer: User, rival: User, product: Product
) -> None:
    # Given a running sale of which two units are held, and its page
    item = make_item(product, quantity=10, per_buyer_max=5)
    reserve(item, buyer, units=2)
    sign_in(page.context, shop_manager)
    page.goto(f"{live_shop}/admin/seckill/sale/{item.sale_id}/change/")

    # When the manager presses “Withdraw units” and types
    page.get_by_role("link", name="Withdraw units").click()
    expect(page.locator("#id_units")).to_be_focused()
    page.keyboard.type("9")
    expect(page.locator("[data-warning]")).to_have_text("Only 8 left: this change would be refused.")
    page.keyboard.press("Backspace")
    page.keyboard.type("3")
    assert figures_of_preview(page) == "sold 0 held 2 left 8 → 5 quantity 10 → 7"
    expect(page.locator("[data-warning]")).to_be_empty()

    # Then what buyers do meanwhile moves the preview too
    reserve(item, rival, units=4)
    expect(page.locator("[data-after=left]")).to_have_text("→ 1", timeout=10_000)
    assert figures_of_preview(page) == "sold 0 held 6 left 4 → 1 quantity 10 → 7"

    # And the change holds, with its reason in the journal
    page.get_by_label("Reason").fill("three were damaged")
    page.get_by_role("button", name="Withdraw units").click()
    expect(page.get_by_text("3 units were withdrawn from “Longjing tea”. Sold 0, held 6, left 1.")).to_be_visible()
    expect(page.locator("#journal-heading + ol")).to_contain_text("three were damaged")
    item.refresh_from_db()
    assert item.quantity == 7

    # And the previews of a new end and of a new limit follow too
    control = f"{live_shop}/admin/seckill/sale/{item.sale_id}/control"
    page.goto(f"{control}/move_end/")
    expect(page.locator("[data-after=value]")).to_be_empty()
    page.locator("#id_closes_at").fill("2031-01-02T03:04:00")
    expect(page.locator("[data-after=value]")).to_have_text("→ 2031-01-02 03:04:00")
    expect(page.locator("[data-warning]")).to_be_empty()
    page.locator("#id_closes_at").fill("2020-01-02T03:04:00")
    expect(page.locator("[data-warning]")).to_contain_text("This time has passed: this change would be refused.")
    page.goto(f"{control}/units_per_buyer/{item.pk}/")
    page.locator("#id_units").fill("4")
    expect(page.locator("[data-after=value]")).to_have_text("→ 4")


def test_the_page_of_a_sale_follows_its_phase_and_offers_what_can_be_done_now(
    live_shop: str, page: Page, shop_manager: User, product: Product
) -> None:
    # Given the page of a sale before its opening, and a name that somebody is typing
    item = make_item(product, opens_in_seconds=3600, closes_in_seconds=7200)
    sign_in(page.context, shop_manager)
    page.goto(f"{live_shop}/admin/seckill/sale/{item.sale_id}/change/")
    phase, end_now = page.locator("[data-live-part=phase]"), page.get_by_role("link", name="End now")
    expect(phase).to_have_text("upcoming")
    expect(end_now).to_have_count(0)
    page.locator("#id_name_en").fill("Another name")
    # When the sale opens, and somebody else pauses it
    Sale.objects.update(opens_at=timezone.now())
    # Then phase and buttons follow, and what was typed stays
    expect(phase).to_have_text("open", timeout=10_000)
    expect(end_now).to_have_count(1)
    make_change(kind=SaleChange.Kind.PAUSE, sale_id=item.sale_id, reason="wrong price", made_by=None)
    expect(page.get_by_role("link", name="Resume the sale")).to_have_count(1, timeout=10_000)
    expect(phase).to_have_text("paused")
    expect(page.locator("#journal-heading + ol")).to_contain_text("wrong price")
    expect(page.locator("#id_name_en")).to_have_value("Another name")
    # And so does the list of live figures
    page.goto(f"{live_shop}/admin/seckill/saleitem/")
    row = page.locator("#result_list tbody tr")
    expect(row).to_contain_text("paused")
    make_change(kind=SaleChange.Kind.END_NOW, sale_id=item.sale_id, reason="because", made_by=None)
    expect(row).to_contain_text("ended", timeout=10_000)
    # Whose rows cannot be chosen, so that no label stands before the name on a phone
    assert row.locator("td").first.evaluate("name => getComputedStyle(name, '::before').content") == "none"
    # And says so where the shop takes the call and does not answer
    page.route("**/figures/**", lambda route: None)
    expect(page.locator("[data-live-figures]")).to_contain_text("These figures are out of date", timeout=15_000)
    page.unroute("**/figures/**")
    expect(page.locator("[data-live-figures]")).to_be_empty(timeout=10_000)
