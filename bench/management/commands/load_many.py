"""`manage.py load_many`: thousands of products and orders, for trying out long lists."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import Progress

from bench.argument_types import number_up_to
from bench.demo.long_lists import load_many
from bench.demo.past_orders import NothingToSell, load_orders
from shop.demo.loading import load_goods

# A typo must not fill the disk.
PRODUCTS_MAX, ORDERS_MAX = 100_000, 1_000_000


class Command(BaseCommand):
    help = "Bring the products for long lists, and the orders of the last months, to so many. Safe to repeat."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--products", type=number_up_to(PRODUCTS_MAX), default=0, metavar="N", help="products for long lists")
        add("--orders", type=number_up_to(ORDERS_MAX), default=0, metavar="N", help="orders of the last months")

    def handle(self, *args: Any, **options: Any) -> None:
        load_goods()
        with Progress(console=Console(stderr=True), transient=True) as progress:
            made = load_many(options["products"], report_progress=bar_of(progress, "products"))
            if made:
                self.stdout.write(f"{made} products were made for long lists.")
            try:
                made = load_orders(options["orders"], report_progress=bar_of(progress, "orders"))
            except NothingToSell:
                raise CommandError("No orders were made: none of the demo products is there any more.") from None
            if made:
                self.stdout.write(f"{made} orders were made.")


def bar_of(progress: Progress, title: str) -> Callable[[int, int], None]:
    """For `report_progress`: a bar, once there is something to show."""
    bar = progress.add_task(title, total=None, visible=False)
    return lambda done, total: progress.update(bar, completed=done, total=total, visible=True)
