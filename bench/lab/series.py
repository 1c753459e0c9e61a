"""Runs the strategies of a series, in each of its settings and under each of its faults."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench.lab.buyers.buyer_pool import BuyerPool
from bench.lab.buyers.calls import Setting
from bench.lab.fault_runs import FAULT_SETTING, FaultRun, run_under_fault
from bench.lab.judgement import Judgement, judge
from bench.lab.measures import Measures
from bench.lab.presets import Series
from bench.lab.servers.lab_servers import LabServers
from bench.lab.strategy_run import run_strategy
from bench.strategies.all_strategies import BY_ID

# Called with a text before each of the steps that `steps_of` counts.
Tick = Callable[[str], object]


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
                measures, _results = run_strategy(kind, setting, pool=pool_for(setting), servers=lab_servers.of(kind))
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
