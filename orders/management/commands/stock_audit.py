"""`manage.py stock_audit`: checks while the shop runs that the ordinary stock agrees with its journal and the orders.

Exit code 0: they agree. 1: they differ. 2: it could not be checked.
"""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from orders.repair.stock_audit import audit_stock
from shop.background.outages import database_failed


class Command(BaseCommand):
    help = (
        "Compares each variant's available, held and sold units with the stock's journal, the orders and the sales. "
        "The last line is the verdict. Exit code 0: they agree; 1: they differ; 2: PostgreSQL does not answer."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            audit = audit_stock()
        except DatabaseError as error:
            raise CommandError(f"Not checked. {database_failed(error)}", returncode=2) from None
        for difference in audit.differences:
            self.stdout.write(str(difference))
        variants = f"{audit.variants} variant{'' if audit.variants == 1 else 's'}"
        if audit.differences:
            self.stdout.write(f"The stock DIFFERS: {len(audit.differences)} figures, in {variants}.")
            sys.exit(1)
        self.stdout.write(f"The stock agrees with its journal, the orders and the sales: {variants} checked.")
