"""The table for people, JSON for programs, Markdown for docs/reliability.md."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata

from django.db import connection
from rich.console import Console
from rich.table import Table

from bench.faults.shop_under_test import Site
from bench.faults.trial import Trial

# A narrower terminal breaks the lines itself; a file does not.
WIDTH = 150

COLUMNS = (
    "told yes",
    "kept",
    "lost",
    "not promised",
    "duplicated",
    "oversold",
    "stuck",
    "recovers, s",
    "at rest, s",
    "slowest refusal, s",
)


def show(trials: Sequence[Trial], *, console: Console) -> None:
    """Print the table, and under it every promise that was broken."""
    table = Table(title="Faults", title_justify="left")
    table.add_column("fault", no_wrap=True)
    for column in (*COLUMNS, "kept its word"):
        # Headings may be broken at spaces, never within a word.
        table.add_column(column, justify="right", min_width=max(map(len, column.split())))
    for trial in trials:
        style = None if trial.kept else "bold red"
        table.add_row(trial.fault, *cells(trial), "yes" if trial.kept else "NO", style=style)
    console.print(table, width=max(console.width, WIDTH))
    for trial in trials:
        for word in trial.findings.broken:
            console.print(f"{trial.fault}: {word}", style="red", markup=False)


def cells(trial: Trial) -> list[str]:
    found = trial.findings
    counts = (found.told_yes, found.kept, found.lost, found.not_promised, found.duplicated, found.oversold, found.stuck)
    seconds = (trial.recovery_seconds, trial.rest_seconds, trial.slowest_refusal_seconds)
    return [*(str(count) for count in counts), *("–" if value is None else f"{value:.1f}" for value in seconds)]


def as_markdown(trials: Sequence[Trial]) -> str:
    """The table as docs/reliability.md shows it."""
    lines = [f"| fault | {' | '.join(COLUMNS)} |", f"|---|{'---:|' * len(COLUMNS)}"]
    lines += [f"| {trial.fault} | {' | '.join(cells(trial))} |" for trial in trials]
    return "\n".join(lines) + "\n"


def as_json(trials: Sequence[Trial], *, seed: int, versions: dict[str, str]) -> str:
    return (
        json.dumps(
            {
                "seed": seed,
                "kept": all(trial.kept for trial in trials),
                "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "machine": machine(),
                "versions": versions,
                "trials": [{**asdict(trial), "kept": trial.kept} for trial in trials],
            },
            indent=2,
        )
        + "\n"
    )


def versions(site: Site) -> dict[str, str]:
    """What ran: the servers and the packages between us and them."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        postgres = str(cursor.fetchone()[0])
    store = site.store_client().info("server")
    packages = {name: metadata.version(name) for name in ("django", "celery", "kombu", "redis", "granian")}
    valkey = str(store.get("valkey_version") or store.get("redis_version"))
    return {"python": platform.python_version(), "postgres": postgres, "valkey": valkey, **packages}


def machine() -> dict[str, str | int]:
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": platform.machine(),
        "cores": os.cpu_count() or 0,
    }
