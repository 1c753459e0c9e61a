"""A Valkey with one way of writing to disk, which is killed and read again afterwards."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bench.lab.servers.lab_store import LabStore, store_client
from bench.measure.durability.disk import Disk
from seckill.store.keys import keys_of


@dataclass(frozen=True, slots=True)
class Address:
    """Where the stores of a run listen, one after the other, so that the clients keep their settings."""

    port: int
    password: str


class MeasuredStore(LabStore):
    """One server in one directory. It never rewrites its append-only file, so that the file can be cut."""

    def __init__(
        self,
        directory: Path,
        *,
        address: Address,
        options: Mapping[str, str],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        settings = {**options, "auto-aof-rewrite-percentage": "0"}
        super().__init__(directory, port=address.port, password=address.password, settings=settings)
        self.process.environment = {**os.environ, **environment}

    def client(self) -> Any:
        return store_client(self.url)

    def copy_after_power_cut(self, directory: Path, *, disk: Disk) -> None:
        """Copy the killed store's data as a power cut would leave it: without what was not synced for certain."""
        shutil.copytree(self.directory, directory / "data")
        for file in (directory / "data").glob("appendonlydir/*.incr.aof"):
            os.truncate(file, min(disk.synced_bytes, file.stat().st_size))


def reservations_in(store: MeasuredStore, *, item_id: int) -> set[str]:
    """The ids of the reservations that the store knows."""
    return {name.decode() for name in store.client().hkeys(keys_of(item_id).holds)}
