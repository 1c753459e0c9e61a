"""`manage.py fairness`: how many units one script with many accounts gets under each way to give them out."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from bench.argument_types import number_up_to
from bench.measure.fairness.crowd import measure_try_seconds
from bench.measure.fairness.shares import measure
from bench.tables import markdown_table

ACCOUNTS_MAX = 10_000


class Command(BaseCommand):
    help = (
        "Sells units to honest buyers and one script, again and again, by the shop's own scripts, permutation, draw "
        "and rules, and prints the script's share as a table. Only for servers that may be filled with test data; "
        "`python -m bench.measure.fairness` starts some."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add, number = parser.add_argument, number_up_to(ACCOUNTS_MAX)
        add("--accounts", type=number, nargs="+", default=[1, 100, 1_000], metavar="N", help="of the script")
        add("--honest", type=number, default=1_000, metavar="N", help="honest buyers (1000)")
        add("--units", type=number, default=100, metavar="N", help="on sale (100)")
        add("--rounds", type=number_up_to(1_000), default=3, metavar="N", help="of each, for a mean (3)")
        add("--seed", type=int, default=1, help="decides all chance (1)")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = {name: options[name] for name in ("honest", "units", "accounts", "rounds", "seed")}
        self.stdout.write(", ".join(f"{name} {value}" for name, value in chosen.items()))
        try_seconds = measure_try_seconds()
        self.stdout.write(f"one try of a proof takes {try_seconds * 1000:.3f} ms of a core")
        lines = [line.cells() for line in measure(**chosen, try_seconds=try_seconds)]
        shares = [f"script with {count:,}" for count in options["accounts"]]
        headings = ["Way", "Rule", *shares, "Honest buyers refused", "Computing of the script", "of an honest buyer"]
        self.stdout.write(markdown_table(headings, lines, text_columns=2))
