"""The results as a table, as JSON, and as Markdown for docs/results/faults.md."""

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

from bench.faults.shop_under_test import ShopUnderTest
from bench.faults.trial import Trial
from bench.machine import system
from bench.tables import markdown_table

# A narrower terminal wraps the lines; a file does not.
WIDTH = 150

COLUMNS = (
    "told yes",
    "kept",
    "lost",
    "not promised",
    "brought back",
    "units gone",
    "duplicated",
    "oversold",
    "stuck",
    "recovery, s",
    "settled, s",
    "slowest refusal, s",
)


def show(trials: Sequence[Trial], *, console: Console) -> None:
    """Print the table, and below it every broken promise."""
    table = Table(title="Faults", title_justify="left")
    table.add_column("fault", no_wrap=True)
    for column in (*COLUMNS, "all kept"):
        # Headings may be broken at spaces, never within a outcome.
        table.add_column(column, justify="right", min_width=max(map(len, column.split())))
    for trial in trials:
        style = None if trial.kept else "bold red"
        table.add_row(trial.fault, *cells(trial), "yes" if trial.kept else "NO", style=style)
    console.print(table, width=max(console.width, WIDTH))
    for trial in trials:
        for violation in trial.findings.violations:
            console.print(f"{trial.fault}: {violation}", style="red", markup=False)


def cells(trial: Trial) -> list[str]:
    found = trial.findings
    counts = (
        *(found.told_yes, found.kept, found.lost, found.not_promised, found.brought_back, found.refused),
        *(found.duplicated, found.oversold, found.stuck),
    )
    seconds = (trial.recovery_seconds, trial.settle_seconds, trial.slowest_refusal_seconds)
    return [*(str(count) for count in counts), *("–" if value is None else f"{value:.1f}" for value in seconds)]


def as_markdown(trials: Sequence[Trial]) -> str:
    """The table of docs/results/faults.md."""
    return (
        markdown_table(("fault", *COLUMNS), ([trial.fault, *cells(trial)] for trial in trials), text_columns=1) + "\n"
    )


def as_json(trials: Sequence[Trial], *, seed: int, versions: dict[str, str]) -> str:
    everything = {
        "seed": seed,
        "kept": all(trial.kept for trial in trials),
        "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"system": system(), "processor": platform.machine(), "cores": os.cpu_count() or 0},
        "versions": versions,
        "trials": [{**asdict(trial), "kept": trial.kept} for trial in trials],
    }
    return json.dumps(everything, indent=2) + "\n"


def versions(shop: ShopUnderTest) -> dict[str, str]:
    """Versions of Python, the servers, and the packages that talk to them."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        postgres = str(cursor.fetchone()[0])
    packages = {name: metadata.version(name) for name in ("django", "celery", "kombu", "redis", "granian")}
    valkey = str(shop.store_client().info("server")["valkey_version"])
    return {"python": platform.python_version(), "postgres": postgres, "valkey": valkey, **packages}
