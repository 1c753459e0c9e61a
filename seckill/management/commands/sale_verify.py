"""`manage.py sale_verify`: computes the draw of a sale anew and compares.

Exit code 0: the result is right. 1: it differs. 2: it could not be checked.
"""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from seckill.draw.verification import faults_of_file, faults_of_rows
from seckill.models import Draw
from shop.background.outages import database_failed


class Command(BaseCommand):
    help = (
        "Recomputes the draw of a sale from its published file and compares the rows of the database with it. With "
        "--file it checks a downloaded file, also against what this shop has of the sale. Exit code 0: the result is "
        "right; 1: it differs; 2: not checked."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("sale", type=int, metavar="SALE", help="id of the sale")
        parser.add_argument("--file", type=Path, help="a file that was downloaded from the page of the draw")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            draw = Draw.objects.filter(pk=options["sale"]).first()
            if draw is None or draw.drawn_at is None:
                raise CommandError("This sale has no draw that was carried out.", returncode=2)
            faults = faults_of_rows(draw)
        except DatabaseError as error:
            raise CommandError(database_failed(error), returncode=2) from None
        if options["file"]:
            try:
                faults += faults_of_file(draw, json.loads(options["file"].read_text()))
            except Exception as error:
                # Anybody may have made it: 1e999 units and a thousand brackets have errors of their own.
                raise CommandError(f"Not a file of a draw: {error!r}", returncode=2) from None
        for fault in faults:
            self.stdout.write(fault)
        count = len(json.loads(draw.file)["entries"])
        if faults:
            problems = f"{len(faults)} problem{'' if len(faults) == 1 else 's'}"
            self.stdout.write(f"The draw DIFFERS: {problems}, {count} entries.")
            sys.exit(1)
        self.stdout.write(f"The draw is right: {count} entries, seed {draw.seed}, entries {draw.entries_sha256}.")
