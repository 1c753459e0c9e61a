"""Debian's Chromium, a page whose console errors fail the test, and visitors who are signed in or not."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import (
    Browser,
    BrowserContext,
    BrowserType,
    ConsoleMessage,
    Page,
    Playwright,
    sync_playwright,
)

from shop.accounts import sign_in_hint
from tests.network_changes import no_network_changes

# Playwright keeps an event loop running in the test's thread, though the test itself waits for every call.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

# Without windows a page costs half: the same engine, but no tabs, no address bar and none of their pages.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)


def reason_for_no_browser() -> str | None:
    """Why no browser can be started here, and what to do about it; None if one can."""
    if CHROMIUM is None:
        return "Chromium is not installed (Debian: apt install chromium-headless-shell libatomic1)"
    driver = subprocess.run(
        [sys.executable, "-m", "playwright", "--version"], capture_output=True, text=True, check=False
    )
    if driver.returncode != 0:
        return f"Playwright's driver does not start (Debian: apt install libatomic1): {driver.stderr[-300:]}"
    return None


@pytest.fixture(scope="session", autouse=True)
def _a_browser_that_can_be_driven() -> None:
    if reason := reason_for_no_browser():
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


@pytest.fixture(autouse=True)
def _no_network_changes() -> Iterator[None]:
    with no_network_changes():
        yield


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    # No sandbox: in a container, where tests may run as root, Chromium has none and would not start.
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": arguments}


# The fixtures of the plugin last as long as the run. These end with the tests in a browser: Playwright keeps an event
# loop running in this thread, and asyncio allows no second one.


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="package")
def browser_type(playwright: Playwright) -> BrowserType:
    return playwright.chromium


@pytest.fixture(scope="package")
def browser(browser_type: BrowserType, browser_type_launch_args: dict[str, Any]) -> Iterator[Browser]:
    browser = browser_type.launch(**browser_type_launch_args)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def base_url() -> None:
    """Replaces a plugin's fixture, about which pytest warns. Tests use whole addresses."""


@pytest.fixture(scope="session")
def browser_context_args() -> dict[str, Any]:
    return {"locale": "en-GB"}


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """A page that must not log errors to the console: no broken script, no violation of the content policy."""
    errors = console_errors_of(page)
    yield page
    assert not errors


def console_errors_of(page: Page) -> list[str]:
    """Grows while the page is used. Failed calls of the API do not count: the page handles them."""
    errors: list[str] = []

    def add(message: ConsoleMessage) -> None:
        is_api_call = message.text.startswith("Failed to load resource") and "/api/v1/" in message.location["url"]
        if message.type in ("error", "warning") and not is_api_call:
            errors.append(f"{message.text} ({message.location['url']})")

    page.on("console", add)
    page.on("pageerror", lambda error: errors.append(str(error)))
    return errors


def width_of(page: Page) -> int:
    """The page's width in CSS pixels: more than the window's where it scrolls sideways."""
    width: int = page.evaluate("document.documentElement.scrollWidth")
    return width


def focus_by_tab(page: Page, name: str) -> None:
    """Press Tab until the element of that name has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if name in page.evaluate("document.activeElement.textContent || document.activeElement.name || ''"):
            return
    raise AssertionError(f"Tab never came to “{name}”")


# Cookies are for a host, whatever its port.
ANY_SHOP = "http://127.0.0.1"


def sign_in(context: BrowserContext, user: User) -> None:
    """Without the form, for tests about something else."""
    client = Client()
    client.force_login(user)
    names = {settings.SESSION_COOKIE_NAME: client.cookies[settings.SESSION_COOKIE_NAME].value}
    # As after the form, which sets both.
    names[sign_in_hint.COOKIE] = sign_in_hint.hint_of(str(user.pk))
    context.add_cookies([{"name": name, "value": value, "url": ANY_SHOP} for name, value in names.items()])


NewPage = Callable[..., Page]


@pytest.fixture
def new_page(browser: Browser, browser_context_args: dict[str, Any]) -> Iterator[NewPage]:
    """Opens pages in a browser with these options, which is closed after the test; of a user who is signed in, or not.

    Each page is of a visitor of its own, who is not that of the fixture `page`.
    """
    with ExitStack() as after_the_test:

        def open_page(user: User | None = None, **options: Any) -> Page:
            context = browser.new_context(**{**browser_context_args, **options})
            after_the_test.callback(context.close)
            if user is not None:
                sign_in(context, user)
            return context.new_page()

        yield open_page
