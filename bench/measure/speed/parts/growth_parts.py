"""Whether reserving stays as fast when an item has many past reservations: `manage.py growth` on these servers."""

import json
from io import StringIO
from typing import Any

from django.core.management import call_command, get_commands

from bench.measure.speed.part import NotHere, Part, Sample, Server
from bench.measure.speed.server_groups import STORE

FEW, MANY = 1_000, 1_000_000
COMMAND = "growth"


def growth(server: Server) -> Sample:
    """How fast each step is at MANY past reservations, as a ratio to FEW. Raises NotHere without the command."""
    if COMMAND not in get_commands():
        raise NotHere(f"this shop has no `manage.py {COMMAND}`")
    file = server.directory / "growth.json"
    words = ["--past", str(FEW), str(MANY), "--sales", "1", "--json", str(file)]
    call_command(COMMAND, *words, stdout=StringIO(), stderr=StringIO())
    return Sample(figures=ratios_in(json.loads(file.read_text())))


def ratios_in(written: dict[str, Any]) -> dict[str, float]:
    """For each step its time beside FEW reservations ÷ that beside MANY: 1 if it stays the same, less if it grows."""
    columns = written["microseconds"]
    few, many = columns[f"{FEW:,} reservations"], columns[f"{MANY:,} reservations"]
    return {f"{step}_ratio": few[step]["caller_us"] / many[step]["caller_us"] for step in many}


PARTS = (
    Part(
        name="growth",
        title=f"{MANY:,} past reservations beside {FEW:,}",
        server=STORE,
        measure=growth,
        once=True,
    ),
)
