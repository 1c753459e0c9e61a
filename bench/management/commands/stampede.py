"""`manage.py stampede [ITEM] --buyers N`: a load test of the running shop over HTTP, and a verdict."""

import os
from argparse import ArgumentParser
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse
from rich.console import Console
from rich.progress import Progress

from bench import load_buyers
from bench.argument_types import number_up_to, span, whole
from bench.own_run import listen_for_stop
from bench.spawned_processes import BuyersFailed
from bench.stampede import report, setup
from bench.stampede.arrivals import Arrivals
from bench.stampede.buyer_answers import accepted_in_doubt, collect_answers
from bench.stampede.paying_buyers import PayingBuyers, unpaid_orders
from bench.stampede.plan import Call, Habits, calls_of
from bench.stampede.rush import rush
from bench.stampede.timed_calls import CallTimes
from bench.stampede.verdict import Verdict, verdict_on
from bench.tables import console_on
from seckill import ledger
from seckill.models import SaleItem
from seckill.passes import passes
from seckill.store.client import StoreUnreachable

# How long the orders may take to arrive before they count as lost. The shop aims at 5 s.
ORDERS_SECONDS_MAX = 60.0
# With more, the test would measure the clients: they share the processors with the shop.
PROCESSES_MAX = 16
CONNECTIONS_MAX = 1_000
# A sale of a thousand products is a shop of its own; the verdict reads each of them.
ITEMS_MAX = 200


