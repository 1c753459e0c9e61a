"""`manage.py fault_harness`: what `make faults` runs, in a directory and with server addresses of its own."""

import os
import random
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, cast

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.markup import escape

from bench.faults import fault_table
from bench.faults.all_faults import BY_NAME, FAULTS, QUICK
from bench.faults.fault import Fault
from bench.faults.history import History
from bench.faults.shop_under_test import Site
from bench.faults.trial import Trial, failed_trial, run_trial
from shop.local.process import PartFailed


class Command(BaseCommand):
    help = (
        "Runs the shop on servers of its own, lets faults happen to it while buyers buy, and compares what they were "
        "told with what stands in both stores. Exit code 1 where a promise was broken. Start it with `make faults`."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--seed", type=int, help="draws moments and variants; the same number draws the same (random)")
        add("--only", type=fault_names, metavar="NAME,…", help="these faults alone")
        add("--quick", action="store_true", help="a short selection")
        add("--list", action="store_true", help="name the faults, and run none")
        add("--json", type=Path, metavar="FILE", help="write the figures there (report.json beside the servers)")
        add("--markdown", action="store_true", help="print the table as docs/reliability.md shows it, too")

    def handle(self, *args: Any, **options: Any) -> None:
        console = Console(file=cast(IO[str], self.stdout), highlight=False, soft_wrap=True)
        if options["list"]:
            for kind in FAULTS:
                console.print(f"{kind.name:36} {kind.what}", markup=False)
            return
        directory = os.environ.get("FAULTS_DIRECTORY")
        if not directory:
            raise CommandError("It starts and kills servers, so it needs its own: start it with `make faults`.")
        names = options["only"] or (QUICK if options["quick"] else tuple(BY_NAME))
        seed = random.SystemRandom().randrange(10**6) if options["seed"] is None else options["seed"]
        session = Session(directory=Path(directory), seed=seed, short=options["quick"], console=console)
        try:
            trials, versions = session.run([BY_NAME[name] for name in names])
        except PartFailed as error:
            raise CommandError(str(error), returncode=2) from error
        except KeyboardInterrupt:
            raise CommandError("Stopped before the verdict.", returncode=130) from None
        fault_table.show(trials, console=console)
        if options["markdown"]:
            console.print(fault_table.as_markdown(trials), markup=False)
        path = options["json"] or Path(directory) / "report.json"
        path.write_text(fault_table.as_json(trials, seed=seed, versions=versions))
        console.print(f"Seed {seed}. Figures: {path}")
        if broken := [trial.fault for trial in trials if not trial.kept]:
            raise CommandError(f"The shop broke its word under: {', '.join(broken)}.")


class Session:
    """One run of the harness: a site, a history, and a line for each trial."""

    def __init__(self, *, directory: Path, seed: int, short: bool, console: Console) -> None:
        self._directory = directory
        self._seed = seed
        self._short = short
        self._console = console
        self._started_s = time.monotonic()

    def run(self, kinds: Sequence[type[Fault]]) -> tuple[list[Trial], dict[str, str]]:
        """All trials on one site; with them, the versions of what ran. Raises PartFailed."""
        self.say(f"seed {self._seed}, {len(kinds)} faults; logs in {self._directory / 'logs'}")
        site = Site(self._directory, log=lambda text: self.say(f"  [yellow]{text}[/]"))
        history = History(self._directory / "history.jsonl")
        try:
            site.start_servers()
            call_command("migrate", verbosity=0, skip_checks=True)
            site.start_processes()
            self.say("the shop runs")
            return [self.trial(kind, site=site, history=history) for kind in kinds], fault_table.versions(site)
        finally:
            site.stop()
            history.close()

    def trial(self, kind: type[Fault], *, site: Site, history: History) -> Trial:
        self.say(f"[bold]{kind.name}[/]: {kind.what}")
        began_s = time.monotonic()
        try:
            trial = run_trial(kind, site=site, history=history, seed=self._seed, short=self._short)
        except PartFailed:
            raise
        except Exception as error:
            # The other faults can still be shown; this run counts as broken all the same.
            self._console.print_exception()
            trial = failed_trial(kind, error=error, seconds=time.monotonic() - began_s)
        found = trial.findings
        mark = "[green]kept[/]" if trial.kept else "[bold red]BROKEN[/]"
        self.say(f"  {mark}, told yes {found.told_yes}, kept {found.kept}; {trial.seconds:.0f} s {trial.variant}")
        for word in found.broken:
            self.say(f"  [red]{escape(word)}[/]")
        return trial

    def say(self, text: str) -> None:
        self._console.print(f"[dim]{time.monotonic() - self._started_s:6.1f} s[/]  {text}")


def fault_names(text: str) -> tuple[str, ...]:
    """`a,b` as names of faults."""
    names = tuple(text.split(","))
    if unknown := [name for name in names if name not in BY_NAME]:
        raise ArgumentTypeError(f"no such fault: {', '.join(unknown)}; --list names them")
    return names
