"""The disk of a measured store: what it is, how to slow it down, and what is on it for certain.

This is done by a library that is preloaded into the server (slow_disk.c). It needs Linux and a C compiler. Without
them there is no slowed disk, and power cuts cannot be simulated.
"""

import mmap
import os
import shutil
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("slow_disk.c")
COMPILER_SECONDS = 30.0
# The fields of `struct page` in slow_disk.c.
DELAY, UNDER_WAY, BEGAN, DONE, SPENT, SYNCED = range(6)
PROBES = 100


class NoSlowDisk(Exception):
    """The disk cannot be slowed on this machine. The message says why."""


@dataclass(frozen=True, slots=True)
class Syncs:
    """How often the server synced, and how long that took in all."""

    done: int
    spent_s: float

    def since(self, earlier: "Syncs") -> "Syncs":
        return Syncs(self.done - earlier.done, self.spent_s - earlier.spent_s)


class Disk:
    """The page of memory that the preloaded library shares with us. Each start of a server has a new one."""

    def __init__(self, *, library: Path, path: Path) -> None:
        self._library = library
        self._path = path
        path.write_bytes(bytes(mmap.PAGESIZE))
        with path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment that the server's process needs."""
        return {"LD_PRELOAD": str(self._library), "SLOW_DISK": str(self._path)}

    def slow_down(self, *, delay_s: float) -> None:
        """From now on, make each sync take so much longer."""
        struct.pack_into("=q", self._page, DELAY * 8, int(delay_s * 1e9))

    @property
    def syncs(self) -> Syncs:
        return Syncs(self._read(DONE), self._read(SPENT) / 1e9)

    @property
    def synced_bytes(self) -> int:
        """How much of the append-only file is on the disk for certain."""
        return self._read(SYNCED)

    def sync_under_way_s(self) -> float:
        """For how long the current sync has been running; 0 if there is none."""
        return (time.monotonic_ns() - self._read(BEGAN)) / 1e9 if self._read(UNDER_WAY) else 0.0

    def _read(self, field: int) -> int:
        (value,) = struct.unpack_from("=q", self._page, field * 8)
        return int(value)


def build_library(directory: Path) -> Path:
    """Compile slow_disk.c. Raises NoSlowDisk."""
    if sys.platform != "linux":
        raise NoSlowDisk("the disk can be slowed on Linux only")
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise NoSlowDisk("there is no C compiler (cc), so the disk could not be slowed")
    library = directory / "slow_disk.so"
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILER_SECONDS, check=False)
    if done.returncode:
        raise NoSlowDisk(f"{compiler} cannot build {SOURCE.name}: {done.stderr.strip()[-300:]}")
    return library


def sync_ms(directory: Path) -> float:
    """How long a sync of one small write takes on this disk: the median of several."""
    taken = []
    path = directory / "probe"
    with path.open("wb", buffering=0) as file:
        for _ in range(PROBES):
            file.write(bytes(200))
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - started)
    path.unlink()
    return statistics.median(taken) * 1000


def file_system_of(directory: Path) -> str:
    """The kind of file system, such as ext4. If it is one in memory, the figures mean nothing."""
    try:
        lines = Path("/proc/mounts").read_text().splitlines()
    except OSError:
        return "unknown"
    mounts = {Path(mount): kind for _device, mount, kind, *_rest in map(str.split, lines)}
    place = directory.resolve()
    return next((mounts[path] for path in (place, *place.parents) if path in mounts), "unknown")
