"""Refusals of buyers with valid passes."""

from collections.abc import Callable
from functools import partial

from django.urls import reverse

from bench.measure.speed import measured_sales
from bench.measure.speed.part import Ask, Part, Sample, Server, measure_ask
from bench.measure.speed.server_groups import SHOP
from bench.measure.speed.wrk import Load
from seckill.models import SaleItem
from seckill.outcomes import HTTP, Outcome

ONE_UNIT = '{"units": 1}'


def refusal(item_of: Callable[[], SaleItem], outcome: Outcome, server: Server) -> Sample:
    """Each request has the pass of another buyer, some thousand in turn."""
    item = item_of()
    texts = measured_sales.passes_of_refused(item)
    file = server.directory / "passes-refused.txt"
    file.write_text("\n".join(texts))
    path = reverse("api-reserve", args=[item.pk])
    ask = Ask(
        method="POST",
        path=path,
        body=ONE_UNIT,
        headers={"Authorization": f"Pass {texts[0]}"},
        status=HTTP[outcome].status,
        code=outcome.value,
    )
    load = Load(url=server.url(path), script="passes", arguments=(str(file), "again"))
    return measure_ask(server, ask, load=load)


PARTS = (
    Part(
        name="refusal",
        title="refusal, sold out",
        server=SHOP,
        measure=partial(refusal, measured_sales.sold_out_item, Outcome.SOLD_OUT),
    ),
    Part(
        name="refusal-not-open",
        title="refusal, not open",
        server=SHOP,
        measure=partial(refusal, measured_sales.item_not_open, Outcome.NOT_OPEN),
    ),
)
