"""The results as tables in the terminal, as Markdown, and as JSON."""

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from rich.table import Table

from bench.machine import sentence_of
from bench.measure.durability.prices import SHOPS_OWN, Price
from bench.measure.durability.replica_prices import ReplicaPrice
from bench.measure.durability.rounds import CallFigures
from bench.tables import markdown_table, terminal_table

CALLS = ("alone", "reservations/s", "p50", "p99", "gave up", "told yes")
HEADINGS = ("way", "disk", "sync", *CALLS, "lost: kill -9", "lost: power cut")
REPLICA_HEADINGS = ("a yes waits for", "link", *CALLS, "lost with the primary")


def table_of(prices: Sequence[Price]) -> Table:
    """The table for the terminal, with the losses of all rounds; in red if the shop's own way lost something."""
    title = "Durability price list: confirmed reservations lost to a kill and to a power cut"
    numbers = ("sync", "alone", "res./s", "p99", "kill -9", "power cut")
    table = terminal_table(title, words=("way", "disk"), numbers=numbers)
    for price in prices:
        way, disk, sync, alone, per_second, _p50, p99, _gave_up, _told_yes, killed, cut = cells_of(price)
        style = "bold red" if price.lost_confirmed else "green" if price.way == SHOPS_OWN else ""
        table.add_row(way, disk, sync, alone, per_second, p99, killed, cut, style=style)
    return table


def replica_table_of(prices: Sequence[ReplicaPrice]) -> Table:
    """The same for the prices of waiting for a replica; in red if a promised yes was lost."""
    title = "A yes that waits for a replica: confirmed reservations that the promoted replica lacks"
    table = terminal_table(title, words=("waits for", "link"), numbers=("alone", "res./s", "p99", "lost"))
    for price in prices:
        waits_for, link, alone, per_second, _p50, p99, _gave_up, _told_yes, lost = replica_cells_of(price)
        style = "bold red" if price.lost_promised else "green" if price.yes_replicas else ""
        table.add_row(waits_for, link, alone, per_second, p99, lost, style=style)
    return table


def markdown_of(
    prices: Sequence[Price],
    replica_prices: Sequence[ReplicaPrice],
    *,
    measured_on: Mapping[str, str],
    why_not_slowed: str,
) -> str:
    """The tables as Markdown, with the range of losses over the rounds and the machine."""
    table = markdown_table(HEADINGS, map(cells_of, prices), text_columns=2)
    replicas = markdown_table(REPLICA_HEADINGS, map(replica_cells_of, replica_prices), text_columns=2)
    paragraphs = [table, replicas, sentence_of(measured_on) + "."]
    if why_not_slowed:
        paragraphs.append(f"No slowed disk, and no power cuts: {why_not_slowed}.")
    return "\n\n".join(paragraphs) + "\n"


def cells_of(price: Price) -> list[str]:
    return [
        price.way,
        f"+{price.delay_s * 1000:.0f} ms" if price.delay_s else "as it is",
        "–" if price.sync_ms is None else f"{price.sync_ms:.1f} ms",
        *call_cells(price.rounds),
        losses(price.lost_to_kill),
        losses(price.lost_to_power_cut),
    ]


def replica_cells_of(price: ReplicaPrice) -> list[str]:
    return [
        f"{price.yes_replicas} replica" if price.yes_replicas else "no replica",
        f"{price.link_delay_s * 1000:g} ms each way" if price.link_delay_s else "direct",
        *call_cells(price.rounds),
        losses(price.lost),
    ]


def call_cells(rounds: Sequence[CallFigures]) -> list[str]:
    def median(figure: Callable[[CallFigures], float]) -> float:
        return statistics.median(map(figure, rounds))

    return [
        f"{median(lambda one: one.alone_ms):.2f} ms",
        f"{median(lambda one: one.reservations_per_second):,.0f}",
        f"{median(lambda one: one.p50_ms):.1f} ms",
        f"{median(lambda one: one.p99_ms):.1f} ms",
        f"{sum(one.unanswered for one in rounds):,}",
        f"{sum(one.confirmed for one in rounds):,}",
    ]


def losses(counts: Sequence[int]) -> str:
    """The range over the rounds; a dash if it is not known."""
    if not counts:
        return "–"
    return f"{counts[0]:,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"


def as_json(
    prices: Sequence[Price],
    replica_prices: Sequence[ReplicaPrice],
    *,
    measured_on: Mapping[str, str],
    why_not_slowed: str,
) -> str:
    everything = {
        "machine": measured_on,
        "not_slowed": why_not_slowed,
        "prices": [asdict(price) | {"lost_confirmed": price.lost_confirmed} for price in prices],
        "replicas": [asdict(price) | {"lost_promised": price.lost_promised} for price in replica_prices],
    }
    return json.dumps(everything, indent=1) + "\n"
