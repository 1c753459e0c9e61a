"""A standby of PostgreSQL is promoted after the primary was killed: with all commits, or without the last ones."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from django.db import connection
from django.db.models import Q

from bench.faults.buyer_journey import Demand
from bench.faults.fault import INJECT_SECONDS_MAX, Fault, TrialContext
from bench.faults.kinds.restored_database import COMPANY, PostgresRestored, run, send_again
from bench.faults.shop_under_test import CELERY, WEBS, ShopUnderTest
from bench.faults.sql import ask, tell
from bench.faults.store_snapshot import reservations_in_database
from orders.models import LIVE, SOLD, Attention, Order, OrderLine
from seckill.items import item_state
from seckill.items.item_state import Condition
from shop.databases.timeline import database_timeline
from shop.local.ports import free_port

NAME = "standby"
# So long the shop sells with a standby, before anything is done to it.
SECONDS_FOLLOWED = 2.5
# So long the shop goes on selling and being paid while the standby gets nothing.
SECONDS_CUT = 4.0


class Standby:
    """A standby of the shop's PostgreSQL, and the end of its primary."""

    def __init__(self, shop: ShopUnderTest) -> None:
        self.shop = shop
        self.port = free_port()
        shop.add(NAME, shop.standby(port=self.port))
        shop.await_answers(NAME)

    def follow(self, *, synchronously: bool) -> bool:
        """Wait until it follows. With `synchronously`, commits wait for it from then on."""
        if synchronously:
            synchronous = "ALTER SYSTEM SET synchronous_standby_names = '*'"
            tell(synchronous, "SELECT pg_reload_conf()", port=self.shop.postgres_port)
        wanted = "sync_state = 'sync'" if synchronously else "state = 'streaming'"
        query = f"SELECT EXISTS (SELECT FROM pg_stat_replication WHERE {wanted})"
        return self.shop.wait_until(
            lambda: bool(ask(query, port=self.shop.postgres_port)), seconds_max=INJECT_SECONDS_MAX
        )

    def cut(self) -> bool:
        """From now on it gets nothing."""
        tell("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()", port=self.port)
        query = "SELECT NOT EXISTS (SELECT FROM pg_stat_wal_receiver)"
        return self.shop.wait_until(lambda: bool(ask(query, port=self.port)), seconds_max=INJECT_SECONDS_MAX)

    def replace_primary(self) -> None:
        """kill -9 of the primary for good, and promote the standby. The address leads there."""
        self.shop.kill("postgres")
        tell("SELECT pg_promote(true, 60)", port=self.port)
        self.shop.put_in_place_of_postgres(NAME, port=self.port)
        connection.close()


def is_compared(shop: ShopUnderTest, item_id: int) -> bool:
    """Whether the shop has noticed the new server and compared the item with its orders. Waits for it."""

    def verified() -> bool:
        found = item_state.conditions(item_ids=[item_id], timeline=database_timeline())
        return found[item_id] is Condition.VERIFIED

    return shop.wait_until(verified, seconds_max=INJECT_SECONDS_MAX)


class StandbyPromoted(Fault):
    """Every yes has its order and every payment is there, since each commit waited for the standby."""

    name = "standby-promoted"
    description = "kill -9 of PostgreSQL; its synchronous standby is promoted while the shop sells"
    duration_seconds = 0.0
    demand = Demand(buyers=80, arrival_seconds=10.0, retry_seconds_max=8.0)

    def inject(self) -> None:
        standby = Standby(self.shop)
        followed = standby.follow(synchronously=True)
        self.shop.wait(SECONDS_FOLLOWED)
        before = database_timeline()
        standby.replace_primary()
        self.happened = followed and database_timeline() != before
        self._compared = is_compared(self.shop, self.context.item.pk)

    def violations(self) -> Sequence[str]:
        connection.close()
        lost = Order.objects.filter(lines__sale_item=self.context.item, attention__in=["payment_lost", "refund_lost"])
        counts = {
            "orders have lost a payment or a refund": lost.count(),
            "items were not compared with the new server": int(not self._compared),
        }
        return [f"{count} {what}" for what, count in counts.items() if count]


class StandbyPromotedWithLoss(PostgresRestored):
    """As after a backup, but the shop finds out by itself: it is not stopped, and no command is run.

    The payment company has a database of its own, of which nothing is lost. It sends its messages again.
    """

    name = "standby-promoted-with-loss"
    description = f"kill -9 of PostgreSQL; a standby is promoted that has got nothing for {SECONDS_CUT:.0f} s"
    starts_after_seconds = (0.5, 1.0)

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        self._company = self.shop.directory / "payment-company"

    def inject(self) -> None:
        standby = Standby(self.shop)
        standby.follow(synchronously=False)
        self.shop.wait(SECONDS_FOLLOWED)
        standby.cut()
        self.sell_on(seconds=SECONDS_CUT)
        # Frozen only so that what the company has is what the primary had.
        for name in (*CELERY, *WEBS):
            self.shop.freeze(name)
        paid = self._paid_orders()
        keep_company(self._company)
        # A frozen worker tells the store of these ends when it goes on, before or after the item is compared.
        ended = self._ended_orders()
        standby.replace_primary()
        last_commit_at = last_replayed_at()
        restore_company(self._company)
        # Only now: what the frozen processes had sent has reached the store.
        holds = {name: state for name, state in self._live_holds().items() if name not in ended}
        self.note_losses(paid=paid, holds=holds)
        for name in (*WEBS, *CELERY):
            self.shop.thaw(name)
        self._compared = is_compared(self.shop, self.context.item.pk)
        self._missing = self._lost - reservations_in_database(self.context.item.pk)
        # In one query: a message of the company may find the payment meanwhile, and takes the order off the list.
        found = Order.objects.filter(Q(attention=Attention.PAYMENT_LOST) | Q(status__in=SOLD))
        self._unlisted = self._lost_payments - {str(pk) for pk in found.values_list("reservation_id", flat=True)}
        self._charged_again = self._pay_again()
        send_again(since=last_commit_at)
        self.variant = f"{len(self._lost)} live orders and {len(self._lost_payments)} payments lost"

    def undo(self) -> None:
        """The standby is the primary now."""

    def _ended_orders(self) -> set[str]:
        connection.close()
        lines = OrderLine.objects.filter(sale_item=self.context.item).exclude(order__status__in=LIVE)
        return {str(pk) for pk in lines.values_list("order__reservation_id", flat=True)}

    def violations(self) -> Sequence[str]:
        missed = [] if self._compared else ["the item was not compared with the new server"]
        return [*missed, *super().violations()]


def last_replayed_at() -> datetime:
    """When the last commit was made that the promoted standby has. It may lag behind, so it is older than the cut."""
    moment = ask("SELECT pg_last_xact_replay_timestamp()")
    assert isinstance(moment, datetime)
    return moment


def keep_company(path: Path) -> None:
    """With their sequences, which the pattern matches too."""
    run("pg_dump", "--format=custom", "--data-only", f"--table={COMPANY}*", f"--file={path}")


def restore_company(path: Path) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(tablename, ', ') FROM pg_tables WHERE starts_with(tablename, %s)", [COMPANY])
        cursor.execute(f"TRUNCATE {cursor.fetchone()[0]}")
    connection.close()
    run("pg_restore", "--data-only", "--single-transaction", str(path))
