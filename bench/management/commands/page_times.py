"""`manage.py page_times`: how long lists and searches of a shop with many products and orders take, as JSON."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from bench.argument_types import number_up_to
from bench.demo.long_lists import load_many
from bench.demo.past_orders import load_orders
from bench.measure.speed import page_times
from shop.demo.loading import load_goods

PRODUCTS, ORDERS = 10_000, 100_000
TIMES, TIMES_MAX = 30, 1_000


class Command(BaseCommand):
    help = (
        "Fills this shop with demo products and orders, and prints the server time of its lists as JSON. Only for a "
        "database that may be filled with test data; `make bench ARGS='--only staff-lists,product-search'` makes one."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("pages", choices=["staff", "search"])
        add = parser.add_argument
        add("--products", type=number_up_to(PRODUCTS), default=PRODUCTS, metavar="N", help=f"products ({PRODUCTS})")
        add("--orders", type=number_up_to(ORDERS), default=ORDERS, metavar="N", help=f"orders ({ORDERS})")
        add("--times", type=number_up_to(TIMES_MAX), default=TIMES, metavar="N", help=f"of each page ({TIMES})")

    def handle(self, *args: Any, **options: Any) -> None:
        load_goods()
        load_many(options["products"])
        load_orders(options["orders"])
        if options["pages"] == "staff":
            pages, client = page_times.staff_pages(), page_times.staff_client()
        else:
            pages, client = page_times.search_pages(), page_times.buyer_client()
        found = page_times.measure_pages(pages, client=client, times=options["times"])
        self.stdout.write(json.dumps({name: asdict(times) for name, times in found.items()}, indent=2))
