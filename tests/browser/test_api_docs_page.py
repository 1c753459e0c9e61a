"""/api/docs/ in a real browser: complete, in order, and quiet."""

from playwright.sync_api import Page, expect

from web.api_docs.examples import CALLS, CHAPTERS


def test_the_documentation_opens_without_a_message_in_the_console(live_shop: str, page: Page) -> None:
    # Given a reader; the fixture `page` fails the test for each error or warning of the console
    page.goto(f"{live_shop}/api/docs/")
    # Then the chapters follow a purchase, and each call has its name
    expect(page.locator(".opblock-tag")).to_have_count(len(CHAPTERS))
    assert [tag.split("\n")[0].strip() for tag in page.locator(".opblock-tag").all_inner_texts()] == CHAPTERS
    assert page.locator(".opblock-summary-description").all_inner_texts() == [call.summary for call in CALLS]
    # When the reader opens a call
    page.get_by_role("button", name="Reserve units").first.click()
    # Then its example and its refusals are there, and the link of one leads to its page
    expect(page.get_by_text("RESERVATION=$(echo")).to_be_visible()
    with page.context.expect_page() as opened:
        page.locator(".opblock.is-open").get_by_role("link", name="held_by_others").first.click()
    opened.value.wait_for_url("**/api/docs/problems/held_by_others/")
