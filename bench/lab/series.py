"""A session of the lab: one series after the other, and what came of each."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench.lab.buyers.buyer_pool import Crowd
from bench.lab.buyers.calls import Setting
from bench.lab.fault_runs import CROWD, Damage, suffer
from bench.lab.judgement import Verdict, verdict_on
from bench.lab.measures import Measures
from bench.lab.presets import Series
from bench.lab.servers.lab_servers import Sites
from bench.lab.strategy_run import run_once
from bench.strategies.all_strategies import BY_ID

# Is told what is done next; called once for each step of `steps_of`.
Tick = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Run:
    """One strategy in one setting."""

    setting: Setting
    measures: Measures
    verdict: Verdict


@dataclass(slots=True)
class SeriesReport:
    """What came of a series."""

    name: str
    runs: list[Run] = field(default_factory=list)
    damages: list[Damage] = field(default_factory=list)

    def misbehaved(self) -> list[str]:
        """Who was expected to be correct, or to survive a fault, and did not."""
        return [
            *(f"{run.measures.strategy}: {run.verdict.words}" for run in self.runs if run.verdict.misbehaved),
            *(f"{damage.strategy} under {damage.fault}" for damage in self.damages if damage.misbehaved),
        ]


def steps_of(series: Sequence[Series]) -> int:
    """How many runs and faults there are in all."""
    return sum(len(one.strategies) * (len(one.settings) + len(one.faults)) for one in series)


def run_series(series: Series, *, sites: Sites, tick: Tick) -> SeriesReport:
    """Every strategy in every setting, and then under every fault."""
    report = SeriesReport(series.name)
    kinds = [BY_ID[strategy_id] for strategy_id in series.strategies]
    with crowds() as crowd_for:
        for setting in series.settings:
            for kind in kinds:
                tick(f"{series.name}: {kind.id}, {setting.buyers:,} buyers")
                measures, _results = run_once(kind, setting, crowd=crowd_for(setting), site=sites.of(kind))
                report.runs.append(Run(setting, measures, verdict_on(kind, measures)))
        for kind in kinds:
            for fault in series.faults:
                tick(f"{series.name}: {kind.id}, {fault}")
                damage = suffer(kind, fault, sites=sites, crowd=crowd_for(CROWD))
                if damage is not None:
                    report.damages.append(damage)
    return report


@contextmanager
def crowds() -> Iterator[Callable[[Setting], Crowd]]:
    """A crowd for each setting; the last one stays for as long as settings ask for the same."""
    current: tuple[int, int, Crowd] | None = None

    def crowd_for(setting: Setting) -> Crowd:
        nonlocal current
        if current is None or current[:2] != (setting.processes, setting.clients):
            if current is not None:
                current[2].send_home()
            crowd = Crowd(processes=setting.processes, clients=setting.clients)
            current = (setting.processes, setting.clients, crowd)
        return current[2]

    try:
        yield crowd_for
    finally:
        if current is not None:
            current[2].send_home()
