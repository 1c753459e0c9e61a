"""Processes as /proc shows them. A zombie counts as ended."""

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path


def descendants(*, pid: int) -> set[int]:
    """Children, their children and so on."""
    parent_of = {child: status[1] for child in _pids() if (status := _status(pid=child)) is not None}
    found: set[int] = set()
    generation = {pid}
    while generation:
        generation = {child for child, parent in parent_of.items() if parent in generation}
        found |= generation
    return found


def living(*, pids: Iterable[int]) -> set[int]:
    """The pids whose processes still run."""
    return {pid for pid in pids if (status := _status(pid=pid)) is not None and status[0] not in "ZX"}


def command_line(*, pid: int) -> str:
    """Program and arguments, separated by spaces; empty when the process has gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def first_of(pids: Iterable[int]) -> int:
    """The process that was started first. Numbers begin again at 300 after the highest, so they alone do not tell."""
    return min(pids, key=lambda pid: (_start_of(pid), pid))


def wait_until(happened: Callable[[], bool], *, seconds_max: float) -> None:
    """Wait until `happened` returns True. Raises TimeoutError.

    It is noticed late by a twentieth of the time at most: what takes long is not asked for all the time.
    """
    began_s = time.monotonic()
    while not happened():
        waited_s = time.monotonic() - began_s
        if waited_s > seconds_max:
            raise TimeoutError(f"did not happen within {seconds_max} s")
        time.sleep(max(0.05, waited_s / 20))


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _start_of(pid: int) -> int:
    """In clock ticks since the machine was started: field 22 in proc(5). One that has gone counts as the last."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19])
    except OSError:
        return sys.maxsize


def _status(*, pid: int) -> tuple[str, int] | None:
    """State and parent, or None when there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    state, parent, *_ = text.rpartition(")")[2].split()
    return state, int(parent)
