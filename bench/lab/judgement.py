"""The verdict: what a run showed of a strategy, in words, and whether it broke what is expected of it."""

from dataclasses import dataclass

from bench.lab.measures import Measures
from bench.strategies.base.strategy import Strategy


@dataclass(frozen=True, slots=True)
class Verdict:
    """`misbehaved`: expected to be correct, and was not. A flawed strategy cannot misbehave."""

    words: str
    expected: str
    misbehaved: bool


def verdict_on(strategy: type[Strategy], measures: Measures) -> Verdict:
    return Verdict(in_words(measures), strategy.expected, bool(broken_promises(strategy, measures)))


def broken_promises(strategy: type[Strategy], measures: Measures) -> list[str]:
    """What the strategy did and must not, on live hosts with good clocks."""
    broken = []
    if measures.oversold and (strategy.correct or strategy.never_oversells):
        broken.append("oversold")
    if strategy.correct:
        if measures.stuck:
            broken.append("stuck")
        if measures.errors:
            broken.append("errors")
        if measures.units_max > 1 and not strategy.sells_baskets:
            return broken
        if measures.false_refusals:
            broken.append("false refusals")
        # Who gave up for want of a lock was told so, and is no broken promise; a refusal is.
        if measures.unsold and not (measures.busy or measures.not_sent):
            broken.append("unsold")
    return broken


def in_words(measures: Measures) -> str:
    """The verdict for people."""
    said = []
    if measures.oversold:
        said.append(f"oversold by {measures.oversold:,} ({measures.sold:,} of {measures.stock:,})")
    elif measures.unsold:
        said.append(f"left {measures.unsold:,} of {measures.stock:,} unsold though asked for")
    elif measures.sold == measures.stock:
        said.append("sold exactly the stock")
    else:
        said.append(f"sold {measures.sold:,} of {measures.stock:,}, nobody wanted the rest")
    if measures.stuck:
        said.append("stuck: nobody can buy any more")
    calls = measures.buyers or 1
    if measures.busy:
        said.append(f"{measures.busy / calls:.0%} of the buyers told busy")
    if measures.false_refusals:
        said.append(f"{measures.false_refusals:,} refused although units were left")
    if measures.errors:
        said.append(f"{measures.errors:,} errors")
    if measures.not_sent:
        said.append(f"{measures.not_sent:,} buyers had no turn in time")
    return "; ".join(said)
