"""The results as tables: in the terminal, and on a page in Markdown, docs/results/speed.md."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape

from bench.machine import sentence_of
from bench.measure.speed.part import ANSWERS
from bench.measure.speed.ratios import Spread, Target, Verdict, spread
from bench.measure.speed.rounds import Outcome
from bench.measure.speed.speed_results import spreads_of
from bench.tables import markdown_table, terminal_table

KINDS = ("web", "worker", "beat", "postgres", "store", "replica", "cache", "wrk")
REACHED = {True: "yes", False: "**no**", None: ""}
# The same words in the terminal.
STYLED = {"yes": "[green]yes[/]", "**no**": "[bold red]no[/]"}
HEAD = """\
# The speed of the shop

Written by `make bench`; all rounds are in `.stampede/speed/speed.json`. Explained in [performance](../performance.md).
"""


class Rows(NamedTuple):
    """A table: the first column has words, the others have figures. `note` stands above it on the page."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def tables_of(outcomes: Sequence[Outcome], verdicts: Sequence[Verdict]) -> list[Rows]:
    """The tables that are not empty."""
    spreads = {outcome.part.title: spreads_of(list(outcome.samples.values())) for outcome in outcomes}
    answers = {title: figures for title, figures in spreads.items() if "per_second" in figures}
    tables = (verdict_rows(verdicts), speed_rows(answers), cost_rows(answers), other_rows(spreads))
    return [table for table in tables if table.rows]


def show(outcomes: Sequence[Outcome], verdicts: Sequence[Verdict], *, console: Console) -> None:
    """Print the tables, the verdicts last."""
    for rows in sorted(tables_of(outcomes, verdicts), key=lambda rows: "reached" in rows.headings):
        table = terminal_table(
            f"{rows.title}. {rows.note}".strip(". "), words=rows.headings[:1], numbers=rows.headings[1:]
        )
        for words, *cells in rows.rows:
            table.add_row(escape(words), *(STYLED.get(cell, cell) for cell in cells))
        console.print(table)
    for outcome in outcomes:
        for wrong in outcome.wrong:
            console.print(f"[bold red]{outcome.part.name}: {escape(wrong)}[/]")


def page(outcomes: Sequence[Outcome], verdicts: Sequence[Verdict], *, measured_on: Mapping[str, str]) -> str:
    """The whole page as Markdown."""
    sections = [f"{HEAD}\n{sentence_of(measured_on)}."]
    for title, headings, rows, note in tables_of(outcomes, verdicts):
        table = markdown_table(headings, rows, text_columns=1)
        sections.append("\n\n".join(part for part in (f"## {title}", note, table) if part))
    wrong = [f"- `{outcome.part.name}`: {text}" for outcome in outcomes for text in outcome.wrong]
    if wrong:
        sections.append("## Wrong answers\n\n" + "\n".join(wrong))
    return "\n\n".join(sections) + "\n"


def verdict_rows(verdicts: Sequence[Verdict]) -> Rows:
    """The targets of the shop, and whether it reached them."""
    rows = []
    for verdict in verdicts:
        found = spread(verdict.values)
        cells = [verdict.target.title, bound_of(verdict.target), number(found.median)]
        rows.append([*cells, f"{number(found.low)} to {number(found.high)}", REACHED[verdict.reached]])
    headings = ("what", "bound", "median", "range", "reached")
    return Rows("What it must reach", headings, rows, "Medians of ratios within a round.")


def speed_rows(answers: Mapping[str, Mapping[str, Spread]]) -> Rows:
    rows = []
    for title, figures in answers.items():
        rate = figures["per_second"]
        cells = [title, f"{rate.median:,.0f}", f"{rate.low:,.0f} to {rate.high:,.0f}"]
        rows.append([*cells, *(f"{number(figures[name].median)} ms" for name in ("p50_ms", "p99_ms"))])
    headings = ("what", "answers/s", "range", "p50", "p99")
    return Rows("Answers in a second", headings, rows, "Medians of the rounds, and their range.")


def cost_rows(answers: Mapping[str, Mapping[str, Spread]]) -> Rows:
    rows = [[title, *(cpu_cell(figures.get(f"cpu_us.{kind}")) for kind in KINDS)] for title, figures in answers.items()]
    return Rows("Processor time for each answer, in µs", ("what", *KINDS), rows)


def other_rows(spreads: Mapping[str, Mapping[str, Spread]]) -> Rows:
    """The figures that have no column in the other tables."""
    rows = [
        [title, name.replace("_", " "), number(found.median)]
        for title, figures in spreads.items()
        for name, found in figures.items()
        if name not in ANSWERS and not name.startswith("cpu_us.")
    ]
    return Rows("Other figures", ("of", "figure", "median"), rows)


def cpu_cell(found: Spread | None) -> str:
    """Microseconds; empty where the process does not run, or did nothing that can be measured."""
    if found is None or found.median < 0.05:
        return ""
    return f"{found.median:,.0f}" if found.median >= 10 else f"{found.median:.1f}"


def bound_of(target: Target) -> str:
    if target.bound is None:
        return ""
    word = ("below" if target.strict else "at most") if target.at_most else "at least"
    return f"{word} {target.bound:g} {target.unit}".strip()


def number(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
