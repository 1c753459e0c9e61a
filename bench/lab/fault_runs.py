"""One run of one strategy under one fault: what the buyers were told, compared with the stock."""

import os
import secrets
import signal
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from typing import Any

from bench.lab.buyers import stopping_buyer
from bench.lab.buyers.buyer_pool import BuyerPool
from bench.lab.buyers.buyer_process import SaleProgress, attempt, disconnect
from bench.lab.buyers.calls import ERROR, SOLD, Call, Result, Setting
from bench.lab.buyers.stopping_buyer import StopTask
from bench.lab.measures import units_sold, unsold
from bench.lab.servers.lab_servers import BackendServers, LabServers
from bench.lab.strategy_run import lab_strategy, load_scripts, run_strategy
from bench.spawned_processes import BuyersFailed
from bench.strategies.base.strategy import Backend, Fault, Strategy

# Two units, so that the stopped buyer and a rival can each rightly have one.
STOCK = 2
# In one sale the stopped buyer wants a unit, in another more than there are, and is stopped on the way to a refusal.
UNITS_WANTED = (1, STOCK + 1)
RIVALS = 3
# Short, so that a run need not wait for 30 s, but much longer than the milliseconds of an attempt.
LEASE_SECONDS = 0.3
# Waited in addition to the lease, for inexact timers and the message from the stopped buyer.
PAST_LEASE_SECONDS = 0.15
# More commands than any attempt sends when no other buyer interferes.
STEPS_MAX = 8
MESSAGE_SECONDS_MAX = 20.0
# The clock of the rivals is ahead by so much. The lease is longer than all their waiting, so by the right clock it does
# not end: only the wrong clock is to blame.
HOUR_SECONDS = 3_600.0
LONG_LEASE_SECONDS = 60.0
# Many more calls than fail during one outage.
FAULT_SETTING = Setting(buyers=600, stock=300, seconds_max=6.0)
# The store is killed after so many answers: by then half of the stock is sold, unless buyers were turned away.
RESTART_AFTER_ANSWERS = 150
# Few units: the store loses its data when they are sold out, so all that is sold afterwards was invented.
LOST_SETTING = Setting(buyers=2_000, stock=10, seconds_max=2.5)
PROGRESS_POLL_SECONDS = 0.0005

# The rivals whose clock is ahead come while the buyer is stopped, so that chance does not decide whether they meet it.
SIGNALS = {Fault.PAUSED: signal.SIGSTOP, Fault.KILLED: signal.SIGKILL, Fault.CLOCK_AHEAD: signal.SIGSTOP}


@dataclass(frozen=True, slots=True)
class FaultRun:
    """The damage of one fault to one strategy; after stops at several commands, the worst of each figure.

    `stops` are the commands before which the buyer was stopped; `answers_before` is how many answers the buyers had
    got when the store was killed. `unsold` are units that a buyer asked for and that are left, or that were taken
    without any buyer being told so.
    """

    strategy: str
    fault: Fault
    oversold: int
    unsold: int
    stuck: bool
    errors: int
    stops: Sequence[str] = ()
    answers_before: int | None = None
    unexpected: bool = False


def run_under_fault(kind: type[Strategy], fault: Fault, *, lab_servers: LabServers, pool: BuyerPool) -> FaultRun | None:
    """Run the strategy under the fault. None if the lab cannot restart the servers of this strategy."""
    if fault in SIGNALS:
        return stop_between_commands(kind, fault, servers=lab_servers.of(kind))
    if kind.backend is Backend.STORE:
        return fault_during_sale(kind, fault, lab_servers=lab_servers, pool=pool)
    return None


def is_unexpected(kind: type[Strategy], fault: Fault, *, oversold: int, unsold: int, stuck: bool) -> bool:
    """Whether the strategy oversold, lost units or got stuck although it is expected to survive this fault."""
    if fault in kind.breaks_under:
        return False
    # A store that lost everything has nothing left to sell, so selling nothing is right.
    wrongly_left = (stuck or unsold > 0) and kind.correct and fault is not Fault.STORE_LOST
    return wrongly_left or bool(oversold and (kind.correct or kind.never_oversells))


# --- one buyer is stopped between two of its commands ---


def stop_between_commands(kind: type[Strategy], fault: Fault, *, servers: BackendServers) -> FaultRun:
    """For each command but the first, sales in which one buyer is stopped before that command while rivals buy."""
    load_scripts(kind, servers)
    steps = range(2, STEPS_MAX + 1)

    def sale_of(plan: tuple[int, int]) -> tuple[str, list[Result], bool] | None:
        units, step = plan
        return stop_before_command(kind, fault, step, units=units, servers=servers)

    # At the same time: such a sale is mostly waiting for a lease to end.
    with ThreadPoolExecutor(len(steps)) as executor:
        found = list(executor.map(sale_of, product(UNITS_WANTED, steps)))
    sales = [sale for sale in found if sale is not None]
    oversold = max([0, *(units_sold(results) - STOCK for _stop, results, _stuck in sales)])
    lost = max([0, *(unsold(results, stock=STOCK) for _stop, results, _stuck in sales)])
    stuck = any(stuck for _stop, _results, stuck in sales)
    return FaultRun(
        strategy=kind.id,
        fault=fault,
        oversold=oversold,
        unsold=lost,
        stuck=stuck,
        errors=sum(result.answer == ERROR for _stop, results, _stuck in sales for result in results),
        stops=list(dict.fromkeys(stop for stop, _results, _stuck in sales)),
        unexpected=is_unexpected(kind, fault, oversold=oversold, unsold=lost, stuck=stuck),
    )


