"""Which migrations a database has: was it left between two releases, and what of this one does it lack?"""

from collections.abc import Iterator

from django.apps import apps
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


def half_migrated_apps(connection: BaseDatabaseWrapper) -> Iterator[str]:
    """The apps whose earlier migrations were begun and not finished.

    One migration stands for all that an app had before. Django leaves it out without a word where only some of those
    were applied.
    """
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
