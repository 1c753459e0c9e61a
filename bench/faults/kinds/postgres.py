"""PostgreSQL is killed or restarted, refuses to write, or finds a deadlock."""

import contextlib
import uuid

import psycopg
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from bench.faults.buyer_journey import Demand
from bench.faults.fault import INJECT_SECONDS_MAX, Fault, Part
from bench.faults.kinds.processes import ProcessDown, ProcessKilled
from bench.faults.sql import ask
from bench.faults.wire.proxy import DropRule
from orders.models import Order
from seckill.models import SaleItem
from seckill.outbox.outbox import GROUP
from seckill.store.keys import keys_of

DEADLOCKS_TRIED = 3


class PostgresKilled(ProcessKilled):
    name = "postgres-killed"
    description = "kill -9 of PostgreSQL and its children; it is started again at once"
    target = "postgres"
    disturbs = frozenset({Part.POSTGRES})


class PostgresDown(ProcessDown):
    """Reserving makes no query, so buyers are told yes meanwhile; the orders follow afterwards."""

    name = "postgres-down"
    description = "kill -9 of PostgreSQL, which stays down for 6 s"
    target = "postgres"
    duration_seconds = 6.0
    demand = Demand(arrival_seconds=10.0)
    refusals_are_timed = True
    disturbs = frozenset({Part.POSTGRES})


class PostgresRestarted(Fault):
    name = "postgres-restarted"
    description = "a fast shutdown of PostgreSQL and a start"
    disturbs = frozenset({Part.POSTGRES})

    def inject(self) -> None:
        self.shop.processes["postgres"].ask_to_stop()
        self.shop.wait_until(lambda: not self.shop.processes["postgres"].running, seconds_max=INJECT_SECONDS_MAX)


class KilledAtCommit(Fault):
    """Kills PostgreSQL when the proxy sees the worker's COMMIT of a batch of orders."""

    deliver = False
    disturbs = frozenset({Part.POSTGRES})

    def inject(self) -> None:
        rule = DropRule(pattern=b"COMMIT", after=b"INSERT INTO orders_order", deliver=self.deliver)
        self.shop.proxy.add_rule(rule, "worker-postgres")
        self.happened = self.shop.wait_until(rule.triggered.is_set, seconds_max=INJECT_SECONDS_MAX)
        if self.happened:
            self.shop.kill("postgres")


class PostgresKilledBeforeCommit(KilledAtCommit):
    name = "postgres-killed-before-commit"
    description = "the COMMIT of a batch of orders is lost on its way, and PostgreSQL is killed"


class PostgresKilledAfterCommit(KilledAtCommit):
    name = "postgres-killed-after-commit"
    description = "a batch of orders is committed, the answer is lost, and PostgreSQL is killed"
    deliver = True


class PostgresReadOnly(Fault):
    name = "postgres-read-only"
    description = "PostgreSQL refuses every write, for 5 s"
    duration_seconds = 5.0
    demand = Demand(arrival_seconds=9.0)
    disturbs = frozenset({Part.POSTGRES})

    def inject(self) -> None:
        self._set("SET default_transaction_read_only = on")

    def undo(self) -> None:
        self._set("RESET default_transaction_read_only")

    def _set(self, clause: str) -> None:
        """Change the database's default, and end all connections so that they get it."""
        may_write = "-c default_transaction_read_only=off"
        with psycopg.connect(settings.DATABASE_URL, autocommit=True, options=may_write) as session:
            session.execute(f"ALTER DATABASE {session.info.dbname} {clause}".encode())
            session.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


class PostgresDeadlock(Fault):
    """The harness locks the item's row, intake waits for it in its transaction, and the harness inserts intake's order.

    The harness's own `deadlock_timeout` is a minute, so intake finds the deadlock first and is the one to be ended.
    """

    name = "postgres-deadlock"
    description = "PostgreSQL ends the worker's transaction to resolve a deadlock"

    def inject(self) -> None:
        before = self._deadlocks()
        for _try in range(DEADLOCKS_TRIED):
            with contextlib.suppress(DatabaseError):
                self._deadlock_once()
            if self.shop.wait_until(lambda: self._deadlocks() > before, seconds_max=2.0):
                break
            self.shop.wait(0.5)
        found = self._deadlocks() - before
        self.variant = f"{found} deadlocks"
        self.happened = found > 0

    def _deadlock_once(self) -> None:
        outbox, store = keys_of(self.context.item.pk).outbox, self.shop.store_client()
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL deadlock_timeout = '60s'")
            cursor.execute("SET LOCAL lock_timeout = '10s'")
            SaleItem.objects.select_for_update().get(pk=self.context.item.pk)

            def is_blocking() -> bool:
                cursor.execute(
                    "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
                )
                return bool(cursor.fetchone()[0])

            self.shop.wait_until(is_blocking, seconds_max=INJECT_SECONDS_MAX)
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
        return int(ask("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") or 0)