class Command(BaseCommand):
    help = (
        "Sends simulated buyers over HTTP to the shop that runs on this machine and prints a verdict: asked, told "
        "yes, persisted, oversold, lost, duplicated, seconds to sell out, p50 and p99. The exit code is 1 if the shop "
        "broke a promise, or if nobody was told yes although units were left. Without ITEM it creates a sale that "
        "opens at once. It calls loopback addresses only. The buyers are the users load-000001 …; those who already "
        "have units of the item are left out, so that each run has new ones. It stops by itself."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("item", nargs="?", type=int, metavar="ITEM", help="id of a sale item that is open now")
        add("--buyers", type=whole, required=True, metavar="N", help="how many buyers")
        add("--stock", type=whole, default=100, metavar="N", help="without ITEM: units on sale (100)")
        help_items = "without ITEM: products on sale, with the stock and the buyers spread evenly over them (1)"
        add("--items", type=number_up_to(ITEMS_MAX), metavar="N", help=help_items)
        help_units = "units that a buyer asks for: a number, or a range such as 1-3 (1)"
        add("--units", type=span, default=(1, 1), metavar="1-3", help=help_units)
        add("--processes", type=number_up_to(PROCESSES_MAX), default=2, help="client processes (2)")
        add("--connections", type=number_up_to(CONNECTIONS_MAX), default=32, help="connections of each process (32)")
        add("--url", help="where the shop listens (http://127.0.0.1:PORT, PORT as of `make run`)")
        add("--timeout", type=whole, default=120, help="seconds after which no more calls are sent (120)")
        add("--seed", type=int, default=1, help="seed of the random choices that buyers make (1)")
        add("--paying", type=whole, metavar="N", help="meanwhile, buyers pay for up to N orders of another sale")
        add("--json", type=Path, metavar="FILE", help="also write the verdict to this file")

    def handle(self, *args: Any, **options: Any) -> None:
        listen_for_stop()
        try:
            verdict, paying = stampede(options, progress_console=Console(stderr=True))
        except (setup.CannotStart, BuyersFailed) as error:
            raise CommandError(str(error)) from error
        except StoreUnreachable as error:
            raise CommandError(f"The reservation store does not answer: {error}") from error
        except KeyboardInterrupt:
            raise CommandError("Stopped before there was a verdict.", returncode=130) from None
        report.show(verdict, paying=paying, console=console_on(self.stdout))
        if options["json"]:
            options["json"].write_text(report.as_json(verdict, paying=paying))
        if not verdict.kept:
            raise CommandError(f"The shop broke a promise: {report.problems(verdict)}.")
        if verdict.proves_nothing:
            raise CommandError(report.PROVES_NOTHING)


def stampede(options: dict[str, Any], *, progress_console: Console) -> tuple[Verdict, dict[str, CallTimes]]:
    """Prepare the item and the calls, send them, wait for the orders, and compare.

    Returns the verdict, and how long the calls of paying buyers took; nothing without `--paying`.
    """
    if options["items"] and options["item"] is not None:
        raise setup.CannotStart("Either ITEM or --items: ITEM is one that exists, --items says how many to create.")
    address = setup.loopback_address(options["url"] or f"http://127.0.0.1:{os.environ.get('PORT') or 8000}")
    setup.check_running(address=address)
    items = items_for(options)
    item_ids = [item.pk for item in items]
    with Progress(console=progress_console, transient=True) as progress:
        chains = prepare(items, options, progress)
        to_be_paid = unpaid_orders(count=options["paying"]) if options["paying"] else []
        for item in items:
            # With a buyer of this run; no reservation is made.
            pass_text, _reservation_id = new_pass(item.pk, chains[0][0].buyer_id)
            setup.check_shop(address=address, item_id=item.pk, pass_text=pass_text)
        left_before = {item_id: units_left(item_id) for item_id in item_ids}

        arrivals = Arrivals(item_ids)
        running = progress.add_task("Calls", total=sum(map(len, chains)))

        def tick(done: int) -> None:
            progress.update(running, completed=done)
            arrivals.poll()

        with PayingBuyers(address=address, orders=to_be_paid) as paying:
            result = rush(
                urls={item_id: address.base + reverse("api-reserve", args=[item_id]) for item_id in item_ids},
                chains=chains,
                processes=options["processes"],
                connections=options["connections"],
                seconds_max=options["timeout"],
                tick=tick,
            )
        heard = collect_answers(item_ids=item_ids, chains=chains, answers=result.answers)
        accepted = {
            item_id: accepted_in_doubt(item_id=item_id, in_doubt=heard[item_id].in_doubt) for item_id in item_ids
        }
        awaited = [
            reservation_id for item_id in item_ids for reservation_id in (*heard[item_id].yes, *accepted[item_id])
        ]
        arriving = progress.add_task("Orders in PostgreSQL", total=len(awaited))
        arrivals.wait_for(
            awaited, seconds_max=ORDERS_SECONDS_MAX, tick=lambda count: progress.update(arriving, completed=count)
        )
        verdict = verdict_on(
            items=items, heard=heard, rush=result, seen_s=arrivals.seen_s, accepted=accepted, left_before=left_before
        )
        return verdict, paying.times() if to_be_paid else {}


def items_for(options: dict[str, Any]) -> list[SaleItem]:
    """The item that was named, or those of a new sale."""
    if options["item"] is None:
        return setup.own_items(stock=options["stock"], count=options["items"] or 1, units_max=options["units"][1])
    item = setup.existing_item(options["item"])
    if options["units"][1] > item.per_buyer_max:
        raise setup.CannotStart(f"A buyer may have {item.per_buyer_max} of sale item {item.pk}: --units asks for more.")
    return [item]


def prepare(items: Sequence[SaleItem], options: dict[str, Any], progress: Progress) -> list[list[Call]]:
    """New buyers, their passes, and every call that they will make."""
    task = progress.add_task("Load-test buyers", total=options["buyers"])
    buyer_ids = load_buyers.load_buyer_ids(
        count=options["buyers"],
        exclude=set().union(*map(setup.buyers_with_units, items)),
        on_progress=partial(progress.advance, task),
    )
    units_min, units_max = options["units"]
    return calls_of(
        buyer_ids=buyer_ids,
        item_ids=[item.pk for item in items],
        habits=Habits(units_min=units_min, units_max=units_max),
        seed=options["seed"],
        new_pass=new_pass,
    )


def new_pass(item_id: int, buyer_id: int) -> tuple[str, str]:
    (text,) = load_buyers.make_passes(item_id=item_id, buyer_ids=[buyer_id])
    return text, str(passes.read(text).reservation_id)


def units_left(item_id: int) -> int | None:
    counters = ledger.read(item_id=item_id)
    return counters.left if counters else None
