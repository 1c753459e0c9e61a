"""Says whether PostgreSQL has the tables of this release: the first step of each pod and unit (deploy/)."""

from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection

from shop.databases.half_migrated import missing_migrations

# A pooler whose PostgreSQL is away keeps its clients waiting for minutes.
SECONDS_MAX = 10.0

Answer = list[str] | DatabaseError


class Command(BaseCommand):
    help = "Fails while PostgreSQL lacks a migration of this release, but not where PostgreSQL does not answer."
    requires_system_checks = []
    requires_migrations_checks = False

    def handle(self, *args: Any, **options: Any) -> None:
        answers: SimpleQueue[Answer] = SimpleQueue()
        Thread(target=lambda: answers.put(ask()), daemon=True).start()
        try:
            answer: Answer | str = answers.get(timeout=SECONDS_MAX)
        except Empty:
            answer = f"no answer in {SECONDS_MAX:.0f} s"
        if not isinstance(answer, list):
            self.stderr.write(f"PostgreSQL does not answer, the process starts without it: {answer}")
        elif answer:
            raise CommandError(f"PostgreSQL lacks {', '.join(answer)}. Waiting for stampede-migrate.")


def ask() -> Answer:
    """The migrations that are missing, or why that cannot be known."""
    try:
        return missing_migrations(connection)
    except DatabaseError as error:
        return error
    finally:
        connection.close()
