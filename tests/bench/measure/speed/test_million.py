"""The figures of docs/million.md and docs/scaling.md are those of the last whole bench, multiplied as the pages say."""

import math
import re
from collections.abc import Mapping

import pytest

from bench.measure.speed.capacity_plan import Rush, plan
from orders.preflight.unit_costs import FILE, read_results, unit_costs
from seckill.store.pipeline.pipeline import UNDER_WAY_MAX
from shop.local.shop_processes import ROOT
from web.reservations.snapshots import AGE_SECONDS_MAX, INTERVAL_SECONDS

COSTS = unit_costs(read_results(FILE))
RUSH = Rush(requests_per_second=1_000_000, units=10_000)
PLAN = {line.what: line.value for line in plan(RUSH, COSTS)}
REFUSED_PER_SECOND = RUSH.requests_per_second * RUSH.refusal_percent // 100

YES_SECONDS = RUSH.units * COSTS.win_store_us / 1e6
CAME = (YES_SECONDS + AGE_SECONDS_MAX) * REFUSED_PER_SECOND
REFUSED_BY_SCRIPT = CAME - RUSH.units
PROCESSES = math.ceil(PLAN["web, together"])
IN_STORE = PROCESSES * UNDER_WAY_MAX


def rows() -> Mapping[str, str]:
    """The rows of all tables by their first cell, without what makes words bold."""
    text = (ROOT / "docs" / "million.md").read_text()
    found = [row.strip("|").split("|", 1) for row in re.findall(r"^\|.*\|$", text, re.MULTILINE)]
    return {first.strip().strip("*"): rest for first, rest in found}


def thousands(value: float) -> str:
    return f"{round(value, -3):,.0f}"


@pytest.mark.parametrize(
    ("row", "figures"),
    [
        ("web, refusals", [f"{COSTS.refusal_web_us:.0f}", f"{PLAN['web, refusals']:.0f}"]),
        ("web, live figures", [f"{COSTS.live_web_us:.0f}", f"{PLAN['web, live figures']:.0f}"]),
        ("web, pages", [f"{COSTS.page_web_us:.0f}", f"{PLAN['web, pages']:.1f}"]),
        ("web, reservations with yes, sold in 10 s", [f"{COSTS.win_web_us:.0f}"]),
        ("web together", [f"{PLAN['web, together']:.0f}"]),
        ("store, yes", [f"{COSTS.win_store_us:.0f}", f"{PLAN['store, accepted reservations'] / 100:.2f}"]),
        ("workers, orders", [f"{COSTS.order_worker_us:.0f}", f"{PLAN['Celery workers']:.1f}"]),
        ("PostgreSQL, orders", [f"{COSTS.order_postgres_us:.0f}", f"{PLAN['PostgreSQL']:.1f}"]),
        ("a refusal", [f"{COSTS.refusal_bytes:,.0f}"]),
        ("a live figure", [f"{COSTS.live_bytes:,.0f}"]),
        ("a page", [f"{COSTS.page_bytes:,.0f}"]),
        ("together", [f"{PLAN['answers on the wire']:.1f}"]),
        ("the store gives 10,000 yeses in", [f"{YES_SECONDS:.2f} s", f"{COSTS.win_store_us:.0f} µs"]),
        ("calls that have come by then", [thousands(CAME), f"{YES_SECONDS + AGE_SECONDS_MAX:.2f} s"]),
        (
            "of which the script refuses",
            [
                thousands(REFUSED_BY_SCRIPT),
                f"{COSTS.refused_store_us:.1f} µs",
                f"{REFUSED_BY_SCRIPT * COSTS.refused_store_us / 1e6:.1f} s",
            ],
        ),
        (
            "calls in the store at a time",
            [f"{IN_STORE:,}", f"{PROCESSES} processes", f"{IN_STORE * COSTS.win_store_us / 1e6:.1f} s"],
        ),
        (
            "memory of the store",
            [f"{RUSH.units * COSTS.undrained_bytes / 1e6:.0f} MB", f"{COSTS.undrained_bytes:.0f} bytes"],
        ),
        (
            "one item on one core of the store",
            [
                thousands(PLAN["store, highest rate of one item"]),
                f"{COSTS.win_store_us:.0f} µs",
                thousands(PLAN["store, rate in full pipelines"]),
                f"{COSTS.win_script_us:.0f} µs",
            ],
        ),
        ("many refusals", [f"{COSTS.refusal_web_us:.0f} µs"]),
        ("one PostgreSQL", [f"{COSTS.order_postgres_us:.0f} µs"]),
        (f"figures of {PROCESSES} processes", [f"{PROCESSES / INTERVAL_SECONDS:,.0f} a second"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_page_says_what_was_measured(row: str, figures: list[str]) -> None:
    missing = [figure for figure in figures if not re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d])", rows()[row])]
    assert missing == []


def test_the_page_of_hosts_has_the_same_plan() -> None:
    text = (ROOT / "docs" / "scaling.md").read_text()
    for rate, digits in ((10_000, 1), (100_000, 1), (1_000_000, 0)):
        rush = Rush(requests_per_second=rate, units=RUSH.units)
        found = {line.what: line.value for line in plan(rush, COSTS)}
        cores, sessions = f"{found['web, together']:.{digits}f}", found["connections, web"]
        assert f"{cores} cores of web" in text or f"web: {cores} cores" in text
        assert rate == 100_000 or f"{sessions + found['connections, workers']:,.0f} " in text
