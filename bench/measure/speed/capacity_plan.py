"""A plan in cores, stores and hosts for a rush, from what a request cost in the last `make bench`.

It multiplies. Its assumptions stand beside each line.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from orders.preflight.unit_costs import SOURCES, UnitCosts
from web.lanes import lanes
from web.reservations.snapshots import AGE_SECONDS_MAX, INTERVAL_SECONDS
from web.shells import RENDERING_THREADS

# Celery processes beside those that write orders, as `make run` has them: two for mails and payments, three for repair.
OTHER_WORKER_PROCESSES = 5
# Sessions that a core of PostgreSQL can use: some of them wait for the disk or for a lock.
POOL_PER_CORE = 4
# PgBouncer's own default.
POOL_SIZE_MIN = 20
# Members of staff who change a running sale at the same moment.
STAFF_LOCKS = 10
SPARE_CONNECTIONS = 20
# Lanes of the front door whose threads make no query, or a rare one.
WITHOUT_CONNECTION = ("health", "operators", "boards", "schema")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rush:
    """The load to expect: requests in a second at the peak, and units that sell within `sell_seconds`.

    The shares are of all requests, in percent. `busy_percent` is how much of a core may be used at the peak.
    """

    requests_per_second: int
    units: int
    sell_seconds: int = 10
    refusal_percent: int = 40
    live_percent: int = 50
    page_percent: int = 10
    busy_percent: int = 60
    cores_per_host: int = 16


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the plan, and what it rests on."""

    what: str
    value: float
    unit: str
    basis: str


def only_unit_costs(results: Mapping[str, Any]) -> dict[str, Any]:
    """The same results with nothing but the medians that a plan needs: small enough to be kept in git."""
    parts: dict[str, Any] = {}
    for part, figure in SOURCES.values():
        if measured := results["parts"].get(part):
            kept = parts.setdefault(part, {"wrong": measured["wrong"], "figures": {}})
            if figure in measured["figures"]:
                kept["figures"][figure] = {"median": measured["figures"][figure]["median"]}
    return {"machine": results["machine"], "parts": parts}


def plan(rush: Rush, costs: UnitCosts) -> list[Line]:
    """The lines, from the web servers to the hosts."""
    web = web_lines(rush, costs)
    stores = store_lines(rush, costs, web_cores=web[-1].value)
    orders = order_lines(rush, costs)
    hosts = host_lines(rush, web_cores=web[-1].value, order_cores=orders)
    connections = connection_lines(
        web_processes=math.ceil(web[-1].value),
        drain_processes=math.ceil(orders[0].value),
        postgres_cores=orders[1].value,
    )
    return [*web, network_line(rush, costs), *stores, *orders, *hosts, *connections]


def cores(rush: Rush, *, per_second: float, cost_us: float) -> float:
    return per_second * cost_us / 1e6 / (rush.busy_percent / 100)


def wins_per_second(rush: Rush) -> float:
    return rush.units / rush.sell_seconds


def web_lines(rush: Rush, costs: UnitCosts) -> list[Line]:
    """Cores of the web servers; the last line is their sum."""
    kinds = (
        ("refusals", rush.refusal_percent, costs.refusal_web_us),
        ("live figures", rush.live_percent, costs.live_web_us),
        ("pages", rush.page_percent, costs.page_web_us),
    )
    lines = []
    for name, percent, cost_us in kinds:
        per_second = rush.requests_per_second * percent / 100
        basis = f"{percent} % of the requests (assumed), {cost_us:.1f} µs each, cores {rush.busy_percent} % busy"
        lines.append(Line(f"web, {name}", cores(rush, per_second=per_second, cost_us=cost_us), "cores", basis))
    lines.append(
        Line(
            "web, accepted reservations",
            cores(rush, per_second=wins_per_second(rush), cost_us=costs.win_web_us),
            "cores",
            f"{rush.units:,} units sell evenly within {rush.sell_seconds} s (assumed), {costs.win_web_us:.0f} µs each",
        )
    )
    total = sum(line.value for line in lines)
    return [*lines, Line("web, together", total, "cores", "a core there is as fast as one that was measured")]


def store_lines(rush: Rush, costs: UnitCosts, *, web_cores: float) -> list[Line]:
    """The reservation store. All keys of an item are in one server, which runs scripts on one core."""
    wins = wins_per_second(rush)
    refused = rush.requests_per_second * rush.refusal_percent / 100 * AGE_SECONDS_MAX
    return [
        Line(
            "store, accepted reservations",
            wins * costs.win_store_us / 1e6 * 100,
            "% of its core",
            f"{costs.win_store_us:.1f} µs each by the shop's own traffic, with its fsyncs",
        ),
        Line(
            "store, highest rate of one item",
            1e6 / costs.win_store_us,
            "reservations/s",
            "one core runs the scripts of an item, however many hosts there are",
        ),
        Line(
            "store, rate in full pipelines",
            1e6 / costs.win_script_us,
            "reservations/s",
            f"{costs.win_script_us:.1f} µs each in pipelines of 500, which no traffic of a shop makes",
        ),
        Line(
            "store, shortest time to sell all units",
            rush.units * costs.win_store_us / 1e6,
            "s",
            "its core does nothing else; more items on more servers divide it",
        ),
        Line(
            "store, refusals after the last unit",
            refused * costs.refused_store_us / 1e6,
            "s of its core",
            f"figures of web processes are up to {AGE_SECONDS_MAX * 1000:.0f} ms old; until then calls ask the store",
        ),
        Line(
            "store, reads of figures",
            math.ceil(web_cores) / INTERVAL_SECONDS,
            "reads/s for each item",
            f"one process for each core reads {1 / INTERVAL_SECONDS:.0f} times a second; a read is not measured",
        ),
        Line(
            "store, memory",
            rush.units * costs.undrained_bytes / 1e6,
            "MB",
            f"{costs.undrained_bytes:.0f} bytes for a reservation, none of them an order yet",
        ),
    ]