def stop_before_command(
    kind: type[Strategy], fault: Fault, step: int, *, units: int, servers: BackendServers
) -> tuple[str, list[Result], bool] | None:
    """One sale: the command before which the buyer stopped, all results, and whether the sale is stuck.

    None if the attempt has fewer commands. Raises BuyersFailed.
    """
    name = f"lab-{kind.id}-{secrets.token_hex(4)}"
    clock_ahead = fault is Fault.CLOCK_AHEAD
    lease_seconds = LONG_LEASE_SECONDS if clock_ahead else LEASE_SECONDS
    seller = lab_strategy(kind, servers, name, lease_seconds)
    seller.set_stock(STOCK)
    # Forked from a server that has imported the modules: starting dozens of processes would take a minute.
    context = get_context("forkserver")
    context.set_forkserver_preload(["bench.lab.buyers.stopping_buyer"])
    ours, theirs = context.Pipe()
    task = StopTask(kind.id, name, servers.store_url, servers.database_url, lease_seconds, units, step, SIGNALS[fault])
    process = context.Process(target=stopping_buyer.run, args=(task, theirs), daemon=True)
    try:
        process.start()
        theirs.close()
        stop = next_message(ours)
        if isinstance(stop, Result):
            return None
        lease_ends = bool(kind.lease_seconds) and not clock_ahead
        time.sleep(LEASE_SECONDS + PAST_LEASE_SECONDS if lease_ends else PAST_LEASE_SECONDS)
        ahead_seconds = HOUR_SECONDS if clock_ahead else 0.0
        results = rivals(kind, servers, name, first=10, lease_seconds=lease_seconds, ahead_seconds=ahead_seconds)
        if SIGNALS[fault] is signal.SIGSTOP:
            os.kill(process.pid or 0, signal.SIGCONT)
            results.append(next_message(ours))
        last_results = rivals(kind, servers, name, first=100, lease_seconds=lease_seconds)
        results += last_results
        left = seller.left()
        none_sold = all(result.answer != SOLD for result in last_results)
        stuck = units_sold(results) < STOCK and (left is None or left > 0) and none_sold
        return stop, results, stuck
    finally:
        process.kill()
        process.join()
        ours.close()
        seller.tear_down()
        disconnect(seller)


def next_message(pipe: Any) -> Any:
    """The next message of the stopped buyer. Raises BuyersFailed if none comes: the sale has no result then."""
    try:
        if pipe.poll(MESSAGE_SECONDS_MAX):
            return pipe.recv()
    except EOFError as error:
        raise BuyersFailed("The process of the buyer who is stopped died.") from error
    raise BuyersFailed(f"The buyer who is stopped said nothing for {MESSAGE_SECONDS_MAX:.0f} s.")


def rivals(
    kind: type[Strategy],
    servers: BackendServers,
    name: str,
    *,
    first: int,
    lease_seconds: float,
    ahead_seconds: float = 0.0,
) -> list[Result]:
    """The results of a few buyers, each with a client of its own, numbered from `first`.

    They come one after the other. If they came at once, chance would decide which of them is told "busy".
    """
    results = []
    for buyer in range(first, first + RIVALS):
        client = lab_strategy(kind, servers, name, lease_seconds, clock=lambda: time.time() + ahead_seconds)
        try:
            results.append(attempt(client, Call(buyer, 1)))
        finally:
            disconnect(client)
    return results


# --- the store restarts during a sale ---


def fault_during_sale(kind: type[Strategy], fault: Fault, *, lab_servers: LabServers, pool: BuyerPool) -> FaultRun:
    """A sale to the whole pool, during which the fault strikes."""
    setting = LOST_SETTING if fault is Fault.STORE_LOST else FAULT_SETTING
    answers_before: int | None = None

    def restart_store(progress: SaleProgress) -> None:
        nonlocal answers_before
        wait_until_due(fault, setting, progress)
        lab_servers.store.kill()
        answers_before = progress.answers
        lab_servers.store.restart(losing_all=fault is Fault.STORE_LOST)

    measures = run_strategy(
        kind, setting, pool=pool, servers=lab_servers.of(kind), lease_seconds=LEASE_SECONDS, fault=restart_store
    )
    # Buyers who were told "busy", or not served in time, may have left them: these units need not be lost.
    lost = 0 if measures.busy or measures.not_sent else measures.unsold
    return FaultRun(
        strategy=kind.id,
        fault=fault,
        oversold=measures.oversold,
        unsold=measures.unsold,
        stuck=measures.stuck,
        errors=measures.errors,
        answers_before=answers_before,
        unexpected=is_unexpected(kind, fault, oversold=measures.oversold, unsold=lost, stuck=measures.stuck),
    )


def wait_until_due(fault: Fault, setting: Setting, progress: SaleProgress) -> None:
    """Wait until the fault should strike. Never after the calls that buyers make before it, nor after the run's end.

    A fixed time would strike before the sale on a slow machine, and after it on a fast one.
    """
    deadline_s = time.monotonic() + setting.seconds_max
    while time.monotonic() < deadline_s and progress.answers < setting.calls_before_fault:
        if fault is Fault.STORE_LOST and progress.units_sold >= setting.stock:
            return
        if fault is Fault.STORE_RESTARTED and progress.answers >= RESTART_AFTER_ANSWERS:
            return
        time.sleep(PROGRESS_POLL_SECONDS)
