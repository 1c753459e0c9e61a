"""Debian's Chromium, a page that fails its test when it complains, and visitors who are signed in or not."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from playwright.sync_api import BrowserContext, ConsoleMessage, Page

from tests.live_shop import LiveShop
from tests.live_shop import live_shop as live_shop

# Playwright keeps an event loop running in the test's thread, though the test itself waits for every call.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    if CHROMIUM is None:
        reason = "Chromium is not installed (Debian: apt install chromium)"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    # No sandbox: in a container, where tests may run as root, Chromium has none and would not start.
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": arguments}


@pytest.fixture(scope="session")
def base_url() -> None:
    """In place of a plugin's fixture that is written in a way that pytest warns of. Tests name whole addresses."""


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_context_args, "locale": "en-GB"}


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """A page that must not write errors into the console: no broken script, no violation of the content policy."""
    complaints = complaints_of(page)
    yield page
    assert not complaints


def complaints_of(page: Page) -> list[str]:
    """Fills up while the page is used. That the API says no, or nothing, is no complaint: the page deals with it."""
    complaints: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        of_api = message.text.startswith("Failed to load resource") and "/api/v1/" in message.location["url"]
        if message.type in ("error", "warning") and not of_api:
            complaints.append(f"{message.text} ({message.location['url']})")

    page.on("console", hear)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return complaints


@pytest.fixture
def sign_in(live_shop: LiveShop) -> Callable[[BrowserContext, User], None]:
    """Signs a browser in without the form, for tests about something else."""

    def sign_in(context: BrowserContext, user: User) -> None:
        cookie = {
            "name": settings.SESSION_COOKIE_NAME,
            "value": live_shop.session_of(user),
            "url": live_shop.url,
        }
        context.add_cookies([cookie])  # type: ignore[list-item]

    return sign_in
