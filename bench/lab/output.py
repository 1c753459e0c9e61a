"""The output of the lab: tables for the terminal, JSON for programs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.lab.fault_runs import FaultRun
from bench.lab.measures import percent
from bench.lab.series import Run, SeriesResult
from bench.tables import terminal_table

# The costs of an attempt, as headings.
COSTS = ("calls/s", "p50 ms", "p95 ms", "p99 ms", "trips", "commands", "bytes", "CPU µs")


def show(results: Sequence[SeriesResult], *, console: Console) -> None:
    for result in results:
        for table in tables_of(result):
            console.print(table)
        if result.runs:
            console.print(f"seed {result.runs[0].setting.seed}", style="dim")


def tables_of(result: SeriesResult) -> list[Table]:
    tables = []
    for setting in dict.fromkeys(run.setting for run in result.runs):
        runs = [run for run in result.runs if run.setting == setting]
        tables += [judgements_table(result.name, runs), costs_table(runs)]
    return [*tables, fault_runs_table(result.fault_runs)] if result.fault_runs else tables


def judgements_table(name: str, runs: Sequence[Run]) -> Table:
    """The units that each strategy sold in one setting, and the result expected of it."""
    setting = runs[0].setting
    title = f"{name}: {setting.buyers:,} buyers, {setting.stock:,} units, {setting.concurrency} clients at a time"
    table = Table(title=title, title_justify="left")
    table.add_column("strategy", no_wrap=True)
    table.add_column("sold", justify="right", no_wrap=True)
    table.add_column("verdict")
    table.add_column("expected", style="dim")
    for run in runs:
        style = "bold red" if run.judgement.unexpected else style_of(run)
        table.add_row(
            run.measures.strategy, f"{run.measures.sold:,}", run.judgement.words, run.judgement.expected, style=style
        )
    return table


def costs_table(runs: Sequence[Run]) -> Table:
    """The cost of each strategy in the same setting."""
    title = "Cost of an attempt; all but the times is counted by the server"
    table = terminal_table(title, words=("strategy",), numbers=COSTS)
    for run in runs:
        cells = cells_of(asdict(run))
        table.add_row(run.measures.strategy, *(cells[heading] for heading in COSTS))
    return table


def cells_of(run: Mapping[str, Any]) -> dict[str, str]:
    """The figures of a run, which is as in JSON, by the headings of all tables."""
    one = run["measures"]
    return {
        "strategy": f"`{one['strategy']}`",
        "verdict": run["judgement"]["words"],
        "buyers": f"{one['buyers']:,}",
        "sold": f"{one['sold']:,}",
        "calls/s": f"{one['attempts_per_second']:,.0f}",
        **{f"{name} ms": f"{one[f'{name}_ms']:.1f}" for name in ("p50", "p95", "p99")},
        "false refusals": count(one["false_refusals"]),
        "busy": count(one["busy"]),
        "share busy": percent(one["busy"], one["buyers"]),
        "unsold": count(one["unsold"]),
        "trips": figure(one["round_trips_per_attempt"], 1),
        "commands": figure(one["commands_per_attempt"], 1),
        "bytes": figure(one["bytes_per_attempt"], 0),
        "CPU µs": figure(one["server_cpu_us_per_attempt"], 0),
    }


def count(number: int) -> str:
    return f"{number:,}" if number else "–"


def style_of(run: Run) -> str:
    if run.measures.oversold:
        return "red"
    return "yellow" if run.measures.unsold or run.measures.stuck else "green"


def figure(value: float | None, digits: int) -> str:
    """A figure per attempt; a dash for strategies that use the database, whose commands are not counted."""
    return "–" if value is None else f"{value:,.{digits}f}"


def fault_runs_table(fault_runs: Sequence[FaultRun]) -> Table:
    """The damage that each fault did to each strategy."""
    counted = ("oversold", "unsold", "stuck", "errors")
    table = terminal_table("Under faults", words=("strategy", "fault"), numbers=counted)
    table.add_column("struck")
    for fault_run in fault_runs:
        table.add_row(
            fault_run.strategy,
            str(fault_run.fault),
            count(fault_run.oversold),
            count(fault_run.unsold),
            "stuck" if fault_run.stuck else "–",
            count(fault_run.errors),
            moment_of(fault_run),
            style=style_of_fault(fault_run),
        )
    return table


def style_of_fault(fault_run: FaultRun) -> str:
    if fault_run.unexpected:
        return "bold red"
    return "red" if fault_run.oversold else "yellow" if fault_run.stuck else ""


def moment_of(fault_run: FaultRun) -> str:
    """When the fault struck: the commands before which the buyer was stopped, or the answers given before."""
    if fault_run.answers_before is not None:
        return f"after {fault_run.answers_before:,} answers"
    return f"before {', '.join(fault_run.stops)}" if fault_run.stops else ""


def as_json(results: Sequence[SeriesResult], *, measured_on: Mapping[str, str]) -> str:
    everything = {"machine": measured_on, "series": [asdict(result) for result in results]}
    return json.dumps(everything, indent=1) + "\n"
