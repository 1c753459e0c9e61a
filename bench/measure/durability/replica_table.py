"""The prices of waiting for a replica as a table in the terminal and as Markdown."""

from collections.abc import Sequence

from rich.table import Table

from bench.markdown_table import markdown_table
from bench.measure.durability.replica_prices import ReplicaPrice
from bench.measure.harness import terminal_table

HEADINGS = (
    "a yes waits for",
    "link",
    "alone",
    "reservations/s",
    "p50",
    "p99",
    "gave up",
    "told yes",
    "lost with the primary",
)


def replica_table_of(prices: Sequence[ReplicaPrice]) -> Table:
    """The table for the terminal, with the losses of all rounds; in red if a promised yes was lost."""
    title = "A yes that waits for a replica: times in ms, confirmed reservations that the promoted replica lacks"
    table = terminal_table(title, words=("waits for", "link"), numbers=("alone", "res./s", "p99", "lost"))
    for price in prices:
        waits_for, link, alone, per_second, _p50, p99, _gave_up, _told_yes, lost = cells_of(price)
        style = "bold red" if price.lost_promised else "green" if price.yes_replicas else ""
        table.add_row(waits_for, link, alone, per_second, p99, lost, style=style)
    return table


def replica_markdown_of(prices: Sequence[ReplicaPrice]) -> str:
    return markdown_table(HEADINGS, map(cells_of, prices), text_columns=2)


def losses(counts: Sequence[int]) -> str:
    """The range over the rounds; a dash if it is not known."""
    if not counts:
        return "–"
    return f"{counts[0]:,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"


def cells_of(price: ReplicaPrice) -> list[str]:
    return [
        f"{price.yes_replicas} replica" if price.yes_replicas else "no replica",
        f"{price.link_delay_s * 1000:g} ms each way" if price.link_delay_s else "direct",
        f"{price.median(lambda one: one.alone_ms):.2f} ms",
        f"{price.median(lambda one: one.reservations_per_second):,.0f}",
        f"{price.median(lambda one: one.p50_ms):.1f} ms",
        f"{price.median(lambda one: one.p99_ms):.1f} ms",
        f"{sum(one.unanswered for one in price.rounds):,}",
        f"{sum(one.confirmed for one in price.rounds):,}",
        losses(price.lost),
    ]
