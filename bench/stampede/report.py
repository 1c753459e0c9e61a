"""The verdict as two tables with a summary in words, and as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from bench.stampede.item_verdict import ItemVerdict
from bench.stampede.timed_calls import CallTimes
from bench.stampede.verdict import Verdict
from bench.tables import terminal_table

PROVES_NOTHING = "This run proves nothing: nobody was told yes, although units were left."


def show(verdict: Verdict, *, paying: Mapping[str, CallTimes], console: Console) -> None:
    """Print the verdict, and how long the calls of paying buyers took."""
    console.print(answers_table(verdict))
    console.print(figures_table(verdict))
    if len(verdict.items) > 1:
        console.print(items_table(verdict.items))
    if paying:
        console.print(paying_table(paying))
    console.print(summary(verdict), style="green" if verdict.kept and not verdict.proves_nothing else "bold red")


def as_json(verdict: Verdict, *, paying: Mapping[str, CallTimes]) -> str:
    meanwhile = {kind: asdict(times) for kind, times in paying.items()}
    return json.dumps({**asdict(verdict), "kept": verdict.kept, "paying": meanwhile}, indent=2) + "\n"


def answers_table(verdict: Verdict) -> Table:
    table = terminal_table("What the shop answered", words=("answer",), numbers=("calls",))
    for outcome, count in verdict.answer_counts.items():
        table.add_row(outcome, f"{count:,}")
    return table


def figures_table(verdict: Verdict) -> Table:
    table = terminal_table("Verdict", words=("figure",), numbers=("value",))
    table.add_column("meaning")
    of = "unlimited" if verdict.quantity is None else f"{verdict.quantity:,}"
    of += f", {len(verdict.items)} items" if len(verdict.items) > 1 else ""
    asked = f"calls by {verdict.buyers:,} buyers"
    rows: list[tuple[str, str, str]] = [
        ("asked", f"{verdict.asked:,}", asked),
        ("repeated", f"{verdict.repeated:,}", "of them with the pass of an earlier call"),
        ("asked twice", f"{verdict.asked_twice:,}", "of them with a second pass"),
        ("told yes", f"{verdict.told_yes:,}", f"reservations, of {verdict.told_yes_units:,} units; on sale: {of}"),
        ("persisted", f"{verdict.persisted:,}", "of them are orders in PostgreSQL"),
        must_be_zero("oversold", verdict.oversold, "units sold above the quantity"),
        must_be_zero("lost", verdict.lost, "told yes, and no such order"),
        must_be_zero("duplicated", verdict.duplicated, "double orders, buyers above their limit"),
        ("unsold", count_or_dash(verdict.unsold), "units not sold, though enough were asked for"),
        ("in doubt", f"{verdict.in_doubt:,}", f"never answered; {verdict.in_doubt_persisted:,} of them have an order"),
        ("sold out after", seconds(verdict.seconds_to_sell_out), "from the start to the last yes"),
        ("orders complete", seconds(verdict.seconds_to_last_order), "from the last yes to the last order"),
        ("rate", f"{verdict.calls_per_second:,.0f}/s", f"calls answered, over {verdict.seconds:.1f} s"),
        ("p50", f"{verdict.p50_ms:,.0f} ms", "a buyer's first call, from sending to answer"),
        ("p99", f"{verdict.p99_ms:,.0f} ms", "the same, 99th percentile"),
    ]
    if verdict.retried or verdict.not_sent:
        rows.append(("sent again", f"{verdict.retried:,}", "calls with no answer or a 503 at first"))
        rows.append(("not sent", f"{verdict.not_sent:,}", "calls for which no time was left (--timeout)"))
    if verdict.told_unavailable:
        rows.append(("told unavailable", f"{verdict.told_unavailable:,}", "buyers who repeated their call as asked"))
        longest = seconds(verdict.seconds_unavailable)
        rows.append(("unavailable for", longest, "an item at most, from the first such answer to the last"))
    for row in rows:
        table.add_row(*row)
    return table


def items_table(items: Sequence[ItemVerdict]) -> Table:
    counted = ("on sale", "buyers", "told yes", "persisted", "oversold", "lost", "duplicated", "left")
    columns = (*counted, "sold out after", "told unavailable", "for")
    table = terminal_table("By item", words=("item",), numbers=columns)
    for item in items:
        promises = [must_be_zero("", count, "")[1] for count in (item.oversold, item.lost, item.duplicated)]
        counts = [f"{count:,}" for count in (item.buyers, item.told_yes, item.persisted)]
        table.add_row(
            str(item.item_id),
            count_or_dash(item.quantity),
            *counts,
            *promises,
            count_or_dash(item.left),
            seconds(item.seconds_to_sell_out),
            f"{item.told_unavailable:,}",
            seconds(item.seconds_unavailable),
        )
    return table


def paying_table(paying: Mapping[str, CallTimes]) -> Table:
    columns = ("calls", "failed", "p50", "p99", "longest")
    table = terminal_table("Buyers who paid meanwhile", words=("call",), numbers=columns)
    for kind, times in paying.items():
        milliseconds = [f"{ms:,.0f} ms" for ms in (times.p50_ms, times.p99_ms, times.longest_ms)]
        table.add_row(kind, f"{times.calls:,}", f"{times.failed:,}", *milliseconds)
    return table


def must_be_zero(name: str, count: int, meaning: str) -> tuple[str, str, str]:
    colour = "red" if count else "green"
    return name, f"[bold {colour}]{count:,}[/]", meaning


def count_or_dash(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def seconds(number: float | None) -> str:
    return "–" if number is None else f"{number:.2f} s"


def summary(verdict: Verdict) -> str:
    """Explain the figures in sentences."""
    if not verdict.kept:
        return f"The shop broke a promise: {problems(verdict)}."
    if verdict.proves_nothing:
        return PROVES_NOTHING
    sentences = []
    if not verdict.told_yes:
        sentences.append("Nobody was told yes, so there was no promise to keep.")
    else:
        sentences.append(f"Each of the {verdict.told_yes:,} yeses is an order in PostgreSQL, once.")
        if verdict.quantity is None:
            sentences.append("The item is unlimited, so it cannot be oversold.")
        else:
            sentences.append("No unit was sold twice, and both stores agree.")
    if verdict.unsold:
        sentences.append(f"{verdict.unsold:,} units were not sold although enough were asked for.")
    if verdict.in_doubt or verdict.not_sent:
        sentences.append(
            f"{verdict.in_doubt + verdict.not_sent:,} reservations were not asked for in time or not answered; "
            "the shop promised nothing to those buyers."
        )
    return " ".join(sentences)


def problems(verdict: Verdict) -> str:
    """Everything that went wrong, for the last line and the error message."""
    counts = {"units oversold": verdict.oversold, "orders lost": verdict.lost, "duplicated": verdict.duplicated}
    return "; ".join([*(f"{count} {name}" for name, count in counts.items() if count), *verdict.violations])
