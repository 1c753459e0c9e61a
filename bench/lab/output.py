"""The output of the lab: tables for the terminal, JSON for programs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from bench.lab.fault_runs import FaultRun
from bench.lab.series import Run, SeriesResult
from bench.tables import terminal_table


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
    numbers = ("calls/s", "p50 ms", "p95", "p99", "trips", "cmds", "bytes", "CPU µs")
    table = terminal_table(title, words=("strategy",), numbers=numbers)
    for run in runs:
        measures = run.measures
        table.add_row(
            measures.strategy,
            f"{measures.attempts_per_second:,.0f}",
            f"{measures.p50_ms:.1f}",
            f"{measures.p95_ms:.0f}",
            f"{measures.p99_ms:.0f}",
            figure(measures.round_trips_per_attempt, 1),
            figure(measures.commands_per_attempt, 1),
            figure(measures.bytes_per_attempt, 0),
            figure(measures.server_cpu_us_per_attempt, 0),
        )
    return table


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
            str(fault_run.oversold or "–"),
            str(fault_run.unsold or "–"),
            "stuck" if fault_run.stuck else "–",
            str(fault_run.errors or "–"),
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
