"""The common parts of speed, growth and durability: tables for the terminal, and the facts of the machine."""

import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table


def terminal_table(title: str, *, words: Sequence[str], numbers: Sequence[str]) -> Table:
    """An empty table: columns of words first, then of numbers, aligned to the right."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for heading in words:
        table.add_column(heading, no_wrap=True)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def sentence_of(measured_on: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in measured_on.items())


def load_before() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def system() -> str:
    return f"{platform.system()} {platform.release()}"


def processor() -> str:
    """The model of the processor, if Linux says it."""
    try:
        found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else "unknown"
