"""Reservations, refused and accepted, with the whole shop running, and other calls beside a crowd that reserves.

Each accepted reservation must become an order, and no unit is sold twice.
"""

import math
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import Count, Max, Sum
from django.urls import reverse
from django.utils import timezone

from bench.load_sale import retire
from bench.measure.speed import measured_sales
from bench.measure.speed.part import (
    Ask,
    Part,
    Sample,
    Server,
    WrongAnswer,
    check_answer,
    measure_ask,
    sample_of,
    seconds_since,
)
from bench.measure.speed.server_groups import SHOP, SHOP_CONFIRMED
from bench.measure.speed.wrk import CONNECTIONS, CROWD, Load, Report, run_wrk
from bench.processor_time import ended_children_seconds, seconds_by_kind
from bench.stampede.paying_buyers import PayingBuyers, unpaid_orders
from bench.stampede.setup import Address
from bench.stampede.timed_calls import CallTimes, Visitors
from orders.models import OrderLine
from seckill import ledger
from seckill.models import SaleItem
from seckill.outcomes import HTTP, Outcome

# Pages send no body for one unit; a program may write it.
ONE_UNIT, NO_BODY = '{"units": 1}', ""
# More than any shop on two cores accepts, so that the passes of a run are never used up.
ACCEPTED_PER_SECOND_MAX = 15_000
# Connections, each with one buyer after the other.
LOADS = (1, CONNECTIONS, 64, CROWD)
# The sale that sells out: its units, and buyers who come too late.
SELL_OUT_UNITS, SELL_OUT_BUYERS = 5_000, 6_000
SELL_OUT_SECONDS_MAX = 40
# How long orders may take to arrive before they count as lost.
ORDERS_SECONDS_MAX = 60.0
POLL_SECONDS = 0.01
QUIET_SECONDS = 0.5
WARM_UP_PASSES = 300
# More than are paid for in a second.
ORDERS_PER_SECOND = 20
# The columns of the tables have words without spaces.
NAMES = {"start a payment": "start_payment", "admin": "list_of_orders"}


@dataclass(frozen=True, slots=True)
class Sold:
    """The state of an item in PostgreSQL. `lag_s` is the time from the last yes to the last order."""

    orders: int
    units: int
    buyers: int
    lag_s: float


def refusal(item_of: Callable[[], SaleItem], outcome: Outcome, body: str, server: Server) -> Sample:
    """Each request has the pass of another buyer, some thousand in turn."""
    item = item_of()
    texts = measured_sales.passes_of_refused(item)
    file = server.directory / "passes-refused.txt"
    file.write_text("\n".join(texts))
    path = reverse("api-reserve", args=[item.pk])
    ask = Ask(
        method="POST",
        path=path,
        body=body,
        headers={"Authorization": f"Pass {texts[0]}"},
        status=HTTP[outcome].status,
        code=outcome.value,
    )
    load = Load(url=server.url(path), script="tokens", arguments=(str(file), "again", "POST", "Pass", body))
    return measure_ask(server, ask, load=load)


def accepted(
    server: Server,
    *,
    connections: int = CONNECTIONS,
    body: str = ONE_UNIT,
    beside: Callable[[SaleItem], AbstractContextManager[object]] = nullcontext,
) -> Sample:
    """Buyers reserve as fast as they are answered, for the time of a run, with a pass each. Raises WrongAnswer.

    `beside` is entered while they do.
    """
    warm_up(server)
    count = ACCEPTED_PER_SECOND_MAX * server.seconds
    item, file = item_with_passes(server, quantity=count, passes=count)
    with beside(item):
        cpu_before, wrk_before = seconds_by_kind(server.pids), ended_children_seconds()
        report = run_wrk(load_of(server, item, file, connections=connections, body=body), seconds=server.seconds)
    wrk_seconds = ended_children_seconds() - wrk_before
    if report.requests >= count:
        raise WrongAnswer(f"all {count:,} passes were used before the end of the run, so its rate is not known")
    cpu = {"wrk": wrk_seconds}
    sold = orders_of(item, on_last=lambda: cpu.update(seconds_since(cpu_before, server)))
    check_sold(item, sold, told_yes=told_yes(report, refusals_max=0), connections=connections)
    retire(item)
    # Workers and PostgreSQL go on until the last order; the others work for the answers.
    cpu_us = {kind: seconds / sold.orders * 1e6 for kind, seconds in cpu.items()}
    figures = {
        "orders": float(sold.orders),
        "orders_per_second": sold.orders / (report.seconds + sold.lag_s),
        "lag_s": sold.lag_s,
    }
    return sample_of(report, cpu_us=cpu_us, figures=figures)


