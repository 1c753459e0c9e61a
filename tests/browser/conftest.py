"""Debian's Chromium, a page whose console errors fail the test, and visitors who are signed in or not."""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.test import Client, override_settings
from playwright.sync_api import BrowserContext, ConsoleMessage, Page

from shop.accounts import sign_in_hint
from tests.live_shop import ALL_QUEUES, SEVERAL_WEB_PROCESSES, live_web
from tests.live_shop import live_shop as running_shop
from web.shells import FRESH_SECONDS

# Playwright keeps an event loop running in the test's thread, though the test itself waits for every call.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def reason_for_no_browser() -> str | None:
    """Why no browser can be started here, and what to do about it; None if one can."""
    if CHROMIUM is None:
        return "Chromium is not installed (Debian: apt install chromium libatomic1)"
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


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    # No sandbox: in a container, where tests may run as root, Chromium has none and would not start.
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": arguments}


@pytest.fixture(scope="session")
def base_url() -> None:
    """Replaces a plugin's fixture, about which pytest warns. Tests use whole addresses."""


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_context_args, "locale": "en-GB"}


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


@pytest.fixture(scope="session")
def _mails_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mails")


@pytest.fixture(scope="session")
def _shop_of_the_run(django_db_setup: None, static_files: None, _mails_of_the_run: Path) -> Iterator[str]:
    """A shop for all tests, with one worker, and none that repairs and archives: starting takes seconds."""
    variables = {"EMAIL_URL": f"filemail:///{_mails_of_the_run}", "GRANIAN_WORKERS": SEVERAL_WEB_PROCESSES}
    with running_shop(names=("web", ALL_QUEUES, "beat"), **variables) as url:
        yield url


@pytest.fixture(scope="session")
def _web_of_the_run(django_db_setup: None, static_files: None) -> Iterator[str]:
    with live_web(GRANIAN_WORKERS=SEVERAL_WEB_PROCESSES) as url:
        yield url


@pytest.fixture
def live_shop(transactional_db: None, _shop_of_the_run: str) -> str:
    """The address of the shop, whose pages show nothing of the test before."""
    return _once_forgotten(_shop_of_the_run)


@pytest.fixture
def mails(live_shop: str, _mails_of_the_run: Path) -> Path:
    """The folder into which the shop writes its mails. Those of the tests before are gone."""
    for path in _mails_of_the_run.iterdir():
        path.unlink()
    return _mails_of_the_run


@pytest.fixture
def live_pages(transactional_db: None, _web_of_the_run: str) -> str:
    """The address of a web server alone, for tests that only look."""
    return _once_forgotten(_web_of_the_run)


def _once_forgotten(url: str) -> str:
    """After the web servers have dropped the pages that they keep; before the test, so that it never sees them."""
    time.sleep(FRESH_SECONDS)
    return url


@pytest.fixture(scope="session")
def static_files() -> None:
    """Collected into the folder that the web server serves, if they have changed since.

    They are collected elsewhere and moved there at once: a web server of another test may be reading the folder.
    """
    root = Path(settings.STATIC_ROOT)
    root.parent.mkdir(parents=True, exist_ok=True)
    with (root.parent / "collectstatic.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        if lock.read() == (found := static_sources()) and root.exists():
            return
        fresh, former = root.with_name(f"{root.name}.fresh"), root.with_name(f"{root.name}.former")
        with override_settings(STATIC_ROOT=fresh):
            call_command("collectstatic", "--noinput", "--clear", verbosity=0)
        shutil.rmtree(former, ignore_errors=True)
        if root.exists():
            root.rename(former)
        fresh.rename(root)
        lock.truncate(0)
        lock.write(found)


def static_sources() -> str:
    """Changes when a static file of the shop or of a package does."""
    files = []
    for finder in get_finders():
        for name, storage in finder.list([]):
            status = Path(storage.path(name)).stat()
            files.append((storage.path(name), status.st_mtime_ns, status.st_size))
    return sha256(repr(sorted(files)).encode()).hexdigest()


@pytest.fixture
def sign_in() -> Callable[[BrowserContext, User], None]:
    """Signs a browser in without the form, for tests about something else."""

    def sign_in(context: BrowserContext, user: User) -> None:
        client = Client()
        client.force_login(user)
        names = {settings.SESSION_COOKIE_NAME: client.cookies[settings.SESSION_COOKIE_NAME].value}
        # As after the form, which sets both.
        names[sign_in_hint.COOKIE] = sign_in_hint.hint_of(str(user.pk))
        context.add_cookies([{"name": name, "value": value, "url": ANY_SHOP} for name, value in names.items()])

    return sign_in
