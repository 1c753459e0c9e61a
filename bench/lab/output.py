"""The report for people, as tables in the terminal, and for programs, as JSON."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version

from rich.console import Console
from rich.table import Table

from bench.lab.fault_runs import Damage
from bench.lab.series import Run, SeriesReport


def show(reports: Sequence[SeriesReport], *, console: Console) -> None:
    """Print every series."""
    for report in reports:
        for table in tables_of(report):
            console.print(table)
        if report.runs:
            console.print(f"seed {report.runs[0].setting.seed}", style="dim")


def tables_of(report: SeriesReport) -> list[Table]:
    tables = []
    for setting in dict.fromkeys(run.setting for run in report.runs):
        runs = [run for run in report.runs if run.setting == setting]
        tables += [verdicts_table(report.name, runs), costs_table(runs)]
    return [*tables, damages_table(report.damages)] if report.damages else tables


def verdicts_table(name: str, runs: Sequence[Run]) -> Table:
    """What each strategy sold in one setting, and its verdict beside the expected one."""
    setting = runs[0].setting
    title = f"{name}: {setting.buyers:,} buyers, {setting.stock:,} units, {setting.concurrency} clients at a time"
    table = Table(title=title, title_justify="left")
    table.add_column("strategy", no_wrap=True)
    table.add_column("sold", justify="right", no_wrap=True)
    table.add_column("verdict")
    table.add_column("expected", style="dim")
    for run in runs:
        style = "bold red" if run.verdict.misbehaved else style_of(run)
        table.add_row(
            run.measures.strategy, f"{run.measures.sold:,}", run.verdict.words, run.verdict.expected, style=style
        )
    return table


def costs_table(runs: Sequence[Run]) -> Table:
    """What each strategy cost in the same setting."""
    table = Table(title="What an attempt cost; all but the times is counted at the server", title_justify="left")
    table.add_column("strategy", no_wrap=True)
    for column in ("calls/s", "p50 ms", "p95", "p99", "trips", "cmds", "bytes", "CPU µs"):
        table.add_column(column, justify="right", no_wrap=True)
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
    """A figure per attempt; a dash where the stock is in the database, whose commands we do not count."""
    return "–" if value is None else f"{value:,.{digits}f}"


def damages_table(damages: Sequence[Damage]) -> Table:
    """What each fault did to each strategy."""
    table = Table("strategy", "fault", title="Under faults", title_justify="left")
    for column in ("oversold", "unsold", "stuck", "errors"):
        table.add_column(column, justify="right")
    table.add_column("stopped before")
    for damage in damages:
        table.add_row(
            damage.strategy,
            str(damage.fault),
            str(damage.oversold or "–"),
            str(damage.unsold or "–"),
            "stuck" if damage.stuck else "–",
            str(damage.errors or "–"),
            ", ".join(damage.stops),
            style="bold red" if damage.misbehaved else "red" if damage.oversold else "yellow" if damage.stuck else "",
        )
    return table


def machine(versions: dict[str, str]) -> dict[str, str]:
    """What the figures were measured on."""
    return {
        "cores": str(os.cpu_count()),
        "processor": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "redis-py": version("redis"),
        **versions,
    }


def as_json(reports: Sequence[SeriesReport], *, versions: dict[str, str]) -> str:
    everything = {"machine": machine(versions), "series": [asdict(report) for report in reports]}
    return json.dumps(everything, indent=1) + "\n"
