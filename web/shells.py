"""Public pages and lists of the API from memory, in the event loop of a web process, before Django is entered.

Django renders a page or an answer (shop/http/public_answers.py) at most once a second for each process, for any number
of visitors. So each visitor in a crowd costs a comparison of paths.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import structlog
from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port, validate_host
from django.utils.translation import get_language_from_request

from shop.background import outages
from shop.configuration.quick_setting import setting
from shop.http.request_log import RENDERING
from shop.languages.page_language import OTHER_LANGUAGES
from web.addresses import LIST, PUBLIC_ANSWER, PUBLIC_PAGE
from web.reservations.calls import ACCEPT, chosen_language, is_ordinary
from web.reservations.headers import CONTEXT_LENGTH_MAX
from web.shell_forms import Headers, Shell, answer_shell, is_for_all, may_be_kept, page_shell
from web.wsgi_request import RawAnswer, bare_environ, call_wsgi

log = structlog.get_logger(__name__)

# A page up to this age is served without asking Django.
FRESH_SECONDS = 1.0
# While one thread renders a page, others get the last one if it is not older than this. Rendering takes milliseconds.
# Answers of the API, which say the time, the phase of a sale and the stock, are never served older.
STILL_GOOD_SECONDS = 2.0
# How long a visitor waits for a page that is being rendered, if there is a last one, and if there is none. A last one
# that nobody has asked for in UNASKED_SECONDS does not count: it is old, though Django could render it.
WAIT_SECONDS = 0.5
FIRST_WAIT_SECONDS = 2.0
UNASKED_SECONDS = 10.0
# How long the last good page is served while Django cannot render it, usually because PostgreSQL is away. The data
# in PostgreSQL cannot change meanwhile, and stock and phase come by the page's scripts from the reservation store.
LAST_GOOD_SECONDS = 600.0
# Pages kept by one process; the longest unused goes first. A page has some tens of kilobytes.
PAGES_MAX = 200
# Answers of the API. They have a place of their own: clients choose the port in the host, of which each has its answer.
ANSWERS_MAX = 200
# Answers 404 that are kept. They have a place of their own: anybody can ask for addresses without a page.
MISSING_MAX = 500
# Threads that render public pages. Each has a connection to PostgreSQL. Pages that are kept are renewed by their own,
# so that addresses nobody has asked for, which may be random, take none from them.
KNOWN_THREADS = NEW_THREADS = 1
RENDERING_THREADS = KNOWN_THREADS + NEW_THREADS
# Pages that are being rendered or wait for a thread. Beyond it, visitors get the last good page, however old it may
# be, or without one an answer of Django's own threads.
KNOWN_RENDERINGS_MAX, NEW_RENDERINGS_MAX = 50, 20
# Of a host name and its port. Answers of the API are kept by it, and Django takes a port of any length.
HOST_LENGTH_MAX = 253 + len(":65535")
# These headers belong to one request, so they are not repeated to others. The web server writes the length of a body.
OWN_HEADERS = ("X-Request-ID", "X-Correlation-ID", "Content-Length")


# What a visitor asks: method, path, host, headers, query, and the variant of an answer of the API (`variant_of`).
Asked = tuple[str, str, str, Headers, str, str]


@dataclass(slots=True)
class Renderer:
    """Threads that render pages, and how many pages they have to render."""

    threads: ThreadPoolExecutor
    pages_max: int
    pages: int = 0


class Shells:
    """The pages that this process has rendered. Used from one event loop; rendering has threads of its own."""

    def __init__(self, wsgi: Callable[..., Any]) -> None:
        self._wsgi = wsgi
        self._known = Renderer(ThreadPoolExecutor(KNOWN_THREADS, "shells"), KNOWN_RENDERINGS_MAX)
        self._new = Renderer(ThreadPoolExecutor(NEW_THREADS, "new-shells"), NEW_RENDERINGS_MAX)
        self._kept: dict[str, Shell] = {}
        self._answers: dict[str, Shell] = {}
        # Pages with 404.
        self._missing: dict[str, Shell] = {}
        self._renderings: dict[str, asyncio.Future[RawAnswer]] = {}

    def find(self, asked: Asked) -> RawAnswer | None:
        """The page or answer, if it need not be rendered now; else None, and `answer` says more."""
        method, path, host, headers, query, variant = asked
        if query and LIST.fullmatch(path):
            return None
        key = key_of(path, headers) if path == "/" else path + variant
        shell = self._find(key)
        if shell is None or time.monotonic() >= shell.ask_again_s or not is_for_memory(method, host, headers):
            return None
        return shell.answer(headers)

    async def answer(self, asked: Asked) -> RawAnswer | None:
        """The page or answer; None if Django must give it: nothing public, another method, a foreign host, no TLS."""
        method, path, host, headers, query, variant = asked
        # There are too many parts of lists to keep them.
        if (
            (not variant and PUBLIC_PAGE.fullmatch(path) is None)
            or (query and LIST.fullmatch(path))
            or not is_for_memory(method, host, headers)
        ):
            return None
        if found := self.find(asked):
            return found
        key = key_of(path, headers) if path == "/" else path + variant
        return await self._renewed(key, host=host, headers=headers)

    def _find(self, key: str) -> Shell | None:
        return self._kept.get(key) or self._missing.get(key) or self._answers.get(key)

    async def _renewed(self, key: str, *, host: str, headers: Headers) -> RawAnswer | None:
        shell = self._find(key)
        age_seconds = time.monotonic() - shell.rendered_s if shell else None
        # What was missing may have been published since.
        is_short = is_of_api(key) or key in self._missing
        age_seconds_max = STILL_GOOD_SECONDS if is_short else LAST_GOOD_SECONDS
        last_good = shell if age_seconds is not None and age_seconds < age_seconds_max else None
        rendering = self._renderings.get(key)
        if rendering is None:
            rendering = self._begin(key, host)
        elif shell and age_seconds is not None and age_seconds < STILL_GOOD_SECONDS:
            return shell.answer(headers)
        if rendering is None:
            return once_more(last_good, headers) if last_good else None
        was_asked = last_good and time.monotonic() - last_good.ask_again_s < UNASKED_SECONDS
        try:
            async with asyncio.timeout(WAIT_SECONDS if was_asked else FIRST_WAIT_SECONDS):
                rendered = await asyncio.shield(rendering)
        except Exception:
            # Rendering takes too long, or has failed, which `_end` has logged.
            rendered = None
        # A rendered page is kept by now. Otherwise Django gave an error page, or a page for one visitor.
        kept = self._find(key)
        if kept is not None and kept is not shell:
            return kept.answer(headers)
        if last_good and (rendered is None or rendered[0] >= 500):
            return once_more(last_good, headers)
        return rendered if rendered and is_for_all(rendered) and not is_of_api(key) else None

    def _begin(self, key: str, host: str) -> "asyncio.Future[RawAnswer] | None":
        """None if too many pages wait for the threads."""
        renderer = self._known if key in self._kept or key in self._answers else self._new
        if renderer.pages >= renderer.pages_max:
            return None
        loop = asyncio.get_running_loop()
        rendering = loop.run_in_executor(renderer.threads, render, self._wsgi, key, host)
        renderer.pages += 1
        self._renderings[key] = rendering
        rendering.add_done_callback(lambda done: self._end(key, done, renderer))
        return rendering

    def _end(self, key: str, rendering: "asyncio.Future[RawAnswer]", renderer: Renderer) -> None:
        """Runs before the callers that wait for the rendering go on."""
        del self._renderings[key]
        renderer.pages -= 1
        if rendering.cancelled():
            return
        if error := rendering.exception():
            log.error("public_page_failed", path=key, exc_info=error)
            return
        answer = rendering.result()
        if answer[0] >= 500:
            # Visitors get the page of before, and 200. Other faults have a line with their traceback.
            outages.wait("renewing public pages", f"{key} answered {answer[0]}")
            return
        outages.go_on("renewing public pages")
        for shells in (self._kept, self._answers, self._missing):
            shells.pop(key, None)
        kept, count_max = self._kept, PAGES_MAX
        if is_of_api(key):
            kept, count_max = self._answers, ANSWERS_MAX
        elif answer[0] == 404 and is_for_all(answer):
            kept, count_max = self._missing, MISSING_MAX
        if kept is self._missing or may_be_kept(answer):
            keep(kept, key, shell_of(key, answer, now_s=time.monotonic()), count_max=count_max)


def keep(shells: dict[str, Shell], key: str, shell: Shell, *, count_max: int) -> None:
    """As the newest; the oldest goes if there are too many."""
    shells.pop(key, None)
    shells[key] = shell
    if len(shells) > count_max:
        del shells[next(iter(shells))]


def shell_of(key: str, answer: RawAnswer, *, now_s: float) -> Shell:
    """Of an answer that was made just now."""
    make = answer_shell if is_of_api(key) else page_shell
    return make(answer, rendered_s=now_s, ask_again_s=now_s + FRESH_SECONDS)


def once_more(shell: Shell, headers: Headers) -> RawAnswer:
    """The last good answer, which others get for a moment too without asking Django."""
    shell.ask_again_s = time.monotonic() + FRESH_SECONDS
    return shell.answer(headers)


def asked_of(scope: Any, path: str, headers: dict[str, str]) -> Asked | None:
    """For a page, or for a list of the API; None if Django must answer."""
    of_api = is_of_api(path)
    # First: open pages ask for live figures each second, and those are not here.
    if of_api and PUBLIC_ANSWER.fullmatch(path) is None:
        return None
    host, variant = headers.get("host", ""), ""
    if of_api:
        variant = variant_of(headers, host) if is_ordinary(scope, headers) else ""
        if not variant:
            return None
    return scope.method, path, host, headers, scope.query_string, variant


def variant_of(headers: Headers, host: str) -> str:
    """An answer of the API depends on the caller's language, and on the host, which is in the addresses of other pages.

    Empty for a call that Django must answer.
    """
    accepted, chosen = headers.get("accept-language") or "", chosen_language(headers.get("cookie")) or ""
    # Texts that clients have sent are remembered, each with its language.
    if headers.get("accept") not in ACCEPT or len(accepted) + len(chosen) > CONTEXT_LENGTH_MAX:
        return ""
    return f" {language_of(accepted, chosen)} {host}"


def is_of_api(key: str) -> bool:
    return key.startswith("/api/")


@lru_cache(maxsize=1_000)
def language_of(accepted: str, chosen: str) -> str:
    """The language in which Django answers a call of the API with this header and this cookie."""
    request = HttpRequest()
    request.META["HTTP_ACCEPT_LANGUAGE"] = accepted
    request.COOKIES = {settings.LANGUAGE_COOKIE_NAME: chosen} if chosen else {}
    return get_language_from_request(request)


def key_of(path: str, headers: Headers) -> str:
    """The home page redirects to the language that the visitor chose."""
    chosen = chosen_language(headers.get("cookie"))
    return f"{path} {chosen}" if chosen in OTHER_LANGUAGES else path


def render(wsgi: Callable[..., Any], key: str, host: str) -> RawAnswer:
    """The page or answer as Django gives it to a visitor without cookies, except for the language in `key`."""
    path, _space, variant = key.partition(" ")
    language = variant.partition(" ")[0]
    name, port = split_domain_port(host)
    environ = bare_environ(method="GET", path=path, server_name=name, server_port=port or "80")
    environ["HTTP_HOST"] = host
    if settings.SECURE_SSL_REDIRECT:
        environ["HTTP_X_FORWARDED_PROTO"] = "https"
    environ[RENDERING] = True
    if language:
        environ["HTTP_COOKIE"] = f"{settings.LANGUAGE_COOKIE_NAME}={language}"
    if is_of_api(path):
        environ["HTTP_ACCEPT_ENCODING"] = "gzip"
    return without_own_headers(call_wsgi(wsgi, environ))


def without_own_headers(answer: RawAnswer) -> RawAnswer:
    status, headers, body = answer
    return status, [(name, value) for name, value in headers if name not in OWN_HEADERS], body


def is_for_memory(method: str, host: str, headers: Headers) -> bool:
    """Whether Django would give the page, and not refuse the method or the host, or redirect to TLS."""
    if setting("SECURE_SSL_REDIRECT") and headers.get("x-forwarded-proto") != "https":
        return False
    return method in ("GET", "HEAD") and len(host) <= HOST_LENGTH_MAX and is_own_host(host)


@lru_cache(maxsize=100)
def is_own_host(host: str) -> bool:
    """Whether Django would accept this Host header."""
    domain, _port = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)
