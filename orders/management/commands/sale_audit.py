"""`manage.py sale_audit`: checks while the sale runs that both stores agree, and ends in a verdict.

Exit code 0: they agree. 1: they differ. 2: it could not be checked.
"""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import IO, Any, cast

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

from orders.repair.audit import PATIENCE_SECONDS, Audit, audit
from seckill.models import SaleItem, movable_items
from seckill.store.client import StoreUnreachable
from shop.background.outages import database_failed, one_line

FIGURES = ("left", "held", "sold", "on_the_way", "settling", "issued", "quantity")
COLUMNS = ("left", "held", "sold", "on way", "settling", "issued", "quantity", "differ")


class Command(BaseCommand):
    help = (
        "Compares every hold in the reservation store with its order in PostgreSQL, while the sale runs: issued = left "
        "+ held + sold + on the way (+ settling: the order has ended, but the store does not know yet). What is still "
        "changing is checked again. Remaining differences are printed with their reservation ids. The last line is the "
        "verdict. Exit code 0: both stores agree; 1: they differ; 2: not checked, because a server does not answer."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_items(parser)
        parser.add_argument(
            "--patience",
            type=float,
            default=PATIENCE_SECONDS,
            metavar="SECONDS",
            help=f"how long to keep checking an item that is changing ({PATIENCE_SECONDS:.0f})",
        )
        parser.add_argument("--json", action="store_true", help="print JSON instead of tables")

    def handle(self, *args: Any, **options: Any) -> None:
        audits = []
        try:
            items = items_named(options["items"])
            with Progress(console=Console(stderr=True), transient=True) as progress:
                for item in items:
                    bar = progress.add_task(str(item), total=None)
                    audits.append(
                        audit(
                            item_id=item.pk,
                            patience_seconds=options["patience"],
                            report_progress=partial(show_progress, progress, bar),
                        )
                    )
                    progress.remove_task(bar)
        except (StoreUnreachable, DatabaseError) as error:
            raise CommandError(f"Not checked. {away(error)}", returncode=2) from None
        if options["json"]:
            self.stdout.write(json.dumps([as_json(found) for found in audits], indent=2))
        else:
            show(list(zip(items, audits, strict=True)), console=Console(file=cast(IO[str], self.stdout)))
        # With --json, standard output is for programs.
        (self.stderr if options["json"] else self.stdout).write(verdict_on(audits))
        if any(found.comparison.problem_count for found in audits):
            sys.exit(1)


def add_items(parser: ArgumentParser) -> None:
    help_text = "ids of sale items (default: all that can change)"
    parser.add_argument("items", nargs="*", type=int, metavar="ITEM", help=help_text)


def away(error: StoreUnreachable | DatabaseError) -> str:
    """A sentence about the server that did not answer."""
    away = f"The reservation store does not answer: {one_line(error)}"
    text = away if isinstance(error, StoreUnreachable) else database_failed(error)
    return f"{text}{'' if text.endswith(('.', '?')) else '.'}"


def verdict_on(audits: Sequence[Audit]) -> str:
    if not audits:
        return "No published sale has figures that can change: nothing to audit."
    count = sum(found.comparison.problem_count for found in audits)
    items = f"{len(audits)} item{'' if len(audits) == 1 else 's'}"
    if count:
        differing = sum(bool(found.comparison.problem_count) for found in audits)
        return f"The stores DIFFER: {count} problem{'' if count == 1 else 's'} in {differing} of {items}."
    changing = sum(found.changing for found in audits)
    still = f" {changing} kept changing while it was compared, as a running sale does." if changing else ""
    return f"Both stores agree: {items} checked, no differences.{still}"


def show_progress(progress: Progress, bar: TaskID, done: int, total: int) -> None:
    progress.update(bar, completed=done, total=total)


def items_named(item_ids: list[int], *, archived_too: bool = False) -> list[SaleItem]:
    """The items with these ids, or all whose figures can still change. Raises CommandError for any other id."""
    if not item_ids:
        return list(movable_items().select_related("sale", "variant__product"))
    items = SaleItem.objects.select_related("sale", "variant__product").in_bulk(item_ids)
    if unknown := [str(pk) for pk in item_ids if pk not in items]:
        raise CommandError(f"No such sale item: {', '.join(unknown)}.", returncode=2)
    if drafts := [str(pk) for pk in item_ids if items[pk].announced_at is None]:
        raise CommandError(
            f"Not published, so not in the reservation store: sale item {', '.join(drafts)}.", returncode=2
        )
    if not archived_too and (archived := [str(pk) for pk in item_ids if items[pk].archived_at]):
        raise CommandError(
            f"Archived, so not in the reservation store: sale item {', '.join(archived)}. "
            f"`manage.py sale_rebuild {' '.join(archived)}` brings it back.",
            returncode=2,
        )
    return [items[pk] for pk in item_ids]


def show(audits: list[tuple[SaleItem, Audit]], *, console: Console) -> None:
    if not audits:
        return
    table = Table(title="Units of each item", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("item", justify="right", no_wrap=True)
    for name in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True, min_width=len(name))
    for item, found in audits:
        comparison = found.comparison
        figures = [getattr(comparison, name) for name in FIGURES]
        problems = f"[bold red]{comparison.problem_count}[/]" if comparison.problem_count else "[green]0[/]"
        changing = " (still changing)" if found.changing else ""
        table.add_row(str(item.pk), *("∞" if units is None else f"{units:,}" for units in figures), problems + changing)
    console.print(table)
    for item, _found in audits:
        # Below the table, where a long name is not cut: variants of one product begin alike.
        console.print(f"item {item.pk}: {item} ({item.variant.sku})", soft_wrap=True, highlight=False)
    for item, found in audits:
        for line in sorted([*found.comparison.mismatched_totals, *map(str, found.comparison.differences)]):
            console.print(f"item {item.pk}: {line}", style="red", soft_wrap=True, highlight=False)


def as_json(found: Audit) -> dict[str, Any]:
    comparison = found.comparison
    differences = [{**asdict(each), "reservation_id": str(each.reservation_id)} for each in comparison.differences]
    return {
        **{name: getattr(comparison, name) for name in ("item_id", "left", "held", "sold", "on_the_way", "settling")},
        **{name: getattr(comparison, name) for name in ("issued", "quantity", "taken", "problem_count")},
        "differences": sorted(differences, key=lambda each: str(each["reservation_id"])),
        "mismatched_totals": sorted(comparison.mismatched_totals),
        "changing": found.changing,
        "seconds": round(found.seconds, 3),
    }
