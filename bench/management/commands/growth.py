"""`manage.py growth`: what reserving, draining, expiring and auditing cost as reservations and sales pile up."""

import json
import os
import time
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from rich.table import Table

from bench import load_buyers
from bench.argument_types import whole
from bench.load_sale import open_load_sale
from bench.measure.growth import past_reservations, verb_costs
from bench.measure.growth.verb_costs import Cost
from bench.tables import console_on, terminal_table

OPEN_SECONDS = 3600
# A buyer of the past has some of the past units, and may reserve another one.
PER_BUYER_MAX = 100_000


class Command(BaseCommand):
    help = (
        "Writes past reservations and past sales into both stores and measures each step of a purchase beside them. "
        "Only for servers that may be filled with test data; `python -m bench.measure.growth` starts some."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--past", type=whole, nargs="+", default=[1_000, 100_000, 1_000_000], metavar="N", help="reservations")
        add("--sales", type=whole, default=1_000, metavar="N", help="past sales of the last column (1000)")
        add("--json", type=Path, metavar="FILE", help="also write the figures to this file")

    def handle(self, *args: Any, **options: Any) -> None:
        columns = run(past=options["past"], sales=options["sales"], report=self.stderr.write)
        console_on(self.stdout).print(table_of(columns))
        if options["json"]:
            costs = {name: {step: asdict(cost) for step, cost in column.items()} for name, column in columns.items()}
            options["json"].write_text(json.dumps({"cores": os.cpu_count(), "microseconds": costs}, indent=2) + "\n")


def run(*, past: list[int], sales: int, report: Any = print) -> dict[str, dict[str, Cost]]:
    """The costs of each step: a column for each number of past reservations, and one beside past sales."""
    buyer_ids = load_buyers.load_buyer_ids(count=verb_costs.CALLS)
    columns = {}
    for count in past:
        columns[f"{count:,} reservations"] = column(count, buyer_ids=buyer_ids, report=report)
    past_reservations.add_past_sales(count=sales)
    columns[f"{past[0]:,} reservations, {sales:,} past sales"] = column(past[0], buyer_ids=buyer_ids, report=report)
    return columns


def column(count: int, *, buyer_ids: list[int], report: Any) -> dict[str, Cost]:
    started_s = time.monotonic()
    item = open_load_sale(
        name=f"Growth {count}",
        quantity=count + 10 * verb_costs.CALLS,
        per_buyer_max=PER_BUYER_MAX,
        open_seconds=OPEN_SECONDS,
        hold_seconds=OPEN_SECONDS,
    )
    past_reservations.add_past_reservations(item, count=count, buyer_ids=buyer_ids)
    past_reservations.settle_statistics()
    filled_s = time.monotonic()
    costs = verb_costs.costs_of(item, buyer_ids=buyer_ids)
    report(f"{count:,}: filled in {filled_s - started_s:.0f} s, measured in {time.monotonic() - filled_s:.0f} s")
    return costs


def table_of(columns: dict[str, dict[str, Cost]]) -> Table:
    table = terminal_table("Microseconds (of them the store's)", words=("step",), numbers=list(columns))
    for step in next(iter(columns.values())):
        costs = [column[step] for column in columns.values()]
        table.add_row(step, *(f"{cost.caller_us:,.1f} ({cost.store_us:,.1f})" for cost in costs))
    return table
