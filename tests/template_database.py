"""One migrated database, of which each process of a run gets a copy.

Migrating takes ten seconds of a processor, copying a part of one. It stays for later runs, until a migration changes.
"""

import fcntl
from collections.abc import Iterator
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from django.apps import apps
from django.core.management import call_command
from django.db import connections
from django.db.backends.postgresql.creation import DatabaseCreation
from django.db.migrations.loader import MigrationLoader

from tests.embedded_servers import servers_directory

_PREFIX = "migrated_"


class TestDatabase(DatabaseCreation):
    """Goes at the end of a run though threads of a web process, which tests have started here, are connected still."""

    __test__ = False

    def _destroy_test_db(self, test_database_name: str, verbosity: int) -> None:
        tell(f'DROP DATABASE "{test_database_name}" WITH (FORCE)')


def use_for_all_tests() -> None:
    """Django makes the databases of tests as copies, and then finds nothing to migrate."""
    shared = connections["default"]
    shared.settings_dict["TEST"]["TEMPLATE"] = made_once()
    shared.creation = TestDatabase(shared)


def made_once() -> str:
    """The name of the database. The first process makes it; others wait meanwhile."""
    name = _PREFIX + checksum()
    with (servers_directory() / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = databases()
        if name not in found:
            for former in found:
                tell(f'DROP DATABASE "{former}"')
            migrate(unfinished := f"{name}_unfinished")
            tell(f'ALTER DATABASE "{unfinished}" RENAME TO "{name}"')
    return name


def checksum() -> str:
    """Changes when a migration does, of the shop or of a package."""
    found = sha256()
    for path in sorted(migration_files()):
        found.update(f"{path}\n".encode())
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def migration_files() -> Iterator[Path]:
    for app in apps.get_app_configs():
        module, _is_own_choice = MigrationLoader.migrations_module(app.label)
        found = find_spec(module) if module and find_spec(module.rpartition(".")[0]) else None
        for folder in found.submodule_search_locations or () if found else ():
            yield from Path(folder).glob("*.py")


def databases() -> list[str]:
    with connections["default"]._nodb_cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [_PREFIX])
        return [name for (name,) in cursor.fetchall()]


def migrate(name: str) -> None:
    tell(f'CREATE DATABASE "{name}"')
    shared = connections["default"]
    own = shared.copy(alias="default")
    own.settings_dict["NAME"] = name
    connections["default"] = own
    try:
        call_command("migrate", verbosity=0, interactive=False, skip_checks=True)
    finally:
        own.close()
        connections["default"] = shared


def tell(statement: str) -> None:
    with connections["default"]._nodb_cursor() as cursor:
        cursor.execute(statement)
