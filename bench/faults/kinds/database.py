"""PostgreSQL dies at a commit, is restarted, refuses to write, or finds a deadlock."""

import contextlib
import uuid

import psycopg
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from bench.faults.buyer_journey import Demand
from bench.faults.fault import Fault
from bench.faults.kinds.network import STRIKE_SECONDS_MAX
from bench.faults.proxy import Trap
from orders.models import Order
from seckill.keys import keys_of
from seckill.models import SaleItem
from seckill.outbox import GROUP

DEADLOCKS_TRIED = 3


class PostgresKilled(Fault):
    name = "postgres-killed"
    what = "kill -9 of PostgreSQL with all its processes; it is started again at once"

    def inject(self) -> None:
        self.site.kill("postgres")


class PostgresDown(Fault):
    """The hot path makes no query: yeses are told meanwhile, and become orders afterwards."""

    name = "postgres-down"
    what = "kill -9 of PostgreSQL, which stays away for 6 s"
    lasts_seconds = 6.0
    demand = Demand(arrival_seconds=10.0)
    refusals_are_timed = True

    def inject(self) -> None:
        self.site.hold_down("postgres")

    def heal(self) -> None:
        self.site.let_up("postgres")


class PostgresRestarted(Fault):
    name = "postgres-restarted"
    what = "a fast shutdown of PostgreSQL, and a start"

    def inject(self) -> None:
        self.site.parts["postgres"].ask_to_stop()
        self.site.wait_until(lambda: not self.site.parts["postgres"].running, seconds_max=STRIKE_SECONDS_MAX)


class KilledAtCommit(Fault):
    """The proxy sees the worker's COMMIT of a batch of orders."""

    deliver = False

    def inject(self) -> None:
        self.trap = Trap(pattern=b"COMMIT", prelude=b"INSERT INTO orders_order", deliver=self.deliver)
        self.site.proxy.arm(self.trap, "worker-postgres")
        if self.site.wait_until(self.trap.sprung.is_set, seconds_max=STRIKE_SECONDS_MAX):
            self.site.kill("postgres")

    def struck(self) -> bool:
        return self.trap.sprung.is_set()


class PostgresKilledBeforeCommit(KilledAtCommit):
    name = "postgres-killed-before-commit"
    what = "kill -9 of PostgreSQL when the COMMIT of a batch is on its way, which is lost"


class PostgresKilledAfterCommit(KilledAtCommit):
    name = "postgres-killed-after-commit"
    what = "the COMMIT of a batch is done, its answer is lost, and PostgreSQL gets kill -9"
    deliver = True


class PostgresReadOnly(Fault):
    name = "postgres-read-only"
    what = "PostgreSQL refuses every write, for 5 s"
    lasts_seconds = 5.0
    demand = Demand(arrival_seconds=9.0)

    def inject(self) -> None:
        self._set("SET default_transaction_read_only = on")

    def heal(self) -> None:
        self._set("RESET default_transaction_read_only")

    def _set(self, what: str) -> None:
        """For the database, and so that every connection hears of it."""
        may_write = "-c default_transaction_read_only=off"
        with psycopg.connect(settings.DATABASE_URL, autocommit=True, options=may_write) as session:
            session.execute(f"ALTER DATABASE {session.info.dbname} {what}".encode())
            session.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


class PostgresDeadlock(Fault):
    """We hold the item's row, for which intake waits in its transaction, and ask for the order that it has inserted.

    Our own patience is a minute, so PostgreSQL finds the deadlock from intake's side, whose transaction it ends.
    """

    name = "postgres-deadlock"
    what = "PostgreSQL ends the worker's transaction to resolve a deadlock"

    def inject(self) -> None:
        before = self._deadlocks()
        for _try in range(DEADLOCKS_TRIED):
            with contextlib.suppress(DatabaseError):
                self._embrace()
            if self.site.wait_until(lambda: self._deadlocks() > before, seconds_max=2.0):
                break
            self.site.wait(0.5)
        self._found = self._deadlocks() - before
        self.variant = f"{self._found} deadlocks"

    def _embrace(self) -> None:
        outbox, store = keys_of(self.stage.item.pk).outbox, self.site.store_client()
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL deadlock_timeout = '60s'")
            cursor.execute("SET LOCAL lock_timeout = '10s'")
            SaleItem.objects.select_for_update().get(pk=self.stage.item.pk)

            def somebody_waits() -> bool:
                cursor.execute(
                    "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
                )
                return bool(cursor.fetchone()[0])

            self.site.wait_until(somebody_waits, seconds_max=STRIKE_SECONDS_MAX)
            pending = store.xpending_range(outbox, GROUP, "-", "+", 1)
            if not pending:
                return
            fields = store.xrange(outbox, pending[0]["message_id"], pending[0]["message_id"])[0][1]
            now = timezone.now()
            Order.objects.create(
                number=uuid.uuid4(),
                reservation_id=fields[b"reservation"].decode(),
                buyer_id=int(fields[b"buyer"]),
                amount_minor=1,
                currency=settings.CURRENCY,
                reserved_at=now,
                expires_at=now,
            )
            transaction.set_rollback(True)

    def _deadlocks(self) -> int:
        with psycopg.connect(settings.DATABASE_URL, autocommit=True) as session:
            row = session.execute(
                "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
            ).fetchone()
        return int(row[0]) if row else 0

    def struck(self) -> bool:
        return self._found > 0
