"""The measurements of a run, from the results of its calls and the counters of its servers."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.lab.buyers.calls import BUSY, ERROR, NOT_SENT, REFUSED, SOLD, Result
from bench.lab.servers.server_counters import ServerCounters
from bench.percentiles import percentile


@dataclass(frozen=True, slots=True)
class Measures:
    """The figures of one strategy in one run.

    `sold`, `oversold` and `unsold` are units; `refused`, `busy`, `errors`, `not_sent` and `false_refusals` are calls.
    The counters of the servers are None for strategies that keep their stock in the database.
    """

    strategy: str
    buyers: int
    stock: int
    units_max: int
    seed: int
    sold: int
    oversold: int
    unsold: int
    refused: int
    false_refusals: int
    busy: int
    errors: int
    not_sent: int
    stuck: bool
    believed_left: int | None
    seconds: float
    attempts_per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    round_trips_per_attempt: float | None
    commands_per_attempt: float | None
    bytes_per_attempt: float | None
    server_cpu_us_per_attempt: float | None
    first_error: str = ""


def measured(
    *,
    strategy: str,
    stock: int,
    seed: int,
    results: Sequence[Result],
    counters: ServerCounters | None,
    believed_left: int | None,
    stuck: bool,
) -> Measures:
    sent = [result for result in results if result.answer != NOT_SENT]
    count = len(sent) or 1
    sold = units_sold(results)
    seconds = max((r.ended_s for r in sent), default=0.0) - min((r.started_s for r in sent), default=0.0)
    times_ms = sorted((result.ended_s - result.started_s) * 1000 for result in sent)
    return Measures(
        strategy=strategy,
        buyers=len(results),
        stock=stock,
        units_max=max((result.units for result in results), default=0),
        seed=seed,
        sold=sold,
        oversold=max(0, sold - stock),
        unsold=unsold(results, stock=stock),
        refused=sum(result.answer == REFUSED for result in sent),
        false_refusals=false_refusals(sent, stock=stock),
        busy=sum(result.answer == BUSY for result in sent),
        errors=sum(result.answer == ERROR for result in sent),
        not_sent=len(results) - len(sent),
        stuck=stuck,
        believed_left=believed_left,
        seconds=seconds,
        attempts_per_second=len(sent) / seconds if seconds else 0.0,
        p50_ms=percentile(times_ms, 0.5),
        p95_ms=percentile(times_ms, 0.95),
        p99_ms=percentile(times_ms, 0.99),
        round_trips_per_attempt=counters.round_trips / count if counters else None,
        commands_per_attempt=counters.executed / count if counters else None,
        bytes_per_attempt=counters.net_bytes / count if counters else None,
        server_cpu_us_per_attempt=counters.cpu_seconds * 1_000_000 / count if counters else None,
        first_error=next((result.error for result in sent if result.error), ""),
    )


def units_sold(results: Sequence[Result]) -> int:
    return sum(result.units for result in results if result.answer == SOLD)


def unsold(results: Sequence[Result], *, stock: int) -> int:
    """Units left although they were enough for a buyer who got none."""
    left = stock - units_sold(results)
    asked_for = [result.units for result in results if result.answer != SOLD]
    return left if asked_for and min(asked_for) <= left else 0


def false_refusals(results: Sequence[Result], *, stock: int) -> int:
    """Calls refused although enough units were left during the whole call.

    A sale may have taken its units at any time between its start and its end. So every sale that had started before
    the refusal came counts as done, and the figure is a lower bound.
    """
    found, started, taken = 0, 0, 0
    sales = sorted((result for result in results if result.answer == SOLD), key=lambda result: result.started_s)
    for refusal in sorted((r for r in results if r.answer == REFUSED), key=lambda result: result.ended_s):
        while started < len(sales) and sales[started].started_s < refusal.ended_s:
            taken += sales[started].units
            started += 1
        found += stock - taken >= refusal.units
    return found


def percent(part: int, whole: int) -> str:
    """Few are not said to be none."""
    return "less than 1%" if 0 < part / whole < 0.01 else f"{part / whole:.0%}"
