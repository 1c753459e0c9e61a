"""`manage.py stampede [ITEM] --buyers N`: a herd of buyers over HTTP against the running shop, and a verdict."""

import os
from argparse import ArgumentParser, ArgumentTypeError
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse
from rich.console import Console
from rich.progress import Progress

from bench import load_buyers
from bench.argument_types import span, whole
from bench.stampede import report, setup
from bench.stampede.arrivals import Witness
from bench.stampede.plan import Call, Habits, calls_of
from bench.stampede.rush import RushFailed, rush
from bench.stampede.verdict import Verdict, accepted_in_doubt, told_by, verdict_on
from seckill import ledger, passes
from seckill.models import SaleItem

# How long the orders may take to arrive before they count as lost. The shop's own aim is 5 s.
ORDERS_SECONDS_MAX = 60.0
# More would measure the client: it shares the processors with the shop.
PROCESSES_MAX = 16
CONNECTIONS_MAX = 1_000


class Command(BaseCommand):
    help = (
        "Sends a herd of simulated buyers over HTTP to the shop that runs on this machine, and ends in a verdict: "
        "asked, told yes, persisted, oversold, lost, duplicated, seconds to sell out, p50 and p99. Exit code 1 where "
        "a promise was broken. Without ITEM it makes a sale of its own, open at once. It calls loopback addresses "
        "only. The buyers are users load-000001 …; those who have units of the item already are left out, so that "
        "each run has fresh ones. It stops by itself."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("item", nargs="?", type=int, metavar="ITEM", help="id of a sale item that is open now")
        add("--buyers", type=whole, required=True, metavar="N", help="how many buyers")
        add("--stock", type=whole, default=100, metavar="N", help="without ITEM: units on sale (100)")
        add("--units", type=span, default=(1, 1), metavar="1-3", help="units that a buyer asks for: 1, or 1-3 (1)")
        add("--repeat-share", type=share, default=0.1, help="buyers who send the same call again (0.1)")
        add("--twice-share", type=share, default=0.1, help="buyers who ask again with a second pass (0.1)")
        add("--processes", type=whole, default=2, help="processes of the herd (2)")
        add("--connections", type=whole, default=32, help="connections of each process (32)")
        add("--url", help="where the shop listens (http://127.0.0.1:PORT, PORT as of `make run`)")
        add("--timeout", type=whole, default=120, help="seconds after which no more calls are sent (120)")
        add("--seed", type=int, default=1, help="another number throws other dice for the habits of the buyers (1)")
        add("--json", type=Path, metavar="FILE", help="write the verdict there as well")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            verdict = stampede(options, progress_console=Console(stderr=True))
        except (setup.SceneUnfit, RushFailed) as error:
            raise CommandError(str(error)) from error
        except ledger.StoreUnreachable as error:
            raise CommandError(f"The reservation store does not answer: {error}") from error
        except KeyboardInterrupt:
            raise CommandError("Stopped before the verdict.", returncode=130) from None
        report.show(verdict, console=Console(file=cast(IO[str], self.stdout), highlight=False))
        if options["json"]:
            options["json"].write_text(report.as_json(verdict))
        if not verdict.kept:
            raise CommandError(f"The shop broke its word: {report.faults(verdict)}.")


def stampede(options: dict[str, Any], *, progress_console: Console) -> Verdict:
    """Set the scene, let the herd run, wait for the orders, judge."""
    if options["processes"] > PROCESSES_MAX or options["connections"] > CONNECTIONS_MAX:
        raise setup.SceneUnfit(f"At most {PROCESSES_MAX} processes of {CONNECTIONS_MAX} connections each.")
    address = setup.loopback_address(options["url"] or f"http://127.0.0.1:{os.environ.get('PORT') or 8000}")
    setup.check_answers(address=address)
    item = item_for(options)
    with Progress(console=progress_console, transient=True) as progress:
        chains = prepare(item, options, progress)
        setup.check_shop(address=address, item_id=item.pk, text=chains[0][0].text)
        left_before = left_of(item)

        witness = Witness(item.pk)
        running = progress.add_task("Calls", total=sum(map(len, chains)))

        def tick(done: int) -> None:
            progress.update(running, completed=done)
            witness.look()

        done = rush(
            url=address.base + reverse("api-reserve", args=[item.pk]),
            chains=chains,
            processes=options["processes"],
            connections=options["connections"],
            seconds_max=options["timeout"],
            tick=tick,
        )
        told = told_by(chains=chains, answers=done.answers)
        accepted = accepted_in_doubt(item_id=item.pk, doubtful=told.doubtful)
        awaited = [*told.yes, *accepted]
        arriving = progress.add_task("Orders in PostgreSQL", total=len(awaited))
        witness.wait_for(
            awaited,
            seconds_max=ORDERS_SECONDS_MAX,
            tick=lambda count: progress.update(arriving, completed=count),
        )
        return verdict_on(
            item=item, told=told, rush=done, seen_s=witness.seen_s, accepted=accepted, left_before=left_before
        )


def item_for(options: dict[str, Any]) -> SaleItem:
    """The item named, or one of our own."""
    if options["item"] is None:
        return setup.own_item(stock=options["stock"], units_max=options["units"][1])
    item = setup.existing_item(options["item"])
    if options["units"][1] > item.per_buyer_max:
        raise setup.SceneUnfit(f"A buyer may have {item.per_buyer_max} of sale item {item.pk}: --units asks for more.")
    return item


def prepare(item: SaleItem, options: dict[str, Any], progress: Progress) -> list[list[Call]]:
    """Fresh buyers, their passes, and every call that they will make."""
    task = progress.add_task("Load-test buyers", total=options["buyers"])
    buyer_ids = load_buyers.assemble(
        buyers_count=options["buyers"],
        besides=setup.names_of_owners(item),
        advance=partial(progress.advance, task),
    )
    units_min, units_max = options["units"]
    habits = Habits(
        units_min=units_min,
        units_max=units_max,
        repeat_share=options["repeat_share"],
        twice_share=options["twice_share"],
    )
    return calls_of(buyer_ids=buyer_ids, habits=habits, seed=options["seed"], new_pass=partial(new_pass, item.pk))


def new_pass(item_id: int, buyer_id: int) -> tuple[str, str]:
    """A pass as text, and the reservation id that it is good for."""
    (text,) = load_buyers.passes_for(item_id=item_id, buyer_ids=[buyer_id])
    return text, str(passes.read(text).reservation_id)


def left_of(item: SaleItem) -> int | None:
    counters = ledger.read(item_id=item.pk)
    return counters.left if counters else None


def share(text: str) -> float:
    """A share from 0 to 1."""
    number = float(text)
    if not 0 <= number <= 1:
        raise ArgumentTypeError(f"{text} is not a share from 0 to 1")
    return number
