"""Migrations run while a sale is on (docs/scaling.md): none may hold a lock for as long as a table's rows take to read.

The first two of each app made the tables, or were for a shop whose workers stand still.
"""

from importlib import import_module
from pathlib import Path

from django.contrib.postgres.operations import AddConstraintNotValid, AddIndexConcurrently
from django.db.migrations import AddConstraint, AddIndex, CreateModel, Migration

ROOT = Path(__file__).parents[2]
FIRST_UNDER_LOAD = 3
WITHOUT_LOCK = (AddIndexConcurrently, AddConstraintNotValid)


def problems_of(migration: type[Migration]) -> list[str]:
    """What locks a table that has rows."""
    made = {operation.name.lower() for operation in migration.operations if isinstance(operation, CreateModel)}
    found = []
    for operation in migration.operations:
        if isinstance(operation, WITHOUT_LOCK) or not isinstance(operation, AddIndex | AddConstraint):
            continue
        table = str(vars(operation)["model_name"]).lower()
        if table not in made:
            found.append(f"{type(operation).__name__} on {table}")
    if migration.atomic and any(isinstance(operation, AddIndexConcurrently) for operation in migration.operations):
        found.append("AddIndexConcurrently in a transaction")
    return found


def migrations_under_load() -> dict[str, type[Migration]]:
    found = {}
    for path in sorted(ROOT.glob("*/**/migrations/[0-9]*.py")):
        if int(path.stem[:4]) >= FIRST_UNDER_LOAD and ".venv" not in path.parts:
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name] = import_module(name).Migration
    return found


def test_no_migration_reads_a_table_under_its_lock() -> None:
    problems = {name: problems_of(migration) for name, migration in migrations_under_load().items()}
    assert {name: found for name, found in problems.items() if found} == {}


def test_the_rule_sees_an_index_of_a_table_with_rows() -> None:
    """orders 0002 is older than the rule."""
    assert problems_of(import_module("orders.migrations.0002_one_kind_of_refund").Migration) == ["AddIndex on refund"]
