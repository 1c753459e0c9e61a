"""One run: one strategy, one setting, one crowd; set the stock, open the barrier, count, see whether it still sells."""

import secrets
from collections.abc import Callable, Sequence

from bench.lab.buyers.buyer_pool import Crowd
from bench.lab.buyers.buyer_process import Orders, attempt, database_of, leave
from bench.lab.buyers.calls import SOLD, Call, Result, Setting, calls_of, dealt
from bench.lab.measures import Measures, measured, units_sold
from bench.lab.servers.lab_servers import Site
from bench.lab.servers.server_counters import ServerCounters, read_counters
from bench.lab.servers.strategy_client import client_of
from bench.strategies.base.strategy import Home, Strategy, Surroundings

# So many fresh buyers in a row must fail before a strategy that has units left is called stuck.
PROBES = 2


def run_once(
    kind: type[Strategy],
    setting: Setting,
    *,
    crowd: Crowd,
    site: Site,
    clocks_ahead: Sequence[float] = (),
    lease_seconds: float | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> tuple[Measures, list[Result]]:
    """Let the crowd buy, and measure.

    `meanwhile` is called when the barrier has opened. `clocks_ahead` are seconds, one for each process.
    """
    name = f"lab-{kind.id}-{secrets.token_hex(4)}"
    teach(kind, site)
    calls = calls_of(setting)
    hands = dealt(calls, setting.concurrency)
    judge = strategy_of(kind, site, name, lease_seconds)
    judge.set_stock(setting.stock)
    try:
        crowd.gather(
            [
                Orders(
                    strategy_id=kind.id,
                    name=name,
                    store_url=site.store_url,
                    database_url=site.database_url,
                    hands=hands[number * setting.clients : (number + 1) * setting.clients],
                    seconds_max=setting.seconds_max,
                    clock_ahead_seconds=clocks_ahead[number] if clocks_ahead else 0.0,
                    lease_seconds=lease_seconds,
                )
                for number in range(setting.processes)
            ]
        )
        before = counters_of(kind, site)
        crowd.rush()
        meanwhile()
        results = crowd.results(seconds_max=setting.seconds_max)
        after = counters_of(kind, site)
        left = judge.left()
        # Before the buyers leave: what a process of theirs still holds may be what blocks the sale.
        stuck = is_stuck(judge, left, setting, results)
        crowd.leave()
        measures = measured(
            strategy=kind.id,
            stock=setting.stock,
            seed=setting.seed,
            results=results,
            counters=after.since(before) if after and before else None,
            believed_left=left,
            stuck=stuck,
        )
    finally:
        judge.tear_down()
        leave(judge)
    return measures, results


def teach(kind: type[Strategy], site: Site) -> None:
    """Let the servers see the strategy's scripts once: a sale is not judged by its very first call."""
    strategy = strategy_of(kind, site, f"lab-first-{secrets.token_hex(4)}")
    strategy.set_stock(1)
    strategy.attempt(1)
    strategy.tear_down()
    leave(strategy)


def strategy_of(kind: type[Strategy], site: Site, name: str, lease_seconds: float | None = None) -> Strategy:
    """The strategy for us who are no buyer."""
    surroundings = Surroundings(
        store=client_of(site.store_url, home=kind.home, retries=1),
        database=database_of(site.database_url),
        lease_seconds=lease_seconds,
    )
    return kind(surroundings, name)


def counters_of(kind: type[Strategy], site: Site) -> ServerCounters | None:
    return None if kind.home is Home.DATABASE else read_counters(site.watched)


def is_stuck(judge: Strategy, left: int | None, setting: Setting, results: Sequence[Result]) -> bool:
    """Whether units are left by what the buyers were told, and fresh buyers still get none."""
    if units_sold(results) >= setting.stock:
        return False
    if left is not None and left <= 0:
        # Units that were taken and never told to anybody are lost, which is something else.
        return False
    probes = (attempt(judge, Call(setting.buyers + probe, 1)) for probe in range(1, PROBES + 1))
    return all(result.word != SOLD for result in probes)
