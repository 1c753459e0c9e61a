"""The results as tables in the terminal."""

from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.measure.speed.ratios import Spread, Target, Verdict, spread
from bench.measure.speed.rounds import Outcome
from bench.measure.speed.speed_results import spreads_of

KINDS = ("web", "worker", "beat", "postgres", "store", "cache", "wrk")
WORDS = {True: "[green]yes[/]", False: "[bold red]no[/]", None: ""}
# These have columns of their own.
IN_COLUMNS = ("per_second", "p50_ms", "p99_ms", "answer_bytes")


def show(outcomes: Sequence[Outcome], verdicts: Sequence[Verdict], *, console: Console) -> None:
    spreads = {outcome.part.title: spreads_of(list(outcome.samples.values())) for outcome in outcomes}
    if any("per_second" in figures for figures in spreads.values()):
        console.print(speeds_table(spreads))
        console.print(costs_table(spreads))
    if more := more_lines(spreads):
        console.print(more)
    if verdicts:
        console.print(verdicts_table(verdicts))
    for outcome in outcomes:
        if outcome.not_here:
            console.print(f"[yellow]{outcome.part.name} was not measured: {escape(outcome.not_here)}.[/]")
        for wrong in outcome.wrong:
            console.print(f"[bold red]{outcome.part.name}: {escape(wrong)}[/]")


def speeds_table(spreads: Mapping[str, Mapping[str, Spread]]) -> Table:
    """The rate and the speed of the answers of each part."""
    table = Table(title="Medians of the rounds", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("what", no_wrap=True)
    for column in ("answers/s", "lowest", "highest", "p50 ms", "p99 ms"):
        table.add_column(column, justify="right", no_wrap=True)
    for title, figures in spreads.items():
        if "per_second" in figures:
            rate = figures["per_second"]
            table.add_row(
                title,
                *(f"{value:,.0f}" for value in (rate.median, rate.low, rate.high)),
                *(number(figures[name].median) for name in ("p50_ms", "p99_ms")),
            )
    return table


def costs_table(spreads: Mapping[str, Mapping[str, Spread]]) -> Table:
    """The cost of an answer for each kind of process."""
    table = Table(title="Processor time for each answer, in µs", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("what", no_wrap=True)
    for kind in KINDS:
        table.add_column(kind, justify="right", no_wrap=True)
    for title, figures in spreads.items():
        if "per_second" in figures:
            table.add_row(title, *(cpu_cell(figures.get(f"cpu_us.{kind}")) for kind in KINDS))
    return table


def cpu_cell(found: Spread | None) -> str:
    """Microseconds; empty where the process does not run, or did nothing that can be measured."""
    if found is None or found.median < 0.05:
        return ""
    return f"{found.median:,.0f}" if found.median >= 10 else f"{found.median:.1f}"


def more_lines(spreads: Mapping[str, Mapping[str, Spread]]) -> str:
    """The figures that have no column."""
    lines = []
    for title, figures in spreads.items():
        more = [f"{name.replace('_', ' ')} {number(found.median)}" for name, found in more_figures(figures).items()]
        if more:
            lines.append(f"{title}: {', '.join(more)}")
    return "\n".join(lines)


def more_figures(figures: Mapping[str, Spread]) -> dict[str, Spread]:
    return {name: found for name, found in figures.items() if name not in IN_COLUMNS and not name.startswith("cpu_us.")}


def verdicts_table(verdicts: Sequence[Verdict]) -> Table:
    """The targets of the shop, and whether it reached them."""
    table = Table(title="What it must reach: medians of ratios within a round", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("what", no_wrap=True)
    for column in ("bound", "median", "range"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("reached", no_wrap=True)
    for verdict in verdicts:
        found = spread(verdict.values)
        table.add_row(
            verdict.target.title,
            bound_of(verdict.target),
            number(found.median),
            f"{number(found.low)}–{number(found.high)}",
            WORDS[verdict.reached],
        )
    return table


def bound_of(target: Target) -> str:
    if target.bound is None:
        return ""
    word = ("below" if target.strict else "at most") if target.at_most else "at least"
    return f"{word} {target.bound:g} {target.unit}".strip()


def number(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
