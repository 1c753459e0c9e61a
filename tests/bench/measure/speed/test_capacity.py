"""`manage.py capacity`: a plan from the figures of the last bench, or a clear refusal."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from bench.measure.speed.capacity_plan import (
    OTHER_WORKER_PROCESSES,
    POOL_PER_CORE,
    SPARE_CONNECTIONS,
    STAFF_LOCKS,
    only_unit_costs,
)
from orders.preflight.unit_costs import SOURCES, unit_costs
from tests.steps.operating import run_command
from web.reservations.snapshots import AGE_SECONDS_MAX, INTERVAL_SECONDS

US = {
    "refusal_web_us": 12.0,
    "live_web_us": 6.0,
    "page_web_us": 10.0,
    "win_web_us": 200.0,
    "win_store_us": 10.0,
    "win_script_us": 4.0,
    "refused_store_us": 5.0,
    "order_worker_us": 60.0,
    "order_postgres_us": 30.0,
    "refusal_bytes": 500.0,
    "live_bytes": 400.0,
    "page_bytes": 9_000.0,
    "undrained_bytes": 250.0,
}


def results() -> dict[str, Any]:
    parts: dict[str, Any] = {}
    for name, (part, figure) in SOURCES.items():
        measured = parts.setdefault(part, {"wrong": [], "figures": {}})
        measured["figures"][figure] = {"low": 0.0, "median": US[name], "high": 1e9}
    return {"machine": {"cores": "2"}, "parts": parts}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "speed.json"
    path.write_text(json.dumps(results()))
    return path


def capacity(file: Path, *arguments: str) -> str:
    words = arguments or ("--rps", "1000000", "--units", "10000")
    return run_command("capacity", "--results", str(file), *words)


def lines_of(file: Path, *arguments: str) -> dict[str, float]:
    said = json.loads(capacity(file, *arguments, "--json"))
    assert all(line["basis"] for line in said["lines"])
    return {line["what"]: line["value"] for line in said["lines"]}


def test_the_plan_multiplies_unit_costs(file: Path) -> None:
    lines = lines_of(file, "--rps", "1000000", "--units", "10000", "--busy", "50")
    assert lines["web, refusals"] == pytest.approx(400_000 * 12e-6 / 0.5)
    assert lines["web, live figures"] == pytest.approx(500_000 * 6e-6 / 0.5)
    assert lines["web, pages"] == pytest.approx(100_000 * 10e-6 / 0.5)
    assert lines["web, accepted reservations"] == pytest.approx(1_000 * 200e-6 / 0.5)
    assert lines["web, together"] == pytest.approx(9.6 + 6 + 2 + 0.4)
    assert lines["web hosts"] == 2
    assert lines["store, accepted reservations"] == pytest.approx(1.0)
    assert lines["store, highest rate of one item"] == pytest.approx(100_000)
    assert lines["store, rate in full pipelines"] == pytest.approx(250_000)
    assert lines["store, shortest time to sell all units"] == pytest.approx(0.1)
    assert lines["store, refusals after the last unit"] == pytest.approx(400_000 * AGE_SECONDS_MAX * 5e-6)
    assert lines["store, memory"] == pytest.approx(2.5)
    assert lines["Celery workers"] == pytest.approx(1_000 * 60e-6 / 0.5)
    assert lines["PostgreSQL"] == pytest.approx(1_000 * 30e-6 / 0.5)
    assert lines["store, reads of figures"] == pytest.approx(18 / INTERVAL_SECONDS)
    assert lines["answers on the wire"] == pytest.approx(1e6 * (200 + 200 + 900) * 8 / 1e9)


def test_what_is_assumed_can_be_given(file: Path) -> None:
    given = ("--shares", "20,70,10", "--sell-seconds", "20", "--busy", "50", "--cores-per-host", "6")
    lines = lines_of(file, "--rps", "1000000", "--units", "10000", *given)
    assert lines["web, refusals"] == pytest.approx(200_000 * 12e-6 / 0.5)
    assert lines["web, live figures"] == pytest.approx(700_000 * 6e-6 / 0.5)
    assert lines["Celery workers"] == pytest.approx(500 * 60e-6 / 0.5)
    # Of 15.4 cores.
    assert lines["web hosts"] == 3


def test_connections_are_counted_with_and_without_a_pooler(file: Path) -> None:
    lines = lines_of(file, "--rps", "1000000", "--units", "10000", "--busy", "50")
    # 18 cores of web, so as many processes with 30 threads each; 0.12 cores of workers, so one process for orders.
    threads = 30
    assert lines["connections, web"] == 18 * threads
    assert lines["connections, workers"] == 1 + OTHER_WORKER_PROCESSES
    everything = 18 * threads + 1 + OTHER_WORKER_PROCESSES
    assert lines["without a pooler, max_connections"] == everything + SPARE_CONNECTIONS
    assert lines["PgBouncer, max_client_conn"] == everything
    # A tenth of a core asks for less than PgBouncer's default.
    assert lines["PgBouncer, default_pool_size"] == 20
    assert lines["direct, for locks"] == 1 + OTHER_WORKER_PROCESSES + STAFF_LOCKS
    assert lines["with PgBouncer, max_connections"] == 20 + lines["direct, for locks"] + SPARE_CONNECTIONS
    # 200,000 orders a second at 30 µs, half busy: 12 cores.
    lines = lines_of(file, "--rps", "1000000", "--units", "2000000", "--busy", "50")
    assert lines["PgBouncer, default_pool_size"] == 12 * POOL_PER_CORE
    assert (lines["worker hosts"], lines["PostgreSQL hosts"]) == (2, 1)


def test_the_table_names_the_assumption_of_each_line_and_the_machine(file: Path) -> None:
    said = capacity(file)
    assert "1,000,000 requests/s, 10,000 units in 10 s" in said
    assert "40 % of the requests (assumed), 12.0 µs each, cores 60 % busy" in said
    assert "one core runs the scripts of an item" in said
    assert "cores 2" in said


def test_the_small_file_of_unit_costs_gives_the_same_plan(file: Path) -> None:
    whole = results()
    whole["parts"]["idle"] = {"wrong": [], "figures": {"cpu_us.web": {"median": 3.0}}}
    small = only_unit_costs(whole)
    assert "idle" not in small["parts"]
    assert unit_costs(small) == unit_costs(whole)
    assert small["machine"] == whole["machine"]


def test_without_a_name_it_reads_the_costs_that_the_last_whole_bench_left_in_the_tree() -> None:
    assert "Unit costs from" in run_command("capacity", "--rps", "1000000", "--units", "10000")


def test_a_file_that_is_no_result_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "speed.json"
    with pytest.raises(CommandError, match="There is no result of the bench at .*Run `make bench`"):
        capacity(path)
    for text in ("", "{", "[]", "{}", '{"parts": []}'):
        path.write_text(text)
        with pytest.raises(CommandError, match="a result of `make bench`"):
            capacity(path)


def test_a_figure_that_is_missing_or_nothing_and_wrong_answers_are_named(file: Path) -> None:
    def refused(changed: dict[str, Any], why: str) -> None:
        file.write_text(json.dumps(changed))
        with pytest.raises(CommandError, match=why):
            capacity(file)

    for part, figure in SOURCES.values():
        changed = results()
        del changed["parts"][part]["figures"][figure]
        refused(changed, f"did not measure {figure} of the part {part}. Run a whole")
    for median in (0, math.inf):
        changed = results()
        changed["parts"]["refusal"]["figures"]["cpu_us.web"]["median"] = median
        refused(changed, "the run was too short")
    changed = results()
    changed["parts"]["accepted"]["wrong"] = ["3 orders were lost"]
    refused(changed, "accepted had wrong answers")


def test_impossible_arguments_are_refused(file: Path) -> None:
    for words in (
        "--units 1",
        "--rps 0 --units 1",
        "--rps -5 --units 1",
        "--rps 1.5 --units 1",
        "--rps 1000000001 --units 1",
        f"--rps {'9' * 5_000} --units 1",
        "--rps 1 --units many",
        "--rps 1 --units 1 --shares 50,50",
        "--rps 1 --units 1 --shares 50,50,10",
        "--rps 1 --units 1 --shares 150,-50,0",
        "--rps 1 --units 1 --busy 101",
    ):
        with pytest.raises(CommandError):
            capacity(file, *words.split())
