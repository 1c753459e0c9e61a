"""The runs of `--preset`: which strategies, how many buyers and units, which faults."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.lab.buyers.calls import Setting
from bench.strategies.all_strategies import ALL
from bench.strategies.base.strategy import Fault

EVERY = tuple(strategy.id for strategy in ALL)
LUA_AND_WATCH = ("watch_multi", "all_in_lua", "lua_purchase", "lua_purchase_cluster", "ledger")
# A lock that breaks under a fault, a script that does, and the shop's own.
QUICK_FAULTS = ("set_nx_ex_lock", "all_in_lua", "ledger")


@dataclass(frozen=True, slots=True)
class Series:
    """Some strategies, to run in each setting and then under each fault."""

    name: str
    strategies: Sequence[str]
    settings: Sequence[Setting] = ()
    faults: Sequence[Fault] = ()


CLASSIC = Series("classic-505", EVERY, [Setting(buyers=505, stock=500)])
# Ten at a time.
MIXED = Series("mixed-units", EVERY, [Setting(buyers=100, stock=10, units_max=3, processes=5, clients=2)])
LUA_WATCH_CLUSTER = Series(
    "lua-watch-cluster",
    LUA_AND_WATCH,
    [Setting(buyers=buyers, stock=buyers // 2) for buyers in (1_000, 5_000, 10_000, 20_000)],
)
FAULTS = Series("faults", EVERY, faults=tuple(Fault))

PRESETS = {series.name: series for series in (CLASSIC, MIXED, LUA_WATCH_CLUSTER, FAULTS)}


def quick(series: Series) -> Series:
    """The same in a few seconds, to see that all works. Its times mean nothing."""
    if series is CLASSIC:
        return replace(series, settings=[Setting(buyers=105, stock=100)])
    if series is LUA_WATCH_CLUSTER:
        return replace(series, settings=[Setting(buyers=buyers, stock=buyers // 2) for buyers in (250, 500)])
    if series is FAULTS:
        return replace(series, strategies=QUICK_FAULTS)
    return series
