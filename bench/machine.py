"""The facts of the machine that measures."""

import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path


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
