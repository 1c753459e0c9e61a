"""The bare servers, alone on the machine, and the two views that sell from one row of PostgreSQL."""

import time
from functools import partial

from bench.measure.speed.bare_site.models import BareOrder, BareStock
from bench.measure.speed.part import Ask, Part, Sample, Server, WrongAnswer, measure_ask
from bench.measure.speed.server_groups import BARE_DJANGO, RSGI_HELLO, WSGI_HELLO
from bench.measure.speed.wrk import CONNECTIONS, CROWD

ONE_UNIT = '{"units": 1}'
STOCK = 1_000_000_000
# Transactions of answers that wrk did not wait for end within this time.
SETTLE_SECONDS = 0.5


def ask_bare(ask: Ask, server: Server, *, connections: int = CONNECTIONS) -> Sample:
    return measure_ask(server, ask, connections=connections)


def sell_from_row(path: str, server: Server, *, connections: int = CONNECTIONS) -> Sample:
    """Sell from a new row, and compare the orders with the answers."""
    stock = BareStock.objects.create(left=STOCK)
    ask = Ask(method="POST", path=f"{path}{stock.pk}/", body=ONE_UNIT, status=201)
    sample = measure_ask(server, ask, connections=connections)
    time.sleep(SETTLE_SECONDS)
    orders = BareOrder.objects.filter(stock_id=stock.pk).count()
    left = BareStock.objects.get(pk=stock.pk).left
    if left + orders != STOCK:
        raise WrongAnswer(f"{orders:,} orders, but {STOCK - left:,} units were taken from the row")
    if orders < sample.requests:
        raise WrongAnswer(f"{sample.requests:,} buyers were told yes, but there are {orders:,} orders")
    return sample


def bare(name: str, title: str, ask: Ask, *, server: str) -> Part:
    """A server that does almost nothing, asked again and again."""
    return Part(name, title, server, partial(ask_bare, ask))


def beside_reservations(*, name_ending: str = "", title_ending: str = "", connections: int = CONNECTIONS) -> list[Part]:
    """An empty view, and the two that sell from one row of PostgreSQL."""
    measures = {
        ("drf-post", "bare DRF POST"): partial(ask_bare, Ask(method="POST", path="/post/", body=ONE_UNIT, status=201)),
        ("row-lock", "DRF view, SELECT … FOR UPDATE"): partial(sell_from_row, "/row-lock/"),
        ("conditional", "DRF view, conditional UPDATE"): partial(sell_from_row, "/conditional/"),
    }
    return [
        Part(f"{name}{name_ending}", f"{title}{title_ending}", BARE_DJANGO, partial(measure, connections=connections))
        for (name, title), measure in measures.items()
    ]


PARTS = (
    bare("wsgi-hello", "bare WSGI hello", Ask(path="/"), server=WSGI_HELLO),
    bare("rsgi-hello", "bare RSGI hello", Ask(path="/"), server=RSGI_HELLO),
    bare("rsgi-figures", "bare RSGI answer as heavy as live figures", Ask(path="/figures/"), server=RSGI_HELLO),
    bare("rsgi-page", "bare RSGI answer as heavy as a page", Ask(path="/page/"), server=RSGI_HELLO),
    bare("rsgi-post", "bare RSGI POST", Ask(method="POST", path="/", body=ONE_UNIT), server=RSGI_HELLO),
    bare("django-view", "bare Django view", Ask(path="/hello/"), server=BARE_DJANGO),
    *beside_reservations(),
    *beside_reservations(name_ending="-crowd", title_ending=f", {CROWD} at a time", connections=CROWD),
)
