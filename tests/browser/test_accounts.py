"""An account's pages in a browser: signing up with a real mail, a new password, addresses; for everybody's eyes."""

import re
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage, console_errors_of
from tests.processes import wait_until

PASSWORD = "a-good-long-password"


def mails_in(folder: Path) -> list[EmailMessage]:
    found: list[EmailMessage] = []
    for path in sorted(folder.glob("*")):
        for text in path.read_bytes().split(b"\n" + b"-" * 79 + b"\n"):
            if text.strip():
                message = message_from_bytes(text, policy=policy.default)
                assert isinstance(message, EmailMessage)
                found.append(message)
    return found


def mail_about(folder: Path, words: str) -> EmailMessage:
    wait_until(lambda: any(words in mail["Subject"] for mail in mails_in(folder)), seconds_max=60)
    return next(mail for mail in mails_in(folder) if words in mail["Subject"])


def link_of(mail: EmailMessage) -> str:
    body = mail.get_body(("plain",))
    assert body is not None
    (address,) = re.findall(r"(?:: |：)(http\S+)", body.get_content())
    return str(address)


def sign_up(page: Page, shop: str, *, prefix: str = "") -> None:
    page.goto(f"{shop}{prefix}/accounts/signup/")
    for name, value in {"username": "newcomer", "email": "new@example.com"}.items():
        page.fill(f"[name={name}]", value)
    for name in ("password1", "password2"):
        page.fill(f"[name={name}]", PASSWORD)
    page.click("main form button")
    is_signed_in(page)


def is_signed_in(page: Page) -> None:
    """Wait until the page says so. One that is opened while a form is on its way takes the form back."""
    expect(page.get_by_role("link", name="newcomer")).to_be_attached()


def test_a_newcomer_signs_up_confirms_the_address_and_replaces_a_forgotten_password(
    live_shop: str, page: Page, mails: Path
) -> None:
    sign_up(page, live_shop)
    mail = mail_about(mails, "Welcome to Stampede")
    assert mail["To"] == "new@example.com"
    page.goto(link_of(mail))
    page.get_by_role("button", name="Yes, confirm").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Hello, newcomer")
    expect(page.get_by_text("Your address new@example.com is confirmed.")).to_be_visible()

    page.get_by_role("banner").get_by_role("button", name="Sign out").click()
    page.get_by_role("banner").get_by_role("link", name="Sign in").click()
    page.get_by_role("link", name="Forgot password?").click()
    page.fill("[name=email]", "new@example.com")
    page.get_by_role("button", name="Send the link").click()
    expect(page.get_by_role("button", name="Send the link")).to_have_count(0)
    page.goto(link_of(mail_about(mails, "Choose a new password")))
    for name in ("password1", "password2"):
        page.fill(f"[name={name}]", "another-good-password")
    page.get_by_role("button", name="Save the new password").click()
    page.get_by_role("main").get_by_role("link", name="Sign in").click()
    page.fill("[name=login]", "new@example.com")
    page.fill("[name=password]", "another-good-password")
    page.get_by_role("button", name="Sign in").click()
    is_signed_in(page)
    page.goto(f"{live_shop}/accounts/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Hello, newcomer")


def test_a_chinese_buyer_saves_an_address_on_a_phone_and_sees_it_in_chinese(live_shop: str, new_page: NewPage) -> None:
    page = new_page(viewport={"width": 360, "height": 740}, locale="zh-CN", is_mobile=True)
    errors = console_errors_of(page)
    sign_up(page, live_shop, prefix="/zh-hans")
    page.goto(f"{live_shop}/zh-hans/accounts/addresses/new/")
    page.select_option("[name=region]", "上海市")
    page.select_option("select[name=city]", "长宁区")
    for name, value in {"name": "李雷", "phone": "13800138000", "line1": "天山路 123 号", "postcode": "200051"}.items():
        page.fill(f"[name={name}]", value)
    page.get_by_role("button", name="保存").click()
    expect(page.get_by_text("地址已保存。")).to_be_visible()
    # From the large to the small, as in China.
    expect(page.locator("address")).to_contain_text(re.compile("200051.*上海市长宁区.*天山路 123 号.*李雷", re.S))
    page.get_by_role("link", name="删除地址：李雷，天山路 123 号").click()
    page.get_by_role("button", name="删除").click()
    expect(page.get_by_text("地址已删除。")).to_be_visible()
    assert not errors
