"""The targets of the shop: ratios of figures of the same round, their median, and the bound."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.measure.speed.part import Sample
from bench.measure.speed.wrk import CROWD


@dataclass(frozen=True, slots=True)
class Target:
    """`figure` of `part`, divided by `other_figure` of `other` if there is one, has to be at least or at most `bound`.

    Figures are named as in `Sample.by_name`. `strict` means that the bound itself is not enough. `unit` is that of a
    target that is no ratio. Without a bound it only says how two things compare.
    """

    title: str
    part: str
    figure: str = "per_second"
    bound: float | None = None
    other: str = ""
    other_figure: str = "per_second"
    at_most: bool = False
    strict: bool = False
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A target and the values of the rounds; `reached` is decided by their median, and None without a bound."""

    target: Target
    values: Sequence[float]
    median: float
    reached: bool | None


BARE = {
    "rsgi-hello": "bare RSGI hello",
    "rsgi-post": "bare RSGI POST",
    "wsgi-hello": "bare WSGI hello",
    "rsgi-figures": "bare RSGI answer as heavy as live figures",
    "rsgi-page": "bare RSGI answer as heavy as a page",
}


def beside_bare(title: str, part: str, *, bound: float | None, other: str = "rsgi-hello") -> Target:
    """The rate of a part beside that of a server that answers over the same interface and does nothing."""
    return Target(f"{title} ÷ {BARE[other]}", part, other=other, bound=bound)


def within(title: str, part: str, name: str, unit: str, bound: float, *, strict: bool = False) -> Target:
    """A figure that the part has itself, at most the bound."""
    return Target(title, part, name, bound, at_most=True, strict=strict, unit=unit)


def beside_other_ways(*, crowd: bool = False) -> Sequence[Target]:
    """A reservation beside an empty view, and beside views that sell from one row of PostgreSQL.

    For a few buyers at a time, or a crowd: then a turn of the event loop has more calls, which share their costs.
    """
    ending, title = ("-crowd", f", {CROWD} at a time") if crowd else ("", "")
    part, drf_post, row_lock = f"accepted{ending}", f"drf-post{ending}", f"row-lock{ending}"
    return (
        Target(f"accepted ÷ bare DRF POST alone{title}", part, other=drf_post, bound=1),
        Target(
            f"web CPU of accepted ÷ that of bare DRF POST{title}",
            part,
            "cpu_us.web",
            bound=0.6,
            other=drf_post,
            other_figure="cpu_us.web",
            at_most=True,
        ),
        within(f"store CPU for an accepted call, fsync included{title}", part, "cpu_us.store", "µs", 35),
        Target(
            f"accepted, persisted orders/s ÷ row-lock view{title}", part, "orders_per_second", bound=10, other=row_lock
        ),
        Target(
            f"accepted, persisted orders/s ÷ conditional-update view{title}",
            part,
            "orders_per_second",
            bound=8,
            other=f"conditional{ending}",
        ),
        Target(
            f"p99 of accepted ÷ p99 of row-lock view{title}",
            part,
            "p99_ms",
            bound=0.1,
            other=row_lock,
            other_figure="p99_ms",
            at_most=True,
        ),
    )


TARGETS = (
    beside_bare("refusal", "refusal", bound=0.6, other="rsgi-post"),
    beside_bare("refusal, not open", "refusal-not-open", bound=0.6, other="rsgi-post"),
    # Pages send no body, so this is what their visitors cost.
    beside_bare("refusal, no body", "refusal-no-body", bound=None),
    Target("accepted, no body ÷ accepted", "accepted-no-body", other="accepted"),
    beside_bare("live", "live", bound=0.85),
    beside_bare("live of a sale", "sale-live", bound=0.85),
    beside_bare("place in a waiting room", "place", bound=0.5),
    beside_bare("home", "home", bound=0.85),
    beside_bare("sale page", "sale-page", bound=0.85),
    beside_bare("sale page, signed in", "sale-page-signed-in", bound=0.85),
    beside_bare("list of products", "products-page", bound=0.85),
    beside_bare("product page", "product-page", bound=0.85),
    beside_bare("GET /api/v1/sales/", "sales", bound=0.85),
    *beside_other_ways(),
    *beside_other_ways(crowd=True),
    Target("accepted and confirmed by a replica ÷ accepted", "accepted-confirmed", other="accepted", bound=0.7),
    Target(
        f"accepted and confirmed by a replica ÷ accepted, {CROWD} at a time",
        "accepted-confirmed-crowd",
        other="accepted-crowd",
        bound=0.7,
    ),
    Target(
        "web CPU of accepted with 20 viewers of the live board ÷ without",
        "watched",
        "web_us_watched",
        bound=1.03,
        other="watched",
        other_figure="web_us_alone",
        at_most=True,
        strict=True,
    ),
    Target(
        "accepted with 20 viewers of the live board ÷ without, by rate",
        "watched",
        "per_second_watched",
        other="watched",
        other_figure="per_second_alone",
    ),
    within("lag from the last yes to the last order, 5,000 units", "sell-out", "lag_s", "s", 1, strict=True),
    within("worker and PostgreSQL CPU for an order, in whole batches", "drain", "worker_and_postgres_us", "µs", 90),
    within("store bytes for a reservation after drain", "drain", "store_bytes", "bytes", 130),
    Target("reserve at 10⁶ past reservations ÷ at 10³", "growth", "reserve_ratio", 0.9),
    Target("reserve.lua on three primaries ÷ on one, by store CPU", "cluster", "cpu_ratio", 2.5),
    # With fewer than six cores, one primary after the other (bench/measure/speed/parts/cluster_parts.py).
    Target("reserve.lua on three primaries ÷ on one, by a pipelined client", "cluster", "pipelined_ratio", 2.5),
    # What the interface costs: no answer over RSGI is faster than its hello.
    beside_bare("bare RSGI hello", "rsgi-hello", bound=None, other="wsgi-hello"),
    # What headers and bytes cost: no live figures and no page are faster than a bare answer that is as heavy.
    beside_bare(BARE["rsgi-figures"], "rsgi-figures", bound=None),
    beside_bare(BARE["rsgi-page"], "rsgi-page", bound=None),
    beside_bare("live", "live", bound=None, other="rsgi-figures"),
    beside_bare("home", "home", bound=None, other="rsgi-page"),
)


def verdicts(samples: Mapping[str, Mapping[int, Sample]]) -> list[Verdict]:
    """The targets whose parts were measured. `samples` is the name of a part → round → sample."""
    found = []
    for target in TARGETS:
        values = values_of(target, samples)
        if values:
            median = statistics.median(values)
            found.append(Verdict(target=target, values=values, median=median, reached=is_reached(target, median)))
    return found


def values_of(target: Target, samples: Mapping[str, Mapping[int, Sample]]) -> list[float]:
    """The target's value in each round that has all it needs."""
    ours = samples.get(target.part, {})
    if not target.other:
        return [sample.by_name()[target.figure] for sample in ours.values()]
    theirs = samples.get(target.other, {})
    return [
        ours[number].by_name()[target.figure] / theirs[number].by_name()[target.other_figure]
        for number in ours
        if number in theirs
    ]


def is_reached(target: Target, median: float) -> bool | None:
    if target.bound is None:
        return None
    if target.at_most:
        return median < target.bound if target.strict else median <= target.bound
    return median > target.bound if target.strict else median >= target.bound


@dataclass(frozen=True, slots=True)
class Spread:
    """Lowest, median and highest of the rounds."""

    low: float
    median: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    return Spread(min(values), statistics.median(values), max(values))
