"""A pytest plugin: real PostgreSQL and Valkey for the whole run, in `.stampede/test/`, or in memory if there is room.

Loaded with `-p tests.embedded_servers`: the addresses are in the environment before Django's settings are read.
Addresses that the environment had are never used, because the fixtures empty the stores.
"""

import atexit
import contextlib
import gc
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit
from zlib import crc32

import pytest

from shop.languages.translations import compile_translations
from shop.local.directory_lock import DirectoryInUse
from shop.local.postgres import DataUnusable
from shop.local.process import ProcessFailed
from shop.local.servers import EmbeddedServers
from shop.local.wheel import WheelMissing

DIRECTORY = Path(__file__).resolve().parent.parent / ".stampede" / "test"
# A file system in memory. The servers sync all they write, as in a shop, and wait for the disk longer than they work.
# In memory a server that is killed loses as little; no test turns the power off.
MEMORY = Path("/dev/shm")
MEMORY_BYTES_MIN = 4 * 2**30
_BENCH_LOCALE = Path(__file__).resolve().parent.parent / "bench" / "locale"
_HELP_OPTIONS = {"-h", "--help", "-V", "--version"}

# Also where the environment forbids it: else each process of a run compiles all tests and many packages for itself.
sys.dont_write_bytecode = False

# What is imported and collected stays, so the collector would look at all of it again and again for nothing.
gc.disable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> Generator[None, object, object]:
    """A wrapper, since those run before the plain hook in which pytest-django reads the settings."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        _take_own_databases(worker=worker)
    elif not _HELP_OPTIONS & set(args):
        _prepare_environment(config=early_config)
    return (yield)


def pytest_collection(session: pytest.Session) -> None:
    """Each process of a run first imports a part of the tests.

    Importing rewrites their asserts, which takes longer than all else here; the other processes find that done.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        number, count = int(worker.removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        root = session.config.rootpath
        paths = [path for folder in session.config.args for path in (root / folder).rglob("test_*.py")]
        for path in sorted(paths)[number::count]:
            # A file that cannot be imported is reported when its tests are collected.
            with contextlib.suppress(Exception, pytest.skip.Exception):
                import_module(".".join(path.relative_to(root).with_suffix("").parts))


@pytest.fixture
def server_directory() -> Iterator[Path]:
    """A directory for servers that a test starts itself.

    Not tmp_path: each pytest that starts closes the directory above all tmp_paths to other users, and as root
    PostgreSQL runs as one of those.
    """
    with temporary_server_directory() as directory:
        yield directory


@contextlib.contextmanager
def temporary_server_directory() -> Iterator[Path]:
    """The same for a fixture that lives longer than one test."""
    with tempfile.TemporaryDirectory(prefix="stampede-") as directory:
        yield Path(directory)


def servers_directory() -> Path:
    """Where this run's servers have their data."""
    return Path(os.environ["TEST_SERVERS_DIRECTORY"])


def _choose_directory() -> None:
    """For the servers, and for those that tests start themselves. Of one in memory only the logs stay after the run."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    os.environ["TEST_SERVERS_DIRECTORY"] = str(DIRECTORY)
    place = MEMORY / f"stampede-test-{os.getuid()}-{crc32(bytes(DIRECTORY)):08x}"
    with contextlib.suppress(OSError):
        if shutil.disk_usage(MEMORY).free < MEMORY_BYTES_MIN:
            return
        place.mkdir(exist_ok=True)
        if place.stat().st_uid != os.getuid():
            return
        (place / "tmp").mkdir(exist_ok=True)
        # What a test has written to its tmp_path can be looked at afterwards.
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
        os.environ["TMPDIR"] = tempfile.tempdir = str(place / "tmp")
        os.environ["TEST_SERVERS_DIRECTORY"] = str(place)


def _leave_memory() -> None:
    if servers_directory() != DIRECTORY:
        shutil.copytree(servers_directory() / "logs", DIRECTORY / "logs", dirs_exist_ok=True)
        shutil.rmtree(servers_directory(), ignore_errors=True)


def _prepare_environment(*, config: pytest.Config) -> None:
    _choose_directory()
    compile_translations()
    compile_translations(locale=_BENCH_LOCALE)
    os.environ.update(_start_servers(config=config))
    os.environ.pop("CELERY_BROKER_URL", None)
    # Hundreds of processes are started. Each would compile the whole shop for itself.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Values in .stampede/env, from a `make run`, must not decide how a test ends.
    os.environ.update(
        {
            "SECRET_KEY": secrets.token_urlsafe(50),
            "LOAD_TESTS": "1",
            "PAYMENT_PROVIDERS": "simulated",
            "EMAIL_URL": "dummymail://",
            "TIME_ZONE": "UTC",
            "STAMPEDE_ADMIN_PASSWORD": secrets.token_urlsafe(12),
            "STAMPEDE_BUYER_PASSWORD": secrets.token_urlsafe(12),
        }
    )


def _start_servers(*, config: pytest.Config) -> dict[str, str]:
    servers = EmbeddedServers(servers_directory())
    try:
        servers.start()
    except (DataUnusable, DirectoryInUse, ProcessFailed, WheelMissing) as error:
        raise pytest.UsageError(str(error)) from error
    # Not earlier: another run of this checkout may use the directory. Cleanups run in the other order.
    config.add_cleanup(_leave_memory)
    config.add_cleanup(servers.stop)
    # For a run that ends before the cleanups of pytest, for example with a broken conftest.
    atexit.register(servers.stop)
    return servers.environment()


def _take_own_databases(*, worker: str) -> None:
    """Give an xdist worker (gw0, gw1, …) Redis databases of its own; pytest-django does it for PostgreSQL.

    Database 0 stays with a run without workers.
    """
    number = int(worker.removeprefix("gw")) + 1
    for name in ("SECKILL_REDIS_URL", "REDIS_URL"):
        os.environ[name] = urlsplit(os.environ[name])._replace(path=f"/{number}").geturl()
