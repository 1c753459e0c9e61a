"""`manage.py sale_preflight SALE`: everything that must be so before a sale opens."""

import sys
import time
from argparse import ArgumentParser
from collections import Counter
from typing import IO, Any, cast

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from rich.console import Console
from rich.text import Text

from orders.preflight.canaries import PAUSE_SECONDS, SECONDS_MAX
from orders.preflight.finding import Finding, Verdict
from orders.preflight.preflight import preflight
from orders.preflight.trial_mail import ask_for_mail, last_trial
from seckill.models import Sale
from shop.background.outages import AWAY, database_failed, one_line

STOP_MARK = ("✗", "red")
# The exit code is for real shops, where nothing is left for later.
MARKS = {
    Verdict.GOOD: ("✓", "green"),
    Verdict.WARNING: ("!", "yellow"),
    Verdict.LATER: STOP_MARK,
    Verdict.STOP: STOP_MARK,
}


class Command(BaseCommand):
    help = (
        "Looks at everything that must be so before a sale opens: window, terms, translations, settings, durability "
        "of both stores, memory of the reservation store, clocks, stock, admission, workers and beat, how long its "
        "orders take, the load, public pages, limits, payments, mails and the last rehearsal. Each line is good (✓), a "
        "warning (!) or a stop (✗), with what to do. Changes nothing. Exit code 0: no stop; 1: at least one; 2: no "
        "such sale, PostgreSQL is away, or with --mail-to the broker or the cache is."
    )
    # It looks at them itself, one line each.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("sale", type=int, metavar="SALE", help="the id of the sale, as in its address")
        parser.add_argument("--mail-to", metavar="ADDRESS", help="have a worker send a test mail to this address first")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            sale = Sale.objects.filter(pk=options["sale"]).first()
        except DatabaseError as error:
            raise CommandError(database_failed(error), returncode=2) from None
        if sale is None:
            raise CommandError(f"No such sale: {options['sale']}.", returncode=2)
        if options["mail_to"]:
            send_mail(options["mail_to"])
        console = Console(file=cast(IO[str], self.stdout))
        console.print(Text(f"Pre-flight of “{sale}” (sale {sale.pk})", style="bold"))
        counts: Counter[Verdict] = Counter()
        for finding in preflight(sale):
            counts[Verdict.STOP if finding.verdict is Verdict.LATER else finding.verdict] += 1
            show(finding, console=console)
        self.stdout.write(verdict_on(counts))
        if counts[Verdict.STOP]:
            sys.exit(1)


def send_mail(to: str) -> None:
    """Wait for the worker as long as for a message: the look at the mails says what became of it."""
    try:
        ask_for_mail(to=to, language=settings.LANGUAGE_CODE)
        give_up_s = time.monotonic() + SECONDS_MAX
        while (trial := last_trial()) and trial.error is None and time.monotonic() < give_up_s:
            time.sleep(PAUSE_SECONDS)
    except AWAY as error:
        raise CommandError(f"The cache or the broker does not answer: {one_line(error)}", returncode=2) from None


def show(finding: Finding, *, console: Console) -> None:
    mark, style = MARKS[finding.verdict]
    console.print(Text(f"{mark} {finding.text}", style=style), soft_wrap=True)
    if finding.todo:
        console.print(Text(f"  → {finding.todo}"), soft_wrap=True)


def verdict_on(counts: Counter[Verdict]) -> str:
    if counts[Verdict.STOP]:
        return f"NOT ready: {counts[Verdict.STOP]} to mend, {counts[Verdict.WARNING]} to look at."
    if counts[Verdict.WARNING]:
        return f"Ready, with {counts[Verdict.WARNING]} to look at."
    return "Ready."
