"""The disk under a store of the lab: what it is, how to slow it, and what it has for certain.

A library is preloaded into the server (slow_disk.c). It needs a C compiler and Linux; without them the disk stays as
fast as it is, and nobody knows what a power cut would leave.
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
    """How often the server told the disk to keep what it was given, and how long that took altogether."""

    done: int
    spent_s: float

    def since(self, earlier: "Syncs") -> "Syncs":
        return Syncs(self.done - earlier.done, self.spent_s - earlier.spent_s)


class Disk:
    """The page of memory that a server shares with us. A fresh one for each start of a server."""

    def __init__(self, *, library: Path, path: Path) -> None:
        self._library = library
        self._path = path
        path.write_bytes(bytes(mmap.PAGESIZE))
        with path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    @property
    def environment(self) -> Mapping[str, str]:
        """What the server's process must find in its environment."""
        return {"LD_PRELOAD": str(self._library), "SLOW_DISK": str(self._path)}

    def slow_down(self, *, delay_s: float) -> None:
        """From now on each sync takes so much longer."""
        struct.pack_into("=q", self._page, DELAY * 8, int(delay_s * 1e9))

    @property
    def syncs(self) -> Syncs:
        return Syncs(self._read(DONE), self._read(SPENT) / 1e9)

    @property
    def synced_bytes(self) -> int:
        """So much of the append-only file is on the disk for certain."""
        return self._read(SYNCED)

    def sync_under_way_s(self) -> float:
        """For how long the server has been waiting for the disk; 0 where it is not."""
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
    """How long this disk takes to keep one small write: the median of some."""
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
    """The kind of file system, such as ext4. One in memory has no disk, and its figures say nothing."""
    try:
        lines = Path("/proc/mounts").read_text().splitlines()
    except OSError:
        return "unknown"
    mounts = {Path(mount): kind for _device, mount, kind, *_rest in map(str.split, lines)}
    place = directory.resolve()
    return next((mounts[path] for path in (place, *place.parents) if path in mounts), "unknown")
