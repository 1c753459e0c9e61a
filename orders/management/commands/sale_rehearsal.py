"""`manage.py sale_rehearsal SALE`: simulated buyers against a shadow of the sale."""

import sys
from argparse import ArgumentParser
from typing import IO, Any, cast

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from rich.console import Console

from orders.management.commands.sale_preflight import show
from orders.models import Rehearsal
from orders.preflight.finding import Verdict
from orders.preflight.rehearsal_verdict import ENDINGS, findings_of, worst_of
from orders.rehearsal.plan import BUYERS_MAX, BUYERS_MIN, Refused, usual_buyers
from orders.rehearsal.running import run, start
from seckill.models import Sale
from shop.background.outages import database_failed
from shop.languages.kept_texts import in_readers_language


class Command(BaseCommand):
    help = (
        "Rehearses a sale: simulated buyers ask the running shop at SHOP_URL for units of a shadow of the sale, which "
        "no buyer sees and which is removed at the end. Workers write the orders and take them back. Needs "
        "REHEARSALS=1 and a running shop with its workers. Exit code 0: the promises held; 1: one did not; 2: the "
        "rehearsal could not begin, or was broken off."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("sale", type=int, metavar="SALE", help="the id of the sale, as in its address")
        parser.add_argument("--buyers", type=int, help=f"simulated buyers, {BUYERS_MIN} to {BUYERS_MAX:,}")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            rehearsal = self.begin(options["sale"], buyers=options["buyers"])
            run(rehearsal, show=self.show_stage)
            rehearsal.refresh_from_db()
        except DatabaseError as error:
            raise CommandError(database_failed(error), returncode=2) from None
        except Rehearsal.DoesNotExist:
            raise CommandError("The sale was deleted during the rehearsal.", returncode=2) from None
        if rehearsal.report is None:
            raise CommandError(in_readers_language(rehearsal.problem), returncode=2)
        console = Console(file=cast(IO[str], self.stdout))
        for finding in findings_of(rehearsal.report):
            show(finding, console=console)
        worst = worst_of(rehearsal.report)
        self.stdout.write(str(ENDINGS[worst]))
        if worst is Verdict.STOP:
            sys.exit(1)

    def begin(self, sale_id: int, *, buyers: int | None) -> Rehearsal:
        sale = Sale.objects.filter(pk=sale_id).first()
        if sale is None:
            raise CommandError(f"No such sale: {sale_id}.", returncode=2)
        if buyers is not None and not BUYERS_MIN <= buyers <= BUYERS_MAX:
            raise CommandError(f"--buyers is from {BUYERS_MIN} to {BUYERS_MAX:,}.", returncode=2)
        try:
            rehearsal = start(sale, buyers=buyers or usual_buyers(sale))
        except Refused as refusal:
            raise CommandError(str(refusal.args[0]), returncode=2) from None
        self.stdout.write(f"Rehearsal of “{sale}” (sale {sale.pk}) with {rehearsal.buyers:,} simulated buyers")
        self._stage = ""
        return rehearsal

    def show_stage(self, rehearsal: Rehearsal) -> None:
        if rehearsal.stage != self._stage:
            self._stage = rehearsal.stage
            self.stdout.write(f"  {rehearsal.get_stage_display()} …")
