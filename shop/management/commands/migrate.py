"""Django's `migrate`, one at a time for each database: a second one waits for the first, and finds its work done."""

import time
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections

from shop.databases.half_migrated import half_migrated_apps

# Of the shop's advisory locks of PostgreSQL.
LOCK = int.from_bytes(b"migrate")
RETRY_SECONDS = 0.5


class Command(migrate.Command):
    def execute(self, *args: Any, **options: Any) -> Any:
        """Refuses a database that lacks migrations of an earlier release: this one has them no more."""
        database, has_said = options["database"], False
        # Never within a statement: an index that the first one makes concurrently would wait for the end of that.
        while not asked(database, "pg_try_advisory_lock"):
            if not has_said:
                output = options.get("stdout") or self.stdout
                output.write("Another migrate is at work in this database. Waiting for its end.\n")
            has_said = True
            time.sleep(RETRY_SECONDS)
        try:
            # Under the lock, which keeps out the tables of a migration that is not at its end.
            if names := ", ".join(half_migrated_apps(connections[database])):
                raise CommandError(
                    f"The tables of {names} are those of an earlier release, and not all of its migrations were "
                    "applied. Run `python manage.py migrate` with the release before (see CHANGELOG.md), then with "
                    "this one."
                )
            return super().execute(*args, **options)
        finally:
            asked(database, "pg_advisory_unlock")


def asked(database: str, function: str) -> bool:
    with connections[database].cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [LOCK])
        return bool(cursor.fetchone()[0])
