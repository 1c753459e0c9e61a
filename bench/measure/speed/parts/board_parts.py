"""The live board of a sale while buyers reserve: what its viewers cost the hot lane."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from statistics import mean

from django.urls import reverse

from bench.measure.speed.part import Part, Sample, Server, WrongAnswer
from bench.measure.speed.parts.reserving_parts import accepted
from bench.measure.speed.server_groups import SHOP
from bench.stampede.setup import Address
from bench.stampede.timed_calls import Visitors
from seckill.models import SaleItem
from web.board.pages import token_of

VIEWERS = 20
# As a board's script does.
EVERY_SECONDS = 1.0
# They have looked for some time already: a board's first answer reads two minutes of seconds.
WARM_UP_SECONDS = 3.0
# The half of what they ask for in a run: on a busy machine their calls take long.
CALLS_SHARE_MIN = 0.5


def watched(server: Server) -> Sample:
    """Accepted reservations without viewers, with them twice, and without: what grows meanwhile counts for both.

    Raises WrongAnswer if a viewer got no figures.
    """
    watching = partial(viewers, server)
    before, first, second, after = (
        accepted(server),
        accepted(server, beside=watching),
        accepted(server, beside=watching),
        accepted(server),
    )
    alone, seen = (before, after), (first, second)
    return Sample(
        figures={
            "web_us_alone": mean(sample.cpu_us["web"] for sample in alone),
            "web_us_watched": mean(sample.cpu_us["web"] for sample in seen),
            "per_second_alone": mean(sample.per_second for sample in alone),
            "per_second_watched": mean(sample.per_second for sample in seen),
        }
    )


@contextmanager
def viewers(server: Server, item: SaleItem) -> Iterator[None]:
    """Boards of the item's sale that are open on so many screens."""
    token = token_of(sale_id=item.sale_id, item_ids=[item.pk])
    board = (reverse("board-figures", args=[item.sale_id]), {"Authorization": f"Board {token}"})
    address = Address("http", "127.0.0.1", server.port)
    pages = {f"board {number}": board for number in range(VIEWERS)}
    with Visitors(address=address, pages=pages, pause_seconds=EVERY_SECONDS) as visitors:
        time.sleep(WARM_UP_SECONDS)
        yield
    times = visitors.times().values()
    calls, failed = sum(one.calls for one in times), sum(one.failed for one in times)
    if failed or calls < CALLS_SHARE_MIN * VIEWERS * server.seconds / EVERY_SECONDS:
        raise WrongAnswer(f"{VIEWERS} viewers of the board made {calls} calls, of which {failed} failed")


PARTS = (Part("watched", f"accepted, {VIEWERS} viewers of the live board", SHOP, watched),)
