"""The look at the public pages: the shop at SHOP_URL answers them, in each language, and fast once it knows them."""

import http.client
import time
from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from orders.preflight.finding import Finding, good, listed, stop, warning
from seckill.models import Sale
from shop.background.outages import one_line
from shop.languages.page_language import path_in

# A page that is rendered for the first time after a start takes tenths of a second.
PAGE_SECONDS, ALL_SECONDS = 3.0, 15.0
# A page that the web process knows takes milliseconds.
SLOW_SECONDS = 0.5
TRIES_MAX = 4
PRODUCTS_MAX = 5
BYTES_MAX = 2_000_000


class NotAnswered(Exception):
    """No answer came, or a wrong one. `status` is None where there was none."""

    def __init__(self, reason: str, *, status: int | None) -> None:
        super().__init__(reason)
        self.status = status


def look_at_pages(sale: Sale) -> Iterator[Finding]:
    """Ask twice: the crowd gets the answer from memory, which is the second one."""
    give_up_s = time.monotonic() + ALL_SECONDS
    slow: list[str] = []
    paths = paths_of(sale)
    for path in paths:
        if time.monotonic() > give_up_s:
            yield warning(
                _("%(path)s and what follows it was not looked at: the pages before took too long."),
                _("Look at the processors of the web servers and at PostgreSQL, and look again."),
                path=path,
            )
            return
        try:
            seconds = shortest(path)
        except NotAnswered as error:
            yield not_answered(path, error)
            if error.status is None:
                return
        else:
            if seconds > SLOW_SECONDS:
                slow.append(f"{path} ({seconds:.1f} s)")
    if slow:
        yield warning(
            _("Slow though they were asked for a moment before: %(paths)s."),
            _("Look at the processors of the web servers; with GATE=0 no page is kept in memory."),
            paths=listed(slow),
        )
    if not sale.is_published:
        yield warning(
            _("The pages of the products answer at %(url)s. That of the sale comes with its publishing."),
            _("Look again when it is published."),
            url=settings.SHOP_URL,
        )
    elif not slow:
        text = _("%(count)s public pages and live figures answer at %(url)s, in each language.")
        yield good(text, count=len(paths), url=settings.SHOP_URL)


def paths_of(sale: Sale) -> list[str]:
    """The home page, the products, the sale and its draw, in each language; and the live figures of the sale."""
    products = {item.variant.product for item in sale.items.select_related("variant__product")[:PRODUCTS_MAX]}
    with override(settings.LANGUAGE_CODE):
        pages = ["/", *sorted(product.get_absolute_url() for product in products)]
        if sale.is_published:
            pages.append(sale.get_absolute_url())
            pages += [reverse("draw", args=[sale.pk])] if sale.has_draw else []
    paths = [path_in(code, path) for path in pages for code, _name in settings.LANGUAGES]
    return [*paths, reverse("api-sale-live", args=[sale.pk])] if sale.is_published else paths


def shortest(path: str) -> float:
    """Of some times: the first renders the page, and each web process has a memory of its own. Raises NotAnswered."""
    tries = [fetch(path)]
    while tries[-1] > SLOW_SECONDS and len(tries) < TRIES_MAX:
        tries.append(fetch(path))
    return min(tries)


def fetch(path: str, **headers: str) -> float:
    """The seconds until the whole answer was there. Raises NotAnswered."""
    began_s = time.monotonic()
    address = urlsplit(settings.SHOP_URL)
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    try:
        with closing(kind(address.netloc, timeout=PAGE_SECONDS)) as connection:
            connection.request("GET", address.path + path, headers={"User-Agent": "stampede-preflight", **headers})
            answer = connection.getresponse()
            answer.read(BYTES_MAX)
    except (OSError, http.client.HTTPException) as error:
        raise NotAnswered(one_line(error), status=None) from None
    if answer.status != HTTPStatus.OK:
        raise NotAnswered(f"{answer.status} {answer.reason}", status=answer.status)
    return time.monotonic() - began_s


def not_answered(path: str, error: NotAnswered) -> Finding:
    values = {"url": settings.SHOP_URL, "path": path, "error": error}
    if error.status is None:
        # The machine that looks may stand where the shop's own address is not reached.
        return warning(
            _("The shop does not answer this machine at %(url)s%(path)s: %(error)s"),
            _("Open that address as a buyer would. If it fails too, look at web servers, proxy and SHOP_URL."),
            **values,
        )
    if error.status == 404:
        todo = _("A product that is not active has no page: make it active. Otherwise see whether SHOP_URL is right.")
    else:
        todo = _("The log of the web servers says why; the sale's page must answer before buyers come.")
    return stop(_("%(url)s%(path)s is answered with %(error)s."), todo, **values)
