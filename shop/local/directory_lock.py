"""Two locks on a directory with servers: one of the process that uses it, one that the servers inherit.

lock            held by the process that uses the directory
servers.lock    inherited and held by each server process until it ends
"""

import contextlib
import fcntl
import os
import time
from pathlib import Path
from typing import IO

from shop.local.process import POLL_SECONDS

# After kill -9 of a supervisor its servers get a signal and close their files. The next start waits this long.
_LEFTOVERS_SECONDS = 10.0


class DirectoryInUse(Exception):
    """Another run uses this directory. The message says what to do."""


def lock_directory(*, directory: Path) -> IO[str]:
    """Create the directory if it is missing, and lock it until the returned file is closed.

    Raises DirectoryInUse at once when another process holds it.
    """
    directory.mkdir(parents=True, exist_ok=True)
    lock = _open_lock(path=directory / "lock")
    if not _try_lock(lock=lock):
        holder = lock.read().strip() or "PID"
        lock.close()
        raise DirectoryInUse(
            f"{directory} is in use by process {holder}. Stop that one first (Ctrl-C in its terminal, or "
            f"`kill {holder}`): two sets of servers cannot share one directory."
        )
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return lock


def lock_servers(*, directory: Path) -> IO[str]:
    """A lock that the servers inherit, so it is free only when all of an earlier start have ended.

    Without it, a start right after kill -9 could open an append-only file that a server is still closing.
    """
    lock = _open_lock(path=directory / "servers.lock")
    deadline = time.monotonic() + _LEFTOVERS_SECONDS
    while not _try_lock(lock=lock):
        if time.monotonic() > deadline:
            lock.close()
            raise DirectoryInUse(
                f"Servers of an earlier run still use {directory}. Find them with "
                f"`fuser {directory}/servers.lock`, stop them, and start again."
            )
        time.sleep(POLL_SECONDS)
    return lock


def _open_lock(*, path: Path) -> IO[str]:
    # Not truncated: until we hold the lock, the file names its holder.
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+")


def _try_lock(*, lock: IO[str]) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
