"""`manage.py capacity --rps N --units N`: what a rush needs, from the figures of the last `make bench`."""

from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.box import SIMPLE_HEAD
from rich.table import Table

from bench.argument_types import number_up_to
from bench.machine import sentence_of
from bench.measure.speed.capacity_plan import Line, Rush, as_json, plan
from bench.tables import console_on
from orders.preflight.unit_costs import FILE, NoUnitCosts, read_results, unit_costs

# A thousand times what the largest shops of the world have had.
RPS_MAX, UNITS_MAX = 1_000_000_000, 1_000_000_000


class Command(BaseCommand):
    help = (
        "Plans cores, stores and hosts for a rush, from what a request cost in the last whole `make bench`, and says "
        "what each line rests on. It calls no server."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--rps", type=number_up_to(RPS_MAX), required=True, metavar="N", help="requests in a second at the peak")
        add("--units", type=number_up_to(UNITS_MAX), required=True, metavar="N", help="units on sale")
        add("--sell-seconds", type=number_up_to(86_400), default=10, metavar="N", help="within which they sell (10)")
        add(
            "--shares",
            type=shares,
            default=(40, 50, 10),
            metavar="R,L,P",
            help="percent of the requests: refusals, live figures, pages (40,50,10)",
        )
        add("--busy", type=number_up_to(100), default=60, metavar="PERCENT", help="of a core at the peak (60)")
        add("--cores-per-host", type=number_up_to(1024), default=16, metavar="N", help="size of a host (16)")
        add("--results", type=Path, default=FILE, metavar="FILE", help="what `make bench` wrote (unit_costs.json)")
        add("--json", action="store_true", help="print JSON instead of a table")

    def handle(self, *args: Any, **options: Any) -> None:
        refusals, live, pages = options["shares"]
        rush = Rush(
            requests_per_second=options["rps"],
            units=options["units"],
            sell_seconds=options["sell_seconds"],
            refusal_percent=refusals,
            live_percent=live,
            page_percent=pages,
            busy_percent=options["busy"],
            cores_per_host=options["cores_per_host"],
        )
        try:
            results = read_results(options["results"])
            lines = plan(rush, unit_costs(results))
        except NoUnitCosts as error:
            raise CommandError(str(error)) from error
        measured_on = results.get("machine", {})
        if options["json"]:
            self.stdout.write(as_json(rush, lines, measured_on=measured_on))
            return
        console = console_on(self.stdout)
        console.print(table_of(rush, lines))
        console.print(f"Unit costs from {options['results']}: {sentence_of(measured_on)}", style="dim", markup=False)


def table_of(rush: Rush, lines: list[Line]) -> Table:
    title = f"{rush.requests_per_second:,} requests/s, {rush.units:,} units in {rush.sell_seconds:,} s"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("what", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("rests on", style="dim")
    for line in lines:
        value = f"{line.value:,.0f}" if line.value >= 10 or line.value == int(line.value) else f"{line.value:.2g}"
        table.add_row(line.what, value, line.unit, line.basis)
    return table


def shares(text: str) -> tuple[int, int, int]:
    """`40,50,10`: three whole percentages that add up to 100."""
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and len(part) <= 3 for part in parts):
        raise ArgumentTypeError(f"{text[:40]} is not three whole percentages such as 40,50,10")
    numbers = tuple(map(int, parts))
    if len(numbers) != 3 or sum(numbers) != 100:
        raise ArgumentTypeError(f"{text[:40]} must be three percentages that add up to 100")
    return numbers