def accepted_by_load(server: Server) -> Sample:
    """What a yes costs the store and the web processes with few and with many buyers at a time."""
    figures: dict[str, float] = {}
    for connections in LOADS:
        sample = accepted(server, connections=connections)
        figures[f"store_us_{connections}"] = sample.cpu_us["store"]
        figures[f"web_us_{connections}"] = sample.cpu_us["web"]
        figures[f"per_second_{connections}"] = sample.per_second
    return Sample(figures=figures)


def sell_out(server: Server) -> Sample:
    """A sale sells out, with more buyers than units. Raises WrongAnswer."""
    item, file = item_with_passes(server, quantity=SELL_OUT_UNITS, passes=SELL_OUT_BUYERS)
    report = run_wrk(load_of(server, item, file), seconds=SELL_OUT_SECONDS_MAX, until=all_in_orders(item))
    sold = orders_of(item)
    refused = SELL_OUT_BUYERS - SELL_OUT_UNITS
    check_sold(item, sold, told_yes=told_yes(report, refusals_max=refused))
    if sold.orders != SELL_OUT_UNITS:
        raise WrongAnswer(f"{sold.orders:,} of {SELL_OUT_UNITS:,} units were sold to {SELL_OUT_BUYERS:,} buyers")
    retire(item)
    return Sample(figures={"lag_s": sold.lag_s, "orders": float(sold.orders)})


def beside_a_stampede(server: Server) -> Sample:
    """How long their calls take. Raises WrongAnswer if one failed, or a reservation was lost or sold twice."""
    warm_up(server)
    address = Address("http", "127.0.0.1", server.port)
    orders = unpaid_orders(count=ORDERS_PER_SECOND * server.seconds)
    count = ACCEPTED_PER_SECOND_MAX * server.seconds
    item, file = item_with_passes(server, quantity=count, passes=count)
    with PayingBuyers(address=address, orders=orders) as paying, Visitors(address=address, pages=pages()) as visitors:
        report = run_wrk(load_of(server, item, file), seconds=server.seconds)
    check_sold(item, orders_of(item), told_yes=told_yes(report, refusals_max=0))
    retire(item)
    return Sample(figures={**figures_of({**paying.times(), **visitors.times()}), "accepted": report.per_second})


def warm_up(server: Server) -> None:
    """Reserve with some passes of another item."""
    item, file = item_with_passes(server, quantity=WARM_UP_PASSES, passes=WARM_UP_PASSES)
    (text,) = measured_sales.passes_for(item, buyer_ids=measured_sales.refused_buyer_ids()[:1])
    path = reverse("api-reserve", args=[item.pk])
    check_answer(
        server, Ask(method="POST", path=path, body=ONE_UNIT, headers={"Authorization": f"Pass {text}"}, status=201)
    )
    run_wrk(load_of(server, item, file), seconds=1)
    orders_of(item)
    retire(item)


def item_with_passes(server: Server, *, quantity: int, passes: int) -> tuple[SaleItem, str]:
    item = measured_sales.new_item("Measured", quantity=quantity)
    file = server.directory / "passes.txt"
    texts = measured_sales.passes_for(item, buyer_ids=measured_sales.buyer_ids(passes))
    file.write_text("\n".join(texts))
    return item, str(file)


def load_of(server: Server, item: SaleItem, file: str, *, connections: int = CONNECTIONS, body: str = ONE_UNIT) -> Load:
    path = reverse("api-reserve", args=[item.pk])
    arguments = (file, "once", "POST", "Pass", body)
    return Load(url=server.url(path), script="tokens", arguments=arguments, connections=connections)


def all_in_orders(item: SaleItem) -> Callable[[], bool]:
    """Whether each unit has its order: the sale is over, and wrk need not wait for the end of its time."""
    return lambda: SaleItem.objects.values_list("taken", flat=True).get(pk=item.pk) >= SELL_OUT_UNITS


def told_yes(report: Report, *, refusals_max: int) -> int:
    """How many buyers were told yes. Raises WrongAnswer."""
    if report.failed:
        raise WrongAnswer(f"{report.failed:,} of {report.requests:,} requests got no answer")
    if report.above_399 > refusals_max:
        raise WrongAnswer(f"{report.above_399:,} of {report.requests:,} buyers were refused, {refusals_max:,} expected")
    return report.requests - report.above_399


