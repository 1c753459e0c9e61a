"""`manage.py sale_rebuild`: reconciles items of the reservation store with PostgreSQL and the outbox."""

from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress

from orders.life.intake import ServerReplaced
from orders.management.commands.sale_audit import add_items, away, items_named, show_progress
from orders.repair.reconcile import StillDiffers, collect_lost_orders, reconcile
from orders.repair.replaced_database import end_what_ended_in_the_store
from orders.units.taken import accept_only
from seckill.items import item_state
from seckill.items.archive import bring_back
from seckill.items.lock import item_lock
from seckill.store.client import StoreUnreachable


class Command(BaseCommand):
    help = (
        "Brings the reservation store into agreement with the orders: drains the outbox, compares every order with its "
        "hold, restores, confirms and releases what differs, and opens the item for buyers. The shop does this "
        "automatically within seconds after the store is back; this command is for operators who want to watch or "
        "force it. An archived item is brought back. Meanwhile buyers get `unavailable`. Safe to repeat at any time."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_items(parser)
        ways = parser.add_mutually_exclusive_group()
        ways.add_argument(
            "--from-nothing",
            action="store_true",
            help="discard the store's data of the item and write it again, even if both agree",
        )
        ways.add_argument(
            "--lost-orders",
            action="store_true",
            help="only bring back orders that PostgreSQL has lost, after it was restored from a backup "
            "(docs/reliability.md); the store is not changed",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["lost_orders"]:
                self.bring_back_orders(item_ids=options["items"])
            else:
                self.rebuild(item_ids=options["items"], from_nothing=options["from_nothing"])
        except (StoreUnreachable, DatabaseError) as error:
            raise CommandError(f"{away(error)} Run it again when it answers; the shop tries by itself too.") from None
        except ServerReplaced as error:
            raise CommandError(
                f"The reservation store was restarted meanwhile ({error}). Run it again; the shop tries by itself too."
            ) from None

    def bring_back_orders(self, *, item_ids: list[int]) -> None:
        for item in items_named(item_ids):
            orders, ended = bring_back_lost_orders(item_id=item.pk)
            self.stdout.write(f"item {item.pk}: {orders} orders brought back, {ended} had ended meanwhile")

    def rebuild(self, *, item_ids: list[int], from_nothing: bool) -> None:
        console = Console(stderr=True)
        items = items_named(item_ids, archived_too=True)
        with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), console=console) as progress:
            for item in items:
                bar = progress.add_task(f"{item.pk} {item}", total=None)
                try:
                    # Under one lock, so that the item is not archived in between.
                    with item_lock(item_id=item.pk):
                        if bring_back(item_id=item.pk):
                            self.stdout.write(f"item {item.pk}: brought back from the archive")
                        result = reconcile(
                            item_id=item.pk,
                            rebuild=from_nothing,
                            report_progress=partial(show_progress, progress, bar),
                        )
                except StillDiffers as error:
                    raise CommandError(
                        f"The figures of sale item {item.pk} do not add up even after a rebuild, so it stays "
                        f"unavailable: {error}. `manage.py sale_audit {item.pk}` shows the differences."
                    ) from error
                self.stdout.write(
                    f"item {item.pk}: {'rebuilt' if result.rebuilt else 'compared'} in {result.seconds:.1f} s; "
                    f"{result.collected} collected from the store, {result.compared} orders compared, "
                    f"{result.restored} restored, {result.confirmed} confirmed, {result.released} released"
                )


def bring_back_lost_orders(*, item_id: int) -> tuple[int, int]:
    """Bring back the item's orders that PostgreSQL has lost, and return how many were missing and how many had ended.

    The store keeps every hold that still counts. Holds without an order become orders. Those that are sold stay sold:
    their orders await the provider's event, or staff who record the payment, however late (units/lost_payments.py).
    Nothing changes in the store, and the sale may go on. Safe to repeat. Raises StoreUnreachable and database errors.
    """
    with item_lock(item_id=item_id):
        # First, since others may have their units.
        ended = end_what_ended_in_the_store(item_id=item_id)
        incarnation = item_state.incarnation(item_id=item_id)
        accept_only(item_id=item_id, incarnation=incarnation)
        return collect_lost_orders(item_id=item_id, incarnation=incarnation), ended
