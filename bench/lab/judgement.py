"""The verdict on a strategy in words, and whether a run shows a flaw that was not expected."""

from dataclasses import dataclass

from bench.lab.measures import Measures
from bench.strategies.base.strategy import Strategy


@dataclass(frozen=True, slots=True)
class Judgement:
    """`words` describe what happened; `unexpected` says that the strategy was expected to be correct and was not."""

    words: str
    expected: str
    unexpected: bool


def judge(strategy: type[Strategy], measures: Measures) -> Judgement:
    return Judgement(in_words(measures), strategy.expected, bool(unexpected_flaws(strategy, measures)))


def unexpected_flaws(strategy: type[Strategy], measures: Measures) -> list[str]:
    """The flaws of a run without faults although the strategy is expected to get it right."""
    flaws = []
    if measures.oversold and (strategy.correct or strategy.never_oversells):
        flaws.append("oversold")
    if strategy.correct:
        if measures.stuck:
            flaws.append("stuck")
        if measures.errors:
            flaws.append("errors")
        if measures.units_max > 1 and not strategy.sells_several_units:
            return flaws
        if measures.false_refusals:
            flaws.append("false refusals")
        # Units left by buyers who were told "busy" are not a flaw: these buyers know that they may try again.
        if measures.unsold and not (measures.busy or measures.not_sent):
            flaws.append("unsold")
    return flaws


def in_words(measures: Measures) -> str:
    """The judgement as one line of text."""
    phrases = []
    if measures.oversold:
        phrases.append(f"oversold by {measures.oversold:,} ({measures.sold:,} of {measures.stock:,})")
    elif measures.unsold:
        phrases.append(f"left {measures.unsold:,} of {measures.stock:,} unsold although buyers asked for them")
    elif measures.sold == measures.stock:
        phrases.append("sold exactly the stock")
    else:
        phrases.append(f"sold {measures.sold:,} of {measures.stock:,}, no buyer asked for the rest")
    if measures.stuck:
        phrases.append("stuck: no buyer can buy any more")
    calls = measures.buyers or 1
    if measures.busy:
        phrases.append(f"{measures.busy / calls:.0%} of the buyers told busy")
    if measures.false_refusals:
        phrases.append(f"{measures.false_refusals:,} refused although units were left")
    if measures.errors:
        phrases.append(f"{measures.errors:,} errors, the first: {measures.first_error}")
    if measures.not_sent:
        phrases.append(f"{measures.not_sent:,} buyers not served in time")
    return "; ".join(phrases)
