"""A Valkey with one way of writing to disk, which is killed and read again afterwards."""

import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bench.lab.servers.lab_store import START_SECONDS, store_client
from bench.measure.durability.disk import Disk
from seckill.store.keys import keys_of
from shop.local.process import POLL_SECONDS, Process, ProcessFailed
from shop.local.valkey import ValkeyServer


@dataclass(frozen=True, slots=True)
class Address:
    """Where the stores of a run listen, one after the other, so that the clients keep their settings."""

    port: int
    password: str


class MeasuredStore:
    """One server in one directory. It never rewrites its append-only file, so that the file can be cut."""

    def __init__(
        self,
        directory: Path,
        *,
        address: Address,
        options: Mapping[str, str],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self._server = ValkeyServer(
            name="measured-store",
            title="Valkey of the durability measurement",
            directory=directory / "data",
            fsync=options["appendfsync"],
            port=address.port,
            password=address.password,
        )
        self._lock = (directory / "lock").open("w")
        self._process: Process = self._server.process(log_path=directory / "valkey.log", lock_fd=self._lock.fileno())
        more = {**options, "auto-aof-rewrite-percentage": "0"}
        self._process.argv = [*self._process.argv, *(word for name in more for word in (f"--{name}", more[name]))]
        self._process.environment = {**os.environ, **environment}

    def __enter__(self) -> "MeasuredStore":
        """Start the server and return when it has read its data and answers. Raises ProcessFailed."""
        try:
            self._process.start()
            deadline = time.monotonic() + START_SECONDS
            while not self._process.answers():
                if time.monotonic() > deadline:
                    raise ProcessFailed(f"The store gave no answer.\n{self._process.last_lines()}")
                time.sleep(POLL_SECONDS / 5)
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def client(self) -> Any:
        return store_client(self._server.url)

    def kill(self) -> None:
        """kill -9. May be called twice."""
        self._process.kill()
        self._lock.close()

    def copy_after_power_cut(self, directory: Path, *, disk: Disk) -> None:
        """Copy the killed store's data as a power cut would leave it: without what was not synced for certain."""
        shutil.copytree(self.directory / "data", directory / "data")
        for file in (directory / "data").glob("appendonlydir/*.incr.aof"):
            os.truncate(file, min(disk.synced_bytes, file.stat().st_size))


def reservations_in(store: MeasuredStore, *, item_id: int) -> set[str]:
    """The ids of the reservations that the store knows."""
    return {name.decode() for name in store.client().hkeys(keys_of(item_id).holds)}
