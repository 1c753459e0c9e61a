"""The results as a table in the terminal, as Markdown, and as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.table import Table

from bench.markdown_table import markdown_table
from bench.measure.durability.prices import SHOPS_OWN, Price
from bench.measure.durability.replica_prices import ReplicaPrice
from bench.measure.durability.replica_table import losses, replica_markdown_of
from bench.measure.harness import sentence_of, terminal_table

HEADINGS = (
    "way",
    "disk",
    "sync",
    "alone",
    "reservations/s",
    "p50",
    "p99",
    "gave up",
    "told yes",
    "lost: kill -9",
    "lost: power cut",
)


def table_of(prices: Sequence[Price]) -> Table:
    """The table for the terminal, with the highest loss of a round; in red if the shop's own way lost something."""
    title = "Durability price list: times in ms, confirmed reservations lost to a kill and to a power cut (worst round)"
    numbers = ("sync", "alone", "res./s", "p99", "kill -9", "power cut")
    table = terminal_table(title, words=("way", "disk"), numbers=numbers)
    for price in prices:
        table.add_row(
            price.way,
            disk_of(price),
            "–" if price.sync_ms is None else f"{price.sync_ms:.1f}",
            f"{price.alone_ms:.2f}",
            f"{price.reservations_per_second:,.0f}",
            f"{price.p99_ms:.0f}",
            f"{max(price.lost_to_kill):,}",
            f"{max(price.lost_to_power_cut):,}" if price.lost_to_power_cut else "–",
            style="bold red" if price.lost_confirmed else "green" if price.way == SHOPS_OWN else "",
        )
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
    paragraphs = [table, replica_markdown_of(replica_prices), sentence_of(measured_on) + "."]
    if why_not_slowed:
        paragraphs.append(f"No slowed disk, and no power cuts: {why_not_slowed}.")
    return "\n\n".join(paragraphs) + "\n"


def cells_of(price: Price) -> list[str]:
    return [
        price.way,
        disk_of(price),
        "–" if price.sync_ms is None else f"{price.sync_ms:.1f} ms",
        f"{price.alone_ms:.2f} ms",
        f"{price.reservations_per_second:,.0f}",
        f"{price.p50_ms:.1f} ms",
        f"{price.p99_ms:.1f} ms",
        f"{price.unanswered:,}",
        f"{price.confirmed:,}",
        losses(price.lost_to_kill),
        losses(price.lost_to_power_cut),
    ]


def disk_of(price: Price) -> str:
    return f"+{price.delay_s * 1000:.0f} ms" if price.delay_s else "as it is"


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
