"""Measurements of the commands `growth` and `page_times`, whose servers or database have many rows.

Reserving should stay as fast when an item has many past reservations. Lists and searches go among ten thousand products
and a hundred thousand orders, in a database of their own.
"""

import json
import os
import subprocess
import sys
from functools import partial
from io import StringIO
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.core.management import call_command
from django.db import connection

from bench.measure.speed.part import Part, Sample, Server, WrongAnswer
from bench.measure.speed.server_groups import STORE
from shop.local.shop_processes import ROOT

FEW, MANY = 1_000, 1_000_000
DATABASE = "speed_long_lists"
PRODUCTS, ORDERS = 10_000, 100_000


def growth(server: Server) -> Sample:
    """How fast each step is at MANY past reservations, as a ratio to FEW."""
    file = server.directory / "growth.json"
    words = ["--past", str(FEW), str(MANY), "--sales", "1", "--json", str(file)]
    call_command("growth", *words, stdout=StringIO(), stderr=StringIO())
    return Sample(figures=ratios_in(json.loads(file.read_text())))


def ratios_in(written: dict[str, Any]) -> dict[str, float]:
    """For each step its time beside FEW reservations ÷ that beside MANY: 1 if it stays the same, less if it grows."""
    columns = written["microseconds"]
    few, many = columns[f"{FEW:,} reservations"], columns[f"{MANY:,} reservations"]
    return {f"{step}_ratio": few[step]["caller_us"] / many[step]["caller_us"] for step in many}


def page_times(pages: str, server: Server) -> Sample:
    """Median and p99 in milliseconds, and statements, of each page. The second part finds the first one's rows."""
    prepare_database()
    found = json.loads(manage("page_times", pages, "--products", str(PRODUCTS), "--orders", str(ORDERS)))
    figures = {f"{name}_{figure}": value for name, times in found.items() for figure, value in times.items()}
    return Sample(figures=figures)


def prepare_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
        if cursor.fetchone() is None:
            cursor.execute(f"CREATE DATABASE {DATABASE}")
    manage("migrate", "-v0")


def manage(*words: str) -> str:
    """Run a command with the other database, and return its output. Raises WrongAnswer."""
    address = urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{DATABASE}"))
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *words, "--skip-checks"],
        env={**os.environ, "DATABASE_URL": address},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise WrongAnswer(f"manage.py {words[0]}: {done.stderr.strip()[-500:]}")
    return done.stdout


PARTS = (
    Part("growth", f"{MANY:,} past reservations beside {FEW:,}", STORE, growth, once=True),
    Part(
        "staff-lists",
        f"lists of staff, {PRODUCTS:,} products and {ORDERS:,} orders",
        STORE,
        partial(page_times, "staff"),
        once=True,
    ),
    Part("product-search", f"search among {PRODUCTS:,} products", STORE, partial(page_times, "search"), once=True),
)
