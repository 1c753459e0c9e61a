"""The look at the load: how long the orders of the sale take to be written, and what its buyers cost."""

import os
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from orders.preflight.finding import Finding, good, warning
from orders.preflight.unit_costs import FILE, NoUnitCosts, UnitCosts, read_results, unit_costs
from orders.rehearsal.plan import BUYERS_FOR_A_UNIT
from seckill.models import Sale
from shop.celery import app

# The queue from which workers write orders.
QUEUE = "drain"
# How long workers have to answer. A busy one answers between two tasks of its children, which takes it milliseconds.
ANSWER_SECONDS = 1.0
# Then the alert StampedeOrdersLate rings.
LATE_SECONDS = 30
# What each buyer asks for around the opening: one page, live figures once a second, and a unit. As `manage.py capacity`
# plans: within ten seconds, on cores that are 60 % busy.
RUSH_SECONDS, LIVE_CALLS, BUSY = 10, 10, 0.6


def look_at_load(sale: Sale) -> Iterator[Finding]:
    units = [item.quantity for item in sale.items.all() if item.quantity]
    if not units:
        # The look at the terms says that each buyer gets units.
        return
    try:
        results = read_results(FILE)
        costs = unit_costs(results)
    except NoUnitCosts as error:
        yield warning(
            _("How long orders take is not known: %(error)s"),
            _("Run a whole `make bench` in a checkout, and copy its unit_costs.json to %(file)s."),
            error=error,
            file=FILE,
        )
        return
    measured_on = results.get("machine", {})
    machine = f"{measured_on.get('processor', '?')}, {measured_on.get('cores', '?')}"
    yield drain_finding(units, costs, machine=machine, processes=processes_of(QUEUE))
    if sale.has_draw:
        yield good(_("In a draw nobody has to be fast, so no crowd is expected at the opening."))
        return
    if max(units) > settings.SECKILL_BACKLOG_MAX:
        yield warning(
            _(
                "An item has %(units)s units. While more than %(most)s of its reservations wait to become orders, "
                "buyers are told to come again."
            ),
            _("Raise SECKILL_BACKLOG_MAX to the units of the largest item."),
            units=f"{max(units):,}",
            most=f"{settings.SECKILL_BACKLOG_MAX:,}",
        )
    yield crowd_finding(sum(units), costs)


def drain_finding(units: list[int], costs: UnitCosts, *, machine: str, processes: int) -> Finding:
    """One process at a time writes the orders of an item, and waits for PostgreSQL meanwhile."""
    if not processes:
        return warning(
            _("How long orders take is not known: no worker of the queue “drain” answered."),
            _("See what is said about workers, and look again."),
        )
    seconds = max(max(units), sum(units) / processes) * (costs.order_worker_us + costs.order_postgres_us) / 1e6
    values = {
        "units": f"{sum(units):,}",
        "seconds": f"{max(seconds, 0.1):.1f}",
        "processes": processes,
        "machine": machine,
    }
    text = _(
        "If all %(units)s units sell at once, they are orders within %(seconds)s s: %(processes)s worker processes "
        "write them, each as fast as on the machine of the bench (%(machine)s cores)."
    )
    if seconds <= LATE_SECONDS:
        return good(text, **values)
    todo = _(
        "Buyers wait so long until they can pay; nothing is lost. More processes for the queue “drain” help as far as "
        "there are more items: each item is written by one at a time."
    )
    return warning(text, todo, **values)


def crowd_finding(units: int, costs: UnitCosts) -> Finding:
    """What the buyers cost the web servers."""
    buyers = units * BUYERS_FOR_A_UNIT
    each_us = costs.page_web_us + LIVE_CALLS * costs.live_web_us + costs.refusal_web_us
    cores = (buyers * each_us + units * costs.win_web_us) / 1e6 / RUSH_SECONDS / BUSY
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    values: dict[str, Any] = {
        "buyers": f"{buyers:,}",
        "seconds": RUSH_SECONDS,
        "cores": f"{max(cores, 0.1):.1f}",
        "here": here,
    }
    text = _(
        "If %(buyers)s buyers come within %(seconds)s seconds, four for each unit, the web servers need about "
        "%(cores)s cores. This machine has %(here)s."
    )
    if cores <= here:
        return good(text, **values)
    return warning(text, _("Start web processes on more hosts, unless there are enough (docs/scaling.md)."), **values)


def processes_of(queue: str) -> int:
    """How many processes of workers that answer now take messages of this queue."""
    queues_of = app.control.inspect(timeout=ANSWER_SECONDS).active_queues() or {}
    takers = [node for node, queues in queues_of.items() if queue in {one["name"] for one in queues}]
    if not takers:
        return 0
    pools = app.control.inspect(destination=takers, timeout=ANSWER_SECONDS).stats() or {}
    return sum(int(stats["pool"].get("max-concurrency", 1)) for stats in pools.values())