def order_lines(rush: Rush, costs: UnitCosts) -> list[Line]:
    """Workers and PostgreSQL keep up with the sale."""
    wins = wins_per_second(rush)
    return [
        Line(
            "Celery workers",
            cores(rush, per_second=wins, cost_us=costs.order_worker_us),
            "cores",
            f"{costs.order_worker_us:.0f} µs for an order, in batches as in the bench",
        ),
        Line(
            "PostgreSQL",
            cores(rush, per_second=wins, cost_us=costs.order_postgres_us),
            "cores",
            f"{costs.order_postgres_us:.0f} µs for an order; paying and pages of orders come on top",
        ),
    ]


def host_lines(rush: Rush, *, web_cores: float, order_cores: Sequence[Line]) -> list[Line]:
    size = f"hosts of {rush.cores_per_host} cores (assumed)"
    workers, postgres = (line.value for line in order_cores)
    return [
        Line("web hosts", math.ceil(web_cores / rush.cores_per_host), "hosts", f"{size}, without one to spare"),
        Line("worker hosts", math.ceil(workers / rush.cores_per_host), "hosts", size),
        Line("PostgreSQL hosts", math.ceil(postgres / rush.cores_per_host), "hosts", f"{size}; there can be only 1"),
        Line("store hosts", 1, "host", "one item; a replica and the server for cache and broker come on top"),
    ]


def connection_lines(*, web_processes: int, drain_processes: int, postgres_cores: float) -> list[Line]:
    """Connections to PostgreSQL, straight and through PgBouncer in transaction mode (docs/postgres.md)."""
    # A thread keeps its connection for a minute.
    threads = sum(lane.threads for lane in lanes() if lane.name not in WITHOUT_CONNECTION) + RENDERING_THREADS
    web, workers = web_processes * threads, drain_processes + OTHER_WORKER_PROCESSES
    pool = max(POOL_SIZE_MIN, math.ceil(postgres_cores * POOL_PER_CORE))
    direct = workers + STAFF_LOCKS
    return [
        Line("connections, web", web, "at most", f"{web_processes} processes (one for each core) × {threads} threads"),
        Line(
            "connections, workers",
            workers,
            "at most",
            f"one for each Celery process: {drain_processes} for orders, {OTHER_WORKER_PROCESSES} for the other queues",
        ),
        Line(
            "without a pooler, max_connections",
            web + workers + SPARE_CONNECTIONS,
            "at least",
            f"{SPARE_CONNECTIONS} for migrations, monitoring, replicas and people (assumed)",
        ),
        Line(
            "PgBouncer, max_client_conn", web + workers, "at least", "all of them; divided by the number of PgBouncers"
        ),
        Line(
            "PgBouncer, default_pool_size",
            pool,
            "sessions",
            f"{POOL_PER_CORE} for each busy core of PostgreSQL (assumed), at least {POOL_SIZE_MIN}; divided likewise",
        ),
        Line(
            "direct, for locks",
            direct,
            "at most",
            f"one for each Celery process, and {STAFF_LOCKS} for staff who change sales at once (assumed)",
        ),
        Line(
            "with PgBouncer, max_connections",
            pool + direct + SPARE_CONNECTIONS,
            "at least",
            f"pool, locks, and {SPARE_CONNECTIONS} as above",
        ),
    ]


def network_line(rush: Rush, costs: UnitCosts) -> Line:
    """The traffic that the web servers send."""
    bytes_each = (
        rush.refusal_percent * costs.refusal_bytes
        + rush.live_percent * costs.live_bytes
        + rush.page_percent * costs.page_bytes
    ) / 100
    gigabits = rush.requests_per_second * bytes_each * 8 / 1e9
    return Line(
        "answers on the wire", gigabits, "Gbit/s", f"{bytes_each:.0f} bytes for an answer, before TLS and packets"
    )


def as_json(rush: Rush, lines: Sequence[Line], *, measured_on: Mapping[str, Any]) -> str:
    everything = {"rush": asdict(rush), "measured_on": measured_on, "lines": [asdict(line) for line in lines]}
    return json.dumps(everything, indent=1, ensure_ascii=False)
