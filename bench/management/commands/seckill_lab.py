"""`manage.py seckill_lab`: measures the strategies of bench/strategies side by side."""

import io
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from bench.lab import output, plots
from bench.lab.buyers.calls import Setting
from bench.lab.options import DESCRIPTION, INTERLEAVE, add_options, refusal_of, with_defaults
from bench.lab.presets import EVERY, PRESETS, Series, quick
from bench.lab.schedules import slow_motion
from bench.lab.series import SeriesResult, run_series, steps_of
from bench.lab.servers.lab_servers import running_lab_servers
from bench.lab.servers.lab_store import lab_store
from bench.own_run import listen_for_stop
from bench.spawned_processes import BuyersFailed
from bench.strategies.all_strategies import BY_ID
from bench.tables import console_on, ticking
from shop.local.process import ProcessFailed
from shop.local.wheel import WheelMissing


class Command(BaseCommand):
    help = DESCRIPTION

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        listen_for_stop()
        if refusal := refusal_of(options):
            raise CommandError(refusal, returncode=2)
        options = with_defaults(options)
        if options["http"]:
            call_command(*stampede_arguments(options), stdout=self.stdout)
            return
        console = console_on(self.stdout)
        try:
            not_shown = show_flaws(options, console)
            series = series_of(options)
            results, measured_on = run_all(series) if series else ([], {})
        except (ProcessFailed, WheelMissing, BuyersFailed) as error:
            raise CommandError(str(error)) from error
        except psycopg.OperationalError as error:
            raise CommandError(f"PostgreSQL, which some strategies use, does not answer: {error}") from error
        except KeyboardInterrupt:
            raise CommandError("Stopped before the end.", returncode=130) from None
        output.show(results, console=console)
        if options["json"]:
            options["json"].write_text(output.as_json(results, measured_on=measured_on))
        if options["plots"]:
            plots.draw(results, directory=options["plots"])
        unexpected = [flaw for result in results for flaw in result.unexpected()]
        if not_shown:
            raise CommandError("The schedule did not show the flaw of: " + ", ".join(not_shown))
        if unexpected:
            raise CommandError("Expected to be correct, but was not: " + "; ".join(unexpected))


def stampede_arguments(options: dict[str, Any]) -> list[str]:
    """The same run over HTTP, as the words of a command line for `manage.py stampede`."""
    units_min, units_max = options["units"]
    buyers = options["buyers"] or 505
    command = ["stampede", "--buyers", str(buyers), "--stock", str(options["stock"] or buyers - buyers // 100)]
    command += ["--units", f"{units_min}-{units_max}", "--processes", str(options["processes"])]
    command += ["--connections", str(options["clients"]), "--seed", str(options["seed"])]
    return [*command, "--json", str(options["json"])] if options["json"] else command


def run_all(series: Sequence[Series]) -> tuple[list[SeriesResult], dict[str, str]]:
    """Run one series after the other, with a progress bar. The second value is what they ran on."""
    kinds = [BY_ID[strategy_id] for one in series for strategy_id in one.strategies]
    with (
        running_lab_servers(kinds, database_url=settings.DATABASE_URL) as lab_servers,
        ticking("", total=steps_of(series)) as tick,
    ):
        return [run_series(one, lab_servers=lab_servers, tick=tick) for one in series], lab_servers.measured_on


def show_flaws(options: dict[str, Any], console: Console) -> list[str]:
    """Run the schedules asked for. Returns the ids of strategies whose schedule did not show its flaw."""
    chosen: list[str] = []
    if options["interleave"]:
        chosen = [options["interleave"]]
    elif INTERLEAVE in (options["preset"] or ()) or (options["quick"] and not options["preset"]):
        chosen = [
            strategy_id for strategy_id in options["strategies"] or EVERY if slow_motion.schedules_of(strategy_id)
        ]
    if not chosen:
        return []
    # --quick only checks that every flaw shows; --interleave prints it.
    quiet = Console(file=io.StringIO())
    with lab_store() as store:
        return [
            strategy_id
            for strategy_id in chosen
            if not slow_motion.show(
                strategy_id, quiet if options["quick"] else console, language=options["language"], store_url=store.url
            )
        ]


def series_of(options: dict[str, Any]) -> list[Series]:
    """The presets asked for, or the run that the options describe; empty if only schedules are to be run."""
    chosen = options["strategies"]
    if options["interleave"]:
        return []
    if options["buyers"] or (options["faults"] and not options["preset"]):
        return [own_series(options)]
    names = options["preset"] or (list(PRESETS) if options["quick"] else ["classic-505"])
    names = [name for name in names if name != INTERLEAVE]
    series = [quick(PRESETS[name]) if options["quick"] else PRESETS[name] for name in names]
    return [
        Series(
            one.name,
            chosen or one.strategies,
            [replace(setting, seed=options["seed"]) for setting in one.settings],
            one.faults,
        )
        for one in series
    ]


def own_series(options: dict[str, Any]) -> Series:
    # Without any, only the faults are run.
    buyers = options["buyers"] or 0
    units_min, units_max = options["units"]
    own = [
        Setting(
            buyers=buyers,
            stock=options["stock"] or buyers - buyers // 100,
            units_min=units_min,
            units_max=units_max,
            processes=options["processes"],
            clients=options["clients"],
            seed=options["seed"],
        )
    ]
    return Series("own", options["strategies"] or EVERY, own if buyers else [], options["faults"])
