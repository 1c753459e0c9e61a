"""Runs the strategies of a series, in each of its settings and under each of its faults, and judges each run."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench.lab.buyers.buyer_pool import BuyerPool
from bench.lab.buyers.calls import Setting
from bench.lab.fault_runs import FAULT_SETTING, FaultRun, run_under_fault
from bench.lab.measures import Measures, percent
from bench.lab.presets import Series
from bench.lab.servers.lab_servers import LabServers
from bench.lab.strategy_run import run_strategy
from bench.strategies.all_strategies import BY_ID
from bench.strategies.base.strategy import Strategy

# Called with a text before each of the steps that `steps_of` counts.
Tick = Callable[[str], object]


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
        phrases.append(f"{percent(measures.busy, calls)} of the buyers told busy")
    if measures.false_refusals:
        phrases.append(f"{measures.false_refusals:,} refused although units were left")
    if measures.errors:
        phrases.append(f"{measures.errors:,} errors, the first: {measures.first_error}")
    if measures.not_sent:
        phrases.append(f"{measures.not_sent:,} buyers not served in time")
    return "; ".join(phrases)


@dataclass(frozen=True, slots=True)
class Run:
    """One strategy in one setting."""

    setting: Setting
    measures: Measures
    judgement: Judgement


@dataclass(slots=True)
class SeriesResult:
    """All that was measured in a series."""

    name: str
    runs: list[Run] = field(default_factory=list)
    fault_runs: list[FaultRun] = field(default_factory=list)

    def unexpected(self) -> list[str]:
        """The strategies that were expected to be correct, or to survive a fault, and did not."""
        return [
            *(f"{run.measures.strategy}: {run.judgement.words}" for run in self.runs if run.judgement.unexpected),
            *(f"{fault_run.strategy} under {fault_run.fault}" for fault_run in self.fault_runs if fault_run.unexpected),
        ]


def steps_of(series: Sequence[Series]) -> int:
    """How many runs and faults there are in all."""
    return sum(len(one.strategies) * (len(one.settings) + len(one.faults)) for one in series)


def run_series(series: Series, *, lab_servers: LabServers, tick: Tick) -> SeriesResult:
    """Every strategy in every setting, and then under every fault."""
    result = SeriesResult(series.name)
    kinds = [BY_ID[strategy_id] for strategy_id in series.strategies]
    with pools() as pool_for:
        for setting in series.settings:
            for kind in kinds:
                tick(f"{series.name}: {kind.id}, {setting.buyers:,} buyers")
                measures = run_strategy(kind, setting, pool=pool_for(setting), servers=lab_servers.of(kind))
                result.runs.append(Run(setting, measures, judge(kind, measures)))
        for kind in kinds:
            for fault in series.faults:
                tick(f"{series.name}: {kind.id}, {fault}")
                fault_run = run_under_fault(kind, fault, lab_servers=lab_servers, pool=pool_for(FAULT_SETTING))
                if fault_run is not None:
                    result.fault_runs.append(fault_run)
    return result


@contextmanager
def pools() -> Iterator[Callable[[Setting], BuyerPool]]:
    """Gives the pool for a setting. The last one is used again while settings ask for the same size."""
    current: tuple[int, int, BuyerPool] | None = None

    def pool_for(setting: Setting) -> BuyerPool:
        nonlocal current
        if current is None or current[:2] != (setting.processes, setting.clients):
            if current is not None:
                current[2].stop()
            pool = BuyerPool(processes=setting.processes, clients=setting.clients)
            current = (setting.processes, setting.clients, pool)
        return current[2]

    try:
        yield pool_for
    finally:
        if current is not None:
            current[2].stop()
