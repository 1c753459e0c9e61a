"""The processor time that processes have used, as /proc says."""

import os
import resource
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """One process: its parent, and its own ticks with those of the children that it has waited for."""

    parent: int
    ticks: int


def parse_stat(text: str) -> ProcessStat:
    """Parse /proc/PID/stat. The name of the program may contain spaces and brackets."""
    fields = text.rpartition(")")[2].split()
    # proc(5): the fourth field is the parent; the 14th to 17th are utime, stime, cutime and cstime.
    return ProcessStat(parent=int(fields[1]), ticks=sum(map(int, fields[11:15])))


def read_stats(root: Path = Path("/proc")) -> dict[int, ProcessStat]:
    """All processes of this machine."""
    found = {}
    for path in root.glob("[0-9]*/stat"):
        # A process may end while we read.
        with suppress(OSError):
            found[int(path.parent.name)] = parse_stat(path.read_text(errors="replace"))
    return found


def family_of(pids: Iterable[int], stats: Mapping[int, ProcessStat]) -> set[int]:
    """These processes, their children, and so on."""
    found: set[int] = set()
    generation = {pid for pid in pids if pid in stats}
    while generation:
        found |= generation
        generation = {pid for pid, stat in stats.items() if stat.parent in generation} - found
    return found


def seconds_by_kind(pids_by_kind: Mapping[str, Iterable[int]]) -> dict[str, float]:
    """Seconds of processor time of each kind of process, with all children, also of those that have ended.

    A child that ends moves its ticks to the parent that waits for it, so the sum of a family never falls.
    """
    stats = read_stats()
    return {
        kind: sum(stats[pid].ticks for pid in family_of(pids, stats)) / TICKS_PER_SECOND
        for kind, pids in pids_by_kind.items()
    }


def ended_children_seconds() -> float:
    """Processor time of the children of this process that it has waited for, such as wrk."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
