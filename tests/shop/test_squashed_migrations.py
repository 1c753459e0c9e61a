"""One migration of each app stands for all of the releases before: what happens to a database that those made."""

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from shop.databases.half_migrated import half_migrated_apps
from shop.models import Product

pytestmark = pytest.mark.django_db

OURS = ("shop", "seckill", "orders", "simulated_payments")


def replaced() -> dict[str, list[str]]:
    """The names of the earlier migrations of each app, in their order."""
    loader = MigrationLoader(None)
    names: dict[str, list[str]] = {app_label: [] for app_label in OURS}
    for migration in loader.disk_migrations.values():
        for app_label, name in migration.replaces:
            if app_label in names:
                names[app_label].append(name)
    return {app_label: sorted(found) for app_label, found in names.items()}


def record(*, app_label: str, names: list[str]) -> None:
    """The database has these migrations of an app, and no others."""
    rows = MigrationRecorder.Migration.objects
    rows.filter(app=app_label).delete()
    rows.bulk_create(MigrationRecorder.Migration(app=app_label, name=name) for name in names)


def as_the_release_before_left_it() -> None:
    """The tables of a test's database are those of today, so what came since counts as applied."""
    since = [key for key, migration in MigrationLoader(None).disk_migrations.items() if not migration.replaces]
    for app_label, names in replaced().items():
        record(app_label=app_label, names=[*names, *(name for app, name in since if app == app_label)])


def migrate() -> None:
    """As `make run` does it."""
    call_command("migrate", skip_checks=True, verbosity=0)


def planned() -> set[tuple[str, str]]:
    """What `migrate` would apply."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return {(migration.app_label, migration.name) for migration, _backwards in plan}


def test_a_database_of_the_release_before_gets_no_squashed_migration_and_keeps_its_rows() -> None:
    Product.objects.create(name_en="Longjing tea", slug="longjing")
    as_the_release_before_left_it()
    squashed = {key for key, migration in MigrationLoader(None).disk_migrations.items() if migration.replaces}
    assert not planned() & squashed
    migrate()
    assert Product.objects.get().slug == "longjing"
    assert squashed <= set(MigrationRecorder(connection).applied_migrations())


def test_the_models_have_no_change_that_a_migration_lacks() -> None:
    call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)


def test_a_database_that_stopped_half_way_is_told_to_migrate_with_the_release_before() -> None:
    as_the_release_before_left_it()
    names = replaced()["orders"][:-1]
    record(app_label="orders", names=names)
    with pytest.raises(CommandError, match="tables of orders are .* with the release before "):
        migrate()
    assert {name for app, name in MigrationRecorder(connection).applied_migrations() if app == "orders"} == {*names}
    # `orders` made those of the simulated company, before that became an app of its own.
    record(app_label="simulated_payments", names=[])
    with pytest.raises(CommandError, match="tables of orders, simulated_payments "):
        migrate()


def test_a_first_migration_that_stopped_between_two_apps_goes_on() -> None:
    as_the_release_before_left_it()
    with connection.cursor() as cursor:
        for app_label in ("seckill", "orders", "simulated_payments"):
            record(app_label=app_label, names=[])
            tables = [name for name in connection.introspection.table_names() if name.startswith(f"{app_label}_")]
            cursor.execute(f"DROP TABLE {', '.join(tables)} CASCADE")
    assert {app_label for app_label, _name in planned()} == {"seckill", "orders", "simulated_payments"}
    assert not list(half_migrated_apps(connection))
