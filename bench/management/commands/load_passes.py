"""`manage.py load_passes ITEM --count N`: passes for wrk, locust and the like."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import Progress

from bench import load_buyers
from bench.argument_types import whole
from seckill.models import published_items


class Command(BaseCommand):
    help = (
        "Prints passes for a sale item, one on each line and nothing else. Each pass belongs to another load-test "
        "buyer and is valid for 15 minutes (SECKILL_PASS_LIFE_SECONDS)."
    )
    # Nothing but passes on standard output; the checks can be run with `manage.py check`.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("item", type=int, metavar="ITEM", help="id of the sale item")
        parser.add_argument("--count", type=whole, required=True, metavar="N", help="how many passes")
        parser.add_argument(
            "--first", type=whole, default=1, metavar="NUMBER", help="number of the first buyer: 1 is load-000001"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        item_id, count, first = options["item"], options["count"], options["first"]
        if not published_items().filter(pk=item_id).exists():
            raise CommandError(f"There is no published sale item {item_id}.")
        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("Load-test buyers", total=count)
            buyer_ids = load_buyers.load_buyer_ids(
                count=count, first=first, on_progress=lambda ready: progress.advance(task, ready)
            )
        for text in load_buyers.make_passes(item_id=item_id, buyer_ids=buyer_ids):
            self.stdout.write(text)
