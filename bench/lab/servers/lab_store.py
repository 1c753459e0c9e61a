"""A Valkey that is started for the lab alone and thrown away afterwards."""

import contextlib
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from shop.local.ports import free_port
from shop.local.process import POLL_SECONDS, Process, ProcessFailed
from shop.local.valkey import STORE_FSYNC, ValkeyServer

START_SECONDS = 20.0
# A restart takes some tenths of a second; a client that waits longer than this fails instead of hanging.
CLIENT_SECONDS_MAX = 5.0


class LabStore:
    """One Valkey, as durable as the shop's own. It keeps its port, so that clients find it after a restart."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory / "data"
        server = ValkeyServer(
            name="lab-store",
            title="Valkey of the lab",
            directory=self.directory,
            fsync=STORE_FSYNC,
            port=free_port(),
            password=secrets.token_hex(16),
        )
        self.url = server.url
        self._lock = (directory / "lock").open("w")
        self.part: Process = server.process(log_path=directory / "valkey.log", lock_fd=self._lock.fileno())

    def start(self) -> None:
        """Start the server and return when it answers, its data read. Raises ProcessFailed."""
        self.part.start()
        deadline = time.monotonic() + START_SECONDS
        while not self.part.answers():
            if time.monotonic() > deadline:
                raise ProcessFailed(f"The lab's store gave no answer.\n{self.part.last_lines()}")
            time.sleep(POLL_SECONDS)

    def restart(self, *, losing_all: bool = False) -> None:
        """kill -9 and start again, with the data that is on the disk, or without any."""
        self.kill()
        if losing_all:
            for data in self.directory.glob("appendonlydir*"):
                shutil.rmtree(data)
        self.start()

    def kill(self) -> None:
        """kill -9. May be called twice."""
        self.part.kill()

    def stop(self) -> None:
        self.kill()
        self._lock.close()


@contextlib.contextmanager
def lab_store() -> Iterator[LabStore]:
    """A store for the length of a `with`."""
    with tempfile.TemporaryDirectory(prefix="stampede-lab-") as directory:
        store = LabStore(Path(directory))
        try:
            store.start()
            yield store
        finally:
            store.stop()


def store_client(url: str, *, retries: int = 0) -> Any:
    """A client that sends each command once, as the shop's own does: retrying is up to the caller."""
    return Redis.from_url(
        url,
        retry=Retry(NoBackoff(), retries),
        socket_timeout=CLIENT_SECONDS_MAX,
        socket_connect_timeout=CLIENT_SECONDS_MAX,
    )