def orders_of(item: SaleItem, *, on_last: Callable[[], object] = lambda: None) -> Sold:
    """Wait until each reservation of the item is an order. Raises WrongAnswer if that does not happen in time.

    Answers that wrk did not wait for may be given a moment later, so it must stay so for QUIET_SECONDS. `on_last` is
    called when it becomes so.
    """
    give_up_s = time.monotonic() + ORDERS_SECONDS_MAX
    seen, seen_s = timezone.now(), math.inf
    while time.monotonic() - seen_s < QUIET_SECONDS:
        taken = SaleItem.objects.values_list("taken", flat=True).get(pk=item.pk)
        missing = reservations_of(item) - taken
        if missing:
            seen_s = math.inf
        elif seen_s == math.inf:
            seen, seen_s = timezone.now(), time.monotonic()
            on_last()
        if missing and time.monotonic() > give_up_s:
            raise WrongAnswer(f"{missing:,} reservations are no orders after {ORDERS_SECONDS_MAX:.0f} s")
        time.sleep(POLL_SECONDS)
    lines = OrderLine.objects.filter(sale_item=item)
    found: dict[str, Any] = lines.aggregate(
        orders=Count("order", distinct=True),
        units=Sum("units"),
        buyers=Count("order__buyer", distinct=True),
        last=Max("order__reserved_at"),
    )
    lag_s = max((seen - found["last"]).total_seconds(), 0.0) if found["last"] else math.nan
    return Sold(orders=found["orders"], units=found["units"] or 0, buyers=found["buyers"], lag_s=lag_s)


def reservations_of(item: SaleItem) -> int:
    """How many reservations the store has made of it. Raises WrongAnswer if it does not have the item."""
    counters = ledger.read(item_id=item.pk)
    if counters is None:
        raise WrongAnswer(f"the reservation store has lost item {item.pk}")
    return counters.reservations


def check_sold(item: SaleItem, sold: Sold, *, told_yes: int, connections: int = CONNECTIONS) -> None:
    """The buyers who were told yes, the reservations and the orders are the same. Raises WrongAnswer."""
    reserved = reservations_of(item)
    quantity = item.quantity or 0
    if sold.units > quantity:
        raise WrongAnswer(f"oversold: {sold.units:,} units of {quantity:,}")
    if sold.orders != reserved:
        raise WrongAnswer(f"{reserved:,} reservations, but {sold.orders:,} orders")
    # wrk does not wait for the answers that are under way when it stops, one on each connection.
    if not told_yes <= sold.orders <= told_yes + connections:
        raise WrongAnswer(f"{told_yes:,} buyers were told yes, but there are {sold.orders:,} orders")
    if sold.buyers != sold.orders:
        raise WrongAnswer(f"{sold.orders:,} orders of {sold.buyers:,} buyers, who may have one each")


def pages() -> Mapping[str, tuple[str, Mapping[str, str]]]:
    staff = {"Cookie": f"sessionid={measured_sales.staff_session_key()}"}
    return {
        "admin": (reverse("admin:orders_order_changelist"), staff),
        "sale page": (reverse("sale", args=[measured_sales.shown_sale().pk]), {}),
    }


def figures_of(times: Mapping[str, CallTimes]) -> dict[str, float]:
    """Raises WrongAnswer if a call failed, or there was none."""
    figures: dict[str, float] = {}
    for kind, measured in times.items():
        if measured.failed or not measured.calls:
            raise WrongAnswer(f"{kind}: {measured.failed} of {measured.calls} calls failed")
        name = NAMES.get(kind, kind.replace(" ", "_"))
        figures[f"{name}_p50_ms"], figures[f"{name}_p99_ms"] = measured.p50_ms, measured.p99_ms
    return figures


def refusal_part(
    name: str, title: str, item_of: Callable[[], SaleItem], outcome: Outcome, *, body: str = ONE_UNIT
) -> Part:
    return Part(name, title, SHOP, partial(refusal, item_of, outcome, body))


SOLD_OUT = measured_sales.sold_out_item, Outcome.SOLD_OUT


PARTS = (
    refusal_part("refusal", "refusal, sold out", *SOLD_OUT),
    refusal_part("refusal-no-body", "refusal, sold out, no body", *SOLD_OUT, body=NO_BODY),
    refusal_part("refusal-not-open", "refusal, not open", measured_sales.item_not_open, Outcome.NOT_OPEN),
    Part("accepted", "accepted reservation", SHOP, accepted),
    Part("accepted-no-body", "accepted reservation, no body", SHOP, partial(accepted, body=NO_BODY)),
    Part("accepted-crowd", f"accepted reservation, {CROWD} at a time", SHOP, partial(accepted, connections=CROWD)),
    Part("accepted-confirmed", "accepted reservation that a replica confirms", SHOP_CONFIRMED, accepted),
    Part(
        "accepted-confirmed-crowd",
        f"accepted reservation that a replica confirms, {CROWD} at a time",
        SHOP_CONFIRMED,
        partial(accepted, connections=CROWD),
    ),
    Part("accepted-by-load", "accepted reservation, 1 to 256 at a time", SHOP, accepted_by_load, once=True),
    Part("sell-out", f"{SELL_OUT_UNITS:,} units sell out", SHOP, sell_out),
    Part("beside", "others beside a stampede", SHOP, beside_a_stampede),
)
