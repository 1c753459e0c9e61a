"""The results as a page in Markdown: docs/results/speed.md."""

from collections.abc import Mapping, Sequence

from bench.markdown_table import markdown_table
from bench.measure.harness import sentence_of
from bench.measure.speed.ratios import Spread, Verdict, spread
from bench.measure.speed.rounds import Outcome
from bench.measure.speed.speed_results import spreads_of
from bench.measure.speed.speed_table import KINDS, bound_of, cpu_cell, more_figures, number

REACHED = {True: "yes", False: "**no**", None: ""}
HEAD = """\
# The speed of the shop

Written by `make bench`; all rounds are in `.stampede/speed/speed.json`. Explained in [performance](../performance.md).
"""


def page(outcomes: Sequence[Outcome], verdicts: Sequence[Verdict], *, measured_on: Mapping[str, str]) -> str:
    spreads = {outcome.part.title: spreads_of(list(outcome.samples.values())) for outcome in outcomes}
    answers = {title: figures for title, figures in spreads.items() if "per_second" in figures}
    sections = [f"{HEAD}\n{sentence_of(measured_on)}."]
    if verdicts:
        sections.append("## What it must reach\n\nMedians of ratios within a round.\n\n" + verdicts_table(verdicts))
    if answers:
        sections.append("## Answers in a second\n\nMedians of the rounds, and their range.\n\n" + speeds_table(answers))
        sections.append("## Processor time for each answer, in µs\n\n" + costs_table(answers))
    if others := others_table(spreads):
        sections.append("## Other figures\n\n" + others)
    wrong = [f"- `{outcome.part.name}`: {text}" for outcome in outcomes for text in outcome.wrong]
    if wrong:
        sections.append("## Wrong answers\n\n" + "\n".join(wrong))
    return "\n\n".join(sections) + "\n"


def verdicts_table(verdicts: Sequence[Verdict]) -> str:
    rows = []
    for verdict in verdicts:
        found = spread(verdict.values)
        limits = f"{number(found.low)} to {number(found.high)}"
        cells = [verdict.target.title, bound_of(verdict.target), number(found.median), limits]
        rows.append([*cells, REACHED[verdict.reached]])
    return table(["what", "bound", "median", "range", "reached"], rows)


def speeds_table(spreads: Mapping[str, Mapping[str, Spread]]) -> str:
    rows = []
    for title, figures in spreads.items():
        rate = figures["per_second"]
        cells = [title, f"{rate.median:,.0f}", f"{rate.low:,.0f} to {rate.high:,.0f}"]
        rows.append([*cells, *(f"{number(figures[name].median)} ms" for name in ("p50_ms", "p99_ms"))])
    return table(["what", "answers/s", "range", "p50", "p99"], rows)


def costs_table(spreads: Mapping[str, Mapping[str, Spread]]) -> str:
    rows = [[title, *(cpu_cell(figures.get(f"cpu_us.{kind}")) for kind in KINDS)] for title, figures in spreads.items()]
    return table(["what", *KINDS], rows)


def others_table(spreads: Mapping[str, Mapping[str, Spread]]) -> str:
    rows = [
        [title, name.replace("_", " "), number(found.median)]
        for title, figures in spreads.items()
        for name, found in more_figures(figures).items()
    ]
    return table(["of", "figure", "median"], rows) if rows else ""


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return markdown_table(headings, rows, text_columns=1)
