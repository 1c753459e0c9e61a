"""The facts of the machine that measures."""

import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path


def sentence_of(measured_on: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in measured_on.items())


def facts() -> dict[str, str]:
    return {
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "processor": processor(),
        "system": system(),
        "load before": f"{os.getloadavg()[0]:.1f}",
        "Python": platform.python_version(),
    }


def system() -> str:
    return f"{platform.system()} {platform.release()}"


def processor() -> str:
    """The model of the processor, if Linux says it."""
    try:
        found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else "unknown"
