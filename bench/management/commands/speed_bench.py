"""`manage.py speed_bench`: what `make bench` runs, on servers that it has started."""

import os
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django_redis import get_redis_connection

from bench.argument_types import number_up_to
from bench.machine import sentence_of
from bench.measure.speed import speed_chart, speed_results, speed_tables
from bench.measure.speed.bare_site.models import make_tables
from bench.measure.speed.capacity_plan import only_unit_costs
from bench.measure.speed.part import Part
from bench.measure.speed.parts.all_parts import BY_NAME, PARTS, QUICK
from bench.measure.speed.ratios import Verdict, verdicts
from bench.measure.speed.rounds import Outcome, run_rounds, ticks_of
from bench.measure.speed.server_groups import NEED_NO_DATABASE, prepare_database
from bench.measure.speed.wrk import WrkMissing, find_wrk
from bench.own_run import add_choice, chosen, listen_for_stop
from bench.tables import console_on, ticking
from orders.preflight.unit_costs import FILE
from seckill.publication import CannotPublish
from seckill.store.client import StoreUnreachable
from shop.local.process import ProcessFailed
from shop.local.shop_processes import ROOT

# So that no combination of options runs for ever.
ROUNDS_MAX, SECONDS_MAX = 20, 60
ROUNDS, SECONDS = 5, 5
QUICK_ROUNDS, QUICK_SECONDS = 1, 1
RESULTS = ROOT / "docs" / "results"


class Command(BaseCommand):
    help = (
        "Measures how fast the shop answers, beside servers that do almost nothing, and prints the ratios. The exit "
        "code is 1 if an answer was wrong or an order is missing, never because of a time. Start it with `make bench`."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add_choice(parser, names=part_names, kind="part")
        add("--rounds", type=number_up_to(ROUNDS_MAX), metavar="N", help=f"rounds; the median counts ({ROUNDS})")
        add("--seconds", type=number_up_to(SECONDS_MAX), metavar="N", help=f"length of a measurement ({SECONDS})")
        add(
            "--results",
            type=Path,
            metavar="DIR",
            help="where all results are written (.stampede/speed; speed.md of a whole run goes to docs/results, and "
            "unit_costs.json to orders/preflight)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        listen_for_stop()
        console = console_on(self.stdout)
        if options["list"]:
            for part in PARTS:
                console.print(f"{part.name:22} {part.title}", markup=False)
            return
        directory = os.environ.get("SPEED_DIRECTORY")
        if not directory:
            raise CommandError("This command needs servers of its own: start it with `make bench`.")
        try:
            find_wrk()
            outcomes, measured_on = measure_all(options, directory=Path(directory))
        except (CannotPublish, ProcessFailed, StoreUnreachable, WrkMissing) as error:
            raise CommandError(str(error), returncode=2) from error
        except KeyboardInterrupt:
            raise CommandError("Stopped before the end.", returncode=130) from None
        reached = verdicts({outcome.part.name: outcome.samples for outcome in outcomes})
        speed_tables.show(outcomes, reached, console=console)
        console.print(sentence_of(measured_on), style="dim", markup=False)
        pages, figures = results_directories(options, Path(directory))
        write_results(outcomes, reached, measured_on=measured_on, pages=pages, figures=figures)
        console.print(f"Tables: {pages}/speed.md; unit costs: {FILE.name}", soft_wrap=True)
        console.print(f"Figures and picture: {figures}/speed.json, speed.svg", soft_wrap=True)
        if wrong := [outcome.part.name for outcome in outcomes if outcome.wrong]:
            raise CommandError(f"Wrong answers, so these figures do not count: {', '.join(wrong)}.")


def measure_all(options: dict[str, Any], *, directory: Path) -> tuple[list[Outcome], dict[str, str]]:
    """Prepare the servers and run all rounds, with a progress bar. Raises ProcessFailed and others."""
    parts = parts_of(options)
    rounds, seconds = rounds_of(options)
    with ticking("tables and static files", total=ticks_of(parts, rounds=rounds)) as tick:
        if {part.server for part in parts} - NEED_NO_DATABASE:
            prepare_database(directory=directory)
            make_tables()
        measured_on = speed_results.machine(rounds=rounds, seconds=seconds, versions=server_versions())
        return run_rounds(parts, rounds=rounds, seconds=seconds, directory=directory, tick=tick), measured_on


def parts_of(options: dict[str, Any]) -> Sequence[Part]:
    return [BY_NAME[name] for name in chosen(options, quick=QUICK, usual=tuple(BY_NAME))]


def rounds_of(options: dict[str, Any]) -> tuple[int, int]:
    rounds, seconds = (QUICK_ROUNDS, QUICK_SECONDS) if options["quick"] else (ROUNDS, SECONDS)
    return options["rounds"] or rounds, options["seconds"] or seconds


def results_directories(options: dict[str, Any], directory: Path) -> tuple[Path, Path]:
    """Where the tables go, and where all figures go.

    The published tables are those of a whole run: all parts, with no fewer rounds and seconds than by default.
    """
    if options["results"]:
        return options["results"], options["results"]
    rounds, seconds = rounds_of(options)
    whole = len(parts_of(options)) == len(PARTS) and rounds >= ROUNDS and seconds >= SECONDS
    return RESULTS if whole else directory, directory


def write_results(
    outcomes: Sequence[Outcome], reached: Sequence[Verdict], *, measured_on: dict[str, str], pages: Path, figures: Path
) -> None:
    for directory in (pages, figures):
        directory.mkdir(parents=True, exist_ok=True)
    results = speed_results.everything(outcomes, reached, measured_on=measured_on)
    (pages / "speed.md").write_text(speed_tables.page(outcomes, reached, measured_on=measured_on))
    # Those of a whole run go to the shop itself: the pre-flight of a sale reads them.
    costs = FILE if pages == RESULTS else pages / FILE.name
    costs.write_text(speed_results.as_json(only_unit_costs(results)))
    (figures / "speed.json").write_text(speed_results.as_json(results))
    speed_chart.draw(outcomes, reached, path=figures / "speed.svg")


def server_versions() -> dict[str, str]:
    valkey = get_redis_connection("seckill").info("server")["valkey_version"]
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        (postgres,) = cursor.fetchone()
    return {"Valkey": str(valkey), "PostgreSQL": str(postgres)}


def part_names(text: str) -> tuple[str, ...]:
    """`a,b` as names of parts, each once, in the order in which they are measured."""
    asked = set(text.split(","))
    if unknown := sorted(asked - set(BY_NAME)):
        raise ArgumentTypeError(f"no such part: {', '.join(unknown)}; --list shows them")
    return tuple(name for name in BY_NAME if name in asked)
