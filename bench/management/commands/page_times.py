"""`manage.py page_times`: how long lists and searches of a shop with many products and orders take, as JSON."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from bench.argument_types import number_up_to
from bench.demo.long_lists import load_many
from bench.demo.past_orders import NothingToSell, load_orders
from bench.measure.speed import page_times
from bench.measure.speed.page_times import PageTimes, TooFewRows
from shop.demo.loading import load_goods

PRODUCTS_MAX, ORDERS_MAX = 10_000, 100_000
TIMES, TIMES_MAX = 30, 1_000


class Command(BaseCommand):
    help = (
        "Prints the server time of the lists or the searches of this shop as JSON. With --products or --orders it "
        "first fills the shop with demo products and orders: only for a database that may be filled with test data; "
        "`make bench ARGS='--only staff-lists,product-search'` makes one."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("pages", choices=["staff", "search"])
        add = parser.add_argument
        add("--products", type=number_up_to(PRODUCTS_MAX), metavar="N", help="fill the shop to so many products")
        add("--orders", type=number_up_to(ORDERS_MAX), metavar="N", help="fill the shop to so many orders")
        add("--times", type=number_up_to(TIMES_MAX), default=TIMES, metavar="N", help=f"of each page ({TIMES})")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            fill(products=options["products"] or 0, orders=options["orders"] or 0)
            found = times_of(options["pages"], times=options["times"])
        except NothingToSell:
            raise CommandError("No orders were made: none of the demo products is there any more.") from None
        except TooFewRows as error:
            raise CommandError(f"{error} Give --products and --orders, in a database for test data.") from None
        self.stdout.write(json.dumps({name: asdict(times) for name, times in found.items()}, indent=2))


def fill(*, products: int, orders: int) -> None:
    """Bring the demo products and orders to these numbers; with none of them the shop stays as it is."""
    if products or orders:
        load_goods()
        load_many(products)
        load_orders(orders)


def times_of(pages: str, *, times: int) -> dict[str, PageTimes]:
    """Raises TooFewRows."""
    if pages == "search":
        return page_times.measure_pages(page_times.search_pages(), client=page_times.buyer_client(), times=times)
    addresses = page_times.staff_pages()
    with page_times.staff_client() as client:
        return page_times.measure_pages(addresses, client=client, times=times)
