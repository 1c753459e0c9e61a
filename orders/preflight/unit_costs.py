"""What one request, one reservation and one order cost, as the last whole `make bench` measured it.

The file stands beside this module, so that a shop without the bench has it too.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("unit_costs.json")


class NoUnitCosts(Exception):
    """There is no usable result of `make bench`. The message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitCosts:
    """Processor time in microseconds and bytes, each for one request, one reservation or one order."""

    refusal_web_us: float
    live_web_us: float
    page_web_us: float
    win_web_us: float
    win_store_us: float
    win_script_us: float
    refused_store_us: float
    order_worker_us: float
    order_postgres_us: float
    refusal_bytes: float
    live_bytes: float
    page_bytes: float
    undrained_bytes: float


# Where the results have each unit cost: the part, and the figure of it.
SOURCES = {
    "refusal_web_us": ("refusal", "cpu_us.web"),
    "live_web_us": ("sale-live", "cpu_us.web"),
    "page_web_us": ("sale-page", "cpu_us.web"),
    "win_web_us": ("accepted", "cpu_us.web"),
    # By the shop's own traffic, with its batches and an fsync for each turn of the store; the script alone is cheaper.
    "win_store_us": ("accepted", "cpu_us.store"),
    "win_script_us": ("script", "accepted_cpu_us"),
    "refused_store_us": ("script", "refused_cpu_us"),
    "order_worker_us": ("accepted", "cpu_us.worker"),
    "order_postgres_us": ("accepted", "cpu_us.postgres"),
    "refusal_bytes": ("refusal", "answer_bytes"),
    "live_bytes": ("sale-live", "answer_bytes"),
    "page_bytes": ("sale-page", "answer_bytes"),
    "undrained_bytes": ("drain", "undrained_bytes"),
}


def read_results(path: Path) -> dict[str, Any]:
    """The results of a run of the bench. Raises NoUnitCosts."""
    try:
        results = json.loads(path.read_text())
    except FileNotFoundError:
        raise NoUnitCosts(
            f"There is no result of the bench at {path}. Run `make bench` first, or name a file."
        ) from None
    except (OSError, ValueError) as error:
        raise NoUnitCosts(f"{path} cannot be read as a result of `make bench`: {error}.") from error
    if not isinstance(results, dict) or not isinstance(results.get("parts"), dict):
        raise NoUnitCosts(f"{path} is not a result of `make bench`.")
    return results


def unit_costs(results: Mapping[str, Any]) -> UnitCosts:
    """The medians that the plan needs. Raises NoUnitCosts if one is missing, or comes from wrong answers."""
    return UnitCosts(**{name: median_of(results, part, figure) for name, (part, figure) in SOURCES.items()})


def median_of(results: Mapping[str, Any], part: str, figure: str) -> float:
    try:
        measured = results["parts"][part]
        if measured["wrong"]:
            raise NoUnitCosts(f"In the last bench the part {part} had wrong answers, so it has no figures.")
        median = float(measured["figures"][figure]["median"])
    except (KeyError, TypeError, ValueError):
        raise NoUnitCosts(
            f"The last bench did not measure {figure} of the part {part}. Run a whole `make bench`."
        ) from None
    if not math.isfinite(median) or median <= 0:
        raise NoUnitCosts(
            f"{figure} of the part {part} is {median:g}: the run was too short for it. Repeat with more --seconds."
        )
    return median
