"""One run of one strategy: set the stock, start the buyers, count what they bought, check that it still sells."""

import secrets
import time
from collections.abc import Callable, Sequence

from bench.lab.buyers.buyer_pool import BuyerPool
from bench.lab.buyers.buyer_process import BuyerTask, SaleProgress, attempt, database_connector, disconnect
from bench.lab.buyers.calls import SOLD, Call, Result, Setting, calls_of, split_among_clients
from bench.lab.measures import Measures, measured, units_sold
from bench.lab.servers.lab_servers import BackendServers
from bench.lab.servers.lab_store import strategy_client
from bench.lab.servers.server_counters import ServerCounters, read_counters
from bench.strategies.base.strategy import Backend, Strategy, Surroundings

# A strategy with units left is called stuck when so many new buyers in a row get none.
PROBES = 2


def run_strategy(
    kind: type[Strategy],
    setting: Setting,
    *,
    pool: BuyerPool,
    servers: BackendServers,
    lease_seconds: float | None = None,
    fault: Callable[[SaleProgress], object] | None = None,
) -> Measures:
    """Let the buyers of the pool buy, and measure.

    `fault` is called when the buyers have started; they keep half of their calls until it returns.
    """
    name = f"lab-{kind.id}-{secrets.token_hex(4)}"
    load_scripts(kind, servers)
    calls = calls_of(setting)
    calls_by_client = split_among_clients(calls, setting.concurrency)
    seller = lab_strategy(kind, servers, name, lease_seconds)
    seller.set_stock(setting.stock)
    try:
        pool.prepare(
            [
                BuyerTask(
                    strategy_id=kind.id,
                    name=name,
                    store_url=servers.store_url,
                    database_url=servers.database_url,
                    calls_by_client=calls_by_client[number * setting.clients : (number + 1) * setting.clients],
                    seconds_max=setting.seconds_max,
                    lease_seconds=lease_seconds,
                    calls_before_fault=setting.calls_before_fault // setting.concurrency if fault else None,
                )
                for number in range(setting.processes)
            ]
        )
        before = counters_of(kind, servers)
        pool.start()
        if fault:
            fault(pool.progress)
            pool.progress.fault_is_over.set()
        results = pool.results(seconds_max=setting.seconds_max)
        after = counters_of(kind, servers)
        left = seller.left()
        # Before the buyers disconnect: a lock that one of their processes still holds may be what blocks the sale.
        stuck = is_stuck(seller, left, setting, results)
        pool.disconnect()
        return measured(
            strategy=kind.id,
            stock=setting.stock,
            seed=setting.seed,
            results=results,
            counters=after.since(before) if after and before else None,
            believed_left=left,
            stuck=stuck,
        )
    finally:
        seller.tear_down()
        disconnect(seller)


def load_scripts(kind: type[Strategy], servers: BackendServers) -> None:
    """Make one attempt outside the measurement, so that the servers know the strategy's scripts."""
    strategy = lab_strategy(kind, servers, f"lab-first-{secrets.token_hex(4)}")
    strategy.set_stock(1)
    strategy.attempt(1)
    strategy.tear_down()
    disconnect(strategy)


def lab_strategy(
    kind: type[Strategy],
    servers: BackendServers,
    name: str,
    lease_seconds: float | None = None,
    clock: Callable[[], float] = time.time,
) -> Strategy:
    """The strategy as the lab itself uses it, to set the stock and to read what is left, or as a rival."""
    surroundings = Surroundings(
        store=strategy_client(servers.store_url, backend=kind.backend, retries=1),
        database=database_connector(servers.database_url),
        clock=clock,
        lease_seconds=lease_seconds,
    )
    return kind(surroundings, name)


def counters_of(kind: type[Strategy], servers: BackendServers) -> ServerCounters | None:
    return None if kind.backend is Backend.DATABASE else read_counters(servers.monitors)


def is_stuck(seller: Strategy, left: int | None, setting: Setting, results: Sequence[Result]) -> bool:
    """Whether units are left, by what the buyers were told, and new buyers still get none."""
    if units_sold(results) >= setting.stock:
        return False
    if left is not None and left <= 0:
        # Units that were taken without any buyer being told are lost. That is not the same as stuck.
        return False
    probes = (attempt(seller, Call(setting.buyers + probe, 1)) for probe in range(1, PROBES + 1))
    return all(result.answer != SOLD for result in probes)
