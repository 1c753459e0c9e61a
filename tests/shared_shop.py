"""One running shop for all tests in a row that need no special one, since a start takes seconds of a processor.

The tests get it by the fixture `live_shop` (tests/conftest.py). It ends after the last of them, because its workers
would do their work in other tests too.
"""

import fcntl
import shutil
import tempfile
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.management import call_command
from django.test import override_settings

from shop.configuration.static_files import NeededStaticFiles
from tests.live_shop import ALL_QUEUES, CALM_BEAT, SEVERAL_WEB_PROCESSES, live_shop

FIXTURE = "live_shop"


class SharedShop:
    """Web, a worker for all queues but that of repairs, and a beat that sends less."""

    def __init__(self) -> None:
        self._started = ExitStack()
        self._url = ""
        self._forget_file = Path()

    def url(self) -> str:
        """Starts the shop if it does not run. Its pages show nothing of the test before."""
        if not self._url:
            self._start()
        with self._forget_file.open("a") as forget:
            forget.write("\n")
        return self._url

    def stop(self) -> None:
        self._url = ""
        self._started.close()

    def _start(self) -> None:
        collect_static_files()
        directory = self._started.enter_context(tempfile.TemporaryDirectory(prefix="stampede-shared-"))
        self._forget_file = Path(directory) / "forget"
        self._forget_file.touch()
        variables = {
            "GRANIAN_WORKERS": SEVERAL_WEB_PROCESSES,
            # Tests of the limits have a shop of their own: here one test after the other signs in.
            "SIGN_IN_LIMIT_BY_ADDRESS": "10000/minute",
            "FORGET_FILE": str(self._forget_file),
        }
        shop = live_shop(names=("web", ALL_QUEUES, CALM_BEAT), web="tests.forgetful_web:application", **variables)
        self._url = self._started.enter_context(shop)


SHARED = SharedShop()


def needs_it(item: pytest.Item) -> bool:
    return FIXTURE in getattr(item, "fixturenames", ())


def collect_static_files() -> None:
    """Into the folder that the web server serves, if they have changed since.

    They are collected elsewhere and moved there at once: a web server of another test may be reading the folder.
    """
    root = Path(settings.STATIC_ROOT)
    root.parent.mkdir(parents=True, exist_ok=True)
    with (root.parent / "collectstatic.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        if lock.read() == (found := static_sources()) and root.exists():
            # Another process has just done so; this one may know the files' names of before.
            hashed: Any = staticfiles_storage
            hashed.hashed_files, hashed.manifest_hash = hashed.load_manifest()
            return
        fresh, former = root.with_name(f"{root.name}.fresh"), root.with_name(f"{root.name}.former")
        with override_settings(STATIC_ROOT=fresh):
            call_command("collectstatic", "--noinput", "--clear", verbosity=0)
        shutil.rmtree(former, ignore_errors=True)
        if root.exists():
            root.rename(former)
        fresh.rename(root)
        lock.truncate(0)
        lock.write(found)


def static_sources() -> str:
    """Changes when a static file of the shop or of a package does."""
    files = []
    for finder in get_finders():
        for name, storage in finder.list(NeededStaticFiles.ignore_patterns):
            status = Path(storage.path(name)).stat()
            files.append((storage.path(name), status.st_mtime_ns, status.st_size))
    return sha256(repr(sorted(files)).encode()).hexdigest()
