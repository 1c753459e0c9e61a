"""A check before `migrate`: was this database left between two releases?

One migration stands for all that an app had before. Django leaves it out without a word where only some of those were
applied, and the shop would run on tables that are not finished.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Error
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


def check_half_migrated(*, databases: Sequence[str] | None = None, **_context: Any) -> list[CheckMessage]:
    """An error for each app whose earlier migrations were begun and not finished."""
    return [
        Error(
            f"The tables of “{app_label}” are those of an earlier release, and not all of its migrations were applied.",
            hint="Run `python manage.py migrate` with the release before (see CHANGELOG.md), then with this one.",
            id="shop.E004",
        )
        for alias in databases or ()
        for app_label in half_migrated_apps(connections[alias])
    ]


def half_migrated_apps(connection: BaseDatabaseWrapper) -> Iterator[str]:
    loader = MigrationLoader(None, load=False)
    loader.load_disk()
    known = loader.disk_migrations
    applied = MigrationRecorder(connection).applied_migrations()
    tables = set(connection.introspection.table_names())
    for (app_label, _name), migration in known.items():
        replaced = set(migration.replaces)
        # Where their files still exist, Django goes on with them.
        missing = {key for key in replaced if key not in known and key not in applied}
        if not missing:
            continue
        begun = not replaced.isdisjoint(applied)
        if begun or (migration.initial and tables & tables_of(app_label)):
            yield app_label


def tables_of(app_label: str) -> set[str]:
    return {model._meta.db_table for model in apps.get_app_config(app_label).get_models()}


def missing_migrations(connection: BaseDatabaseWrapper) -> list[str]:
    """The migrations of this release that the database does not have yet."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _backwards in plan]
