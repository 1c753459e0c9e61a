"""`manage.py fault_harness`: what `make faults` runs, in its own directory and with its own server addresses."""

import os
import random
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from rich.console import Console
from rich.markup import escape

from bench.argument_types import whole
from bench.faults import fault_table
from bench.faults.all_faults import FAULTS, ON_REQUEST, QUICK
from bench.faults.fault import Fault
from bench.faults.history import History
from bench.faults.lanes import run_in_lanes
from bench.faults.pairs import draw_pairs, kind_named
from bench.faults.replicas.shop_kind import ShopKind, reservation_store_at
from bench.faults.shop_under_test import ShopUnderTest
from bench.faults.trial import Trial, failed_trial, run_trial
from bench.own_run import add_choice, chosen, listen_for_stop
from shop.local.process import ProcessFailed

# Stands in --only for the pairs that the seed draws.
PAIRS = "pairs"
# Each takes about half a minute.
PAIRS_BY_DEFAULT = 6
# On two cores.
LANES = 2


class Command(BaseCommand):
    help = (
        "Runs the shop on its own servers, injects faults while buyers buy, and compares what the buyers were told "
        "with both stores. The exit code is 1 if the shop broke a promise. Start it with `make faults`."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--seed", type=int, help="seed of the random moments and variants (a new one, which is printed)")
        about_pairs = f". FAULT+FAULT is two at once, {PAIRS!r} those that the seed draws"
        add_choice(parser, names=fault_names, kind="fault", more=about_pairs)
        help_pairs = f"how many pairs of faults at once the seed draws ({PAIRS_BY_DEFAULT})"
        add("--pairs", type=whole, default=PAIRS_BY_DEFAULT, metavar="COUNT", help=help_pairs)
        help_lanes = f"how many shops are tried side by side ({LANES}; with --only and --quick 1)"
        add("--lanes", type=whole, metavar="COUNT", help=help_lanes)

    def handle(self, *args: Any, **options: Any) -> None:
        listen_for_stop()
        console = Console(file=cast(IO[str], self.stdout), highlight=False, soft_wrap=True)
        if options["list"]:
            for kind in (*FAULTS, *ON_REQUEST):
                console.print(f"{kind.name:36} {kind.description}", markup=False)
            return
        directory = os.environ.get("FAULTS_DIRECTORY")
        if not directory:
            raise CommandError(
                "This command starts and kills servers and needs a directory for them: start it with `make faults`."
            )
        names = chosen(options, quick=QUICK, usual=(*(kind.name for kind in FAULTS), PAIRS))
        seed = random.SystemRandom().randrange(10**6) if options["seed"] is None else options["seed"]
        run = HarnessRun(directory=Path(directory), seed=seed, short=options["quick"], console=console)
        kinds = kinds_named(names, seed=seed, pairs=options["pairs"])
        lanes = min(options["lanes"] or (1 if options["only"] or options["quick"] else LANES), len(kinds))
        try:
            trials, versions = run.run_in_lanes(kinds, count=lanes) if lanes > 1 else run.run_all(kinds)
        except ProcessFailed as error:
            raise CommandError(str(error), returncode=2) from error
        except KeyboardInterrupt:
            raise CommandError("Stopped before there was a verdict.", returncode=130) from None
        fault_table.show(trials, console=console)
        path = Path(directory) / "report.json"
        path.write_text(fault_table.as_json(trials, seed=seed, versions=versions))
        path.with_name("faults.md").write_text(fault_table.as_markdown(trials))
        console.print(f"Seed {seed}. Figures: {path}, faults.md")
        if broken := [trial.fault for trial in trials if not trial.kept]:
            raise CommandError(f"The shop broke a promise under: {', '.join(broken)}.")


class HarnessRun:
    """One run of the harness: one shop, one history, and the trials."""

    def __init__(self, *, directory: Path, seed: int, short: bool, console: Console) -> None:
        self._directory = directory
        self._seed = seed
        self._short = short
        self._console = console
        self._started_s = time.monotonic()
        # Whether the shop has all its servers.
        self._lives = True

    def run_all(self, kinds: Sequence[type[Fault]]) -> tuple[list[Trial], dict[str, str]]:
        """All trials, and the versions of what ran. Faults that need the same shop share one. Raises ProcessFailed.

        After a trial in which a server did not come back, the others get a new shop.
        """
        self.print_line(f"seed {self._seed}, {len(kinds)} faults")
        history = History(self._directory / "history.jsonl")
        trials: list[Trial] = []
        versions: dict[str, str] = {}
        try:
            for shop_kind in dict.fromkeys(kind.shop_kind for kind in kinds):
                mine = [kind for kind in kinds if kind.shop_kind == shop_kind]
                while mine:
                    with self.running_shop(shop_kind) as shop:
                        versions = fault_table.versions(shop)
                        self._lives = True
                        while mine and self._lives:
                            trials.append(self.trial(mine.pop(0), shop=shop, history=history))
        finally:
            history.close()
        return trials, versions

    def run_in_lanes(self, kinds: Sequence[type[Fault]], *, count: int) -> tuple[list[Trial], dict[str, str]]:
        """The same by several harnesses side by side. Raises ProcessFailed."""
        self.print_line(f"seed {self._seed}, {len(kinds)} faults in {count} lanes; logs in {self._directory}/lane-*/")
        shops = [*dict.fromkeys(kind.shop_kind for kind in kinds)]
        # Those that need the same shop follow each other, so that each lane gets its part of them.
        names = [kind.name for kind in sorted(kinds, key=lambda kind: shops.index(kind.shop_kind))]
        tell = partial(self._console.print, markup=False)
        options = ["--seed", str(self._seed), *(["--quick"] if self._short else [])]
        return run_in_lanes(names, count=count, directory=self._directory, options=options, tell=tell)

    @contextmanager
    def running_shop(self, shop_kind: ShopKind) -> Iterator[ShopUnderTest]:
        """A shop with this kind of store. Raises ProcessFailed."""
        directory = self._directory / shop_kind.directory_name
        if (directory / "logs").exists():
            # Left by a server that did not come back.
            directory = directory / f"shop-{time.time_ns()}"
        directory.mkdir(exist_ok=True)
        shop = ShopUnderTest(directory, log=lambda text: self.print_line(f"  [yellow]{text}[/]"), kind=shop_kind)
        try:
            shop.start_servers()
            with reservation_store_at(shop.store_url):
                call_command("migrate", verbosity=0, skip_checks=True)
                shop.start_processes()
                self.print_line(f"the shop is running, reservation store: {shop_kind}; logs in {directory / 'logs'}")
                yield shop
        finally:
            shop.stop()
            # The next shop has a PostgreSQL of its own at the same address.
            connection.close()

    def trial(self, kind: type[Fault], *, shop: ShopUnderTest, history: History) -> Trial:
        self.print_line(f"[bold]{kind.name}[/]: {kind.description}")
        began_s = time.monotonic()
        try:
            trial = run_trial(kind, shop=shop, history=history, seed=self._seed, short=self._short)
        except Exception as error:
            # The other trials can still run; the whole run counts as broken.
            self._lives = not isinstance(error, ProcessFailed)
            self._console.print_exception()
            trial = failed_trial(kind, error=error, seconds=time.monotonic() - began_s)
        found = trial.findings
        mark = "[green]kept[/]" if trial.kept else "[bold red]BROKEN[/]"
        back = f", of which {found.brought_back} brought back" if found.brought_back else ""
        self.print_line(
            f"  {mark}, told yes {found.told_yes}, kept {found.kept}{back}; {trial.seconds:.0f} s {trial.variant}"
        )
        for violation in found.violations:
            self.print_line(f"  [red]{escape(violation)}[/]")
        return trial

    def print_line(self, text: str) -> None:
        self._console.print(f"[dim]{time.monotonic() - self._started_s:6.1f} s[/]  {text}")


def fault_names(text: str) -> tuple[str, ...]:
    """`a,b+c` as names of faults and pairs."""
    names = tuple(text.split(","))
    if unknown := [name for name in names if name != PAIRS and kind_named(name) is None]:
        raise ArgumentTypeError(f"no such fault, or no possible pair: {', '.join(unknown)}; --list shows the faults")
    return names


def kinds_named(names: Sequence[str], *, seed: int, pairs: int) -> list[type[Fault]]:
    """The faults with these names, and the pairs of this seed in the place of `pairs`."""
    kinds: list[type[Fault]] = []
    for name in names:
        if name == PAIRS:
            kinds += draw_pairs(seed=seed, count=pairs)
        elif kind := kind_named(name):
            kinds.append(kind)
    return kinds
