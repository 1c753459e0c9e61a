"""`manage.py remove_load_tests`: removes what load tests left in the shop."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress

from bench.load_removal import Leftovers, find_leftovers, remove
from bench.own_run import listen_for_stop
from seckill.store.client import StoreUnreachable


class Command(BaseCommand):
    help = (
        "Removes the sales and products that load tests made, with their orders and their keys in the reservation "
        "store, and the buyers load-000001 …. It asks first. Sales that are still open, sales in which somebody else "
        "has bought, and buyers with orders in other sales are kept. Do not run it during a load test. It may be "
        "stopped at any time; the next run continues."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, **options: Any) -> None:
        listen_for_stop()
        try:
            self.find_and_remove(asks=not options["yes"])
        except StoreUnreachable as error:
            raise CommandError(f"The reservation store does not answer: {error}. Run it again when it does.") from None
        except DatabaseError as error:
            raise CommandError(f"PostgreSQL does not answer, or refused: {error}. Run it again.") from None
        except KeyboardInterrupt:
            raise CommandError("Stopped. The next run continues.", returncode=130) from None

    def find_and_remove(self, *, asks: bool) -> None:
        found = find_leftovers()
        for line in lines_about_kept(found):
            self.stdout.write(line)
        if not found.sales and not found.buyers:
            self.stdout.write("There is nothing to remove.")
            return
        parts = [count_of(found.sales, "sale"), count_of(found.orders, "order"), count_of(found.buyers, "buyer")]
        what = ", ".join(parts)
        if asks and not confirmed(f"Remove {what}? [y/N] "):
            self.stdout.write("Nothing was removed.")
            return
        columns = (*Progress.get_default_columns(), MofNCompleteColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task("Removing", total=found.sales + found.orders + found.buyers)
            remove(on_progress=lambda count: progress.advance(bar, count))
        self.stdout.write(f"Removed {what}.")


def lines_about_kept(found: Leftovers) -> list[str]:
    kept = [
        (found.sales_still_open, "sale", "still open, kept with all load-test buyers until it is over"),
        (found.sales_with_other_buyers, "sale", "kept because of orders of other buyers or real payments"),
        (found.buyers_with_other_orders, "buyer", "kept because of orders in other sales"),
    ]
    return [f"{count_of(count, noun)} {reason}." for count, noun, reason in kept if count]


def count_of(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def confirmed(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        raise CommandError("Nobody can be asked here. With --yes it does not ask.") from None
