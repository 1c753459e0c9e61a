"""What a fault did to a sale: the world goes wrong while a strategy sells, and we count what the buyers were told."""

import os
import secrets
import signal
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from bench.lab.buyers import stopping_buyer
from bench.lab.buyers.buyer_pool import Crowd
from bench.lab.buyers.buyer_process import attempt, leave
from bench.lab.buyers.calls import ERROR, SOLD, Call, Result, Setting
from bench.lab.buyers.stopping_buyer import Fate
from bench.lab.measures import units_sold, unsold
from bench.lab.servers.lab_servers import Site, Sites
from bench.lab.strategy_run import run_once, strategy_of, teach
from bench.strategies.base.strategy import Fault, Home, Strategy

# Two units, so that one of a stopped buyer and one of a rival can both be right.
STOCK = 2
RIVALS = 3
# Short, so that a run need not wait for 30 s; long against the milliseconds that an attempt takes.
LEASE_SECONDS = 0.3
# Beyond the lease: the store's clock, the message of the victim, and the timer of a busy machine.
PAST_LEASE_SECONDS = 0.15
# More commands than any attempt has when nobody is in its way.
STEPS_MAX = 8
VICTIM_SECONDS_MAX = 20.0
# Before the store is killed, the sale should be in full swing.
SWING_SECONDS = 0.03
HOUR_SECONDS = 3_600.0
# A crowd with a fault in its midst: many more calls than one outage can swallow.
CROWD = Setting(buyers=600, stock=300, seconds_max=6.0)
# Sold out when the store loses everything, so that whatever is sold afterwards was invented.
LOST_CROWD = Setting(buyers=2_000, stock=10, seconds_max=2.5)
LOST_AFTER_SECONDS = 0.06

SIGNALS = {Fault.PAUSED: signal.SIGSTOP, Fault.KILLED: signal.SIGKILL}


@dataclass(frozen=True, slots=True)
class Damage:
    """What one fault did to one strategy; of several places to stop, the worst of each figure.

    `stops` are the commands before which the victim was stopped; `unsold` are units that are left, or taken and told to
    nobody, though somebody asked for them.
    """

    strategy: str
    fault: Fault
    oversold: int
    unsold: int
    stuck: bool
    errors: int
    stops: Sequence[str] = ()
    misbehaved: bool = False


def suffer(kind: type[Strategy], fault: Fault, *, sites: Sites, crowd: Crowd) -> Damage | None:
    """Let the fault happen to the strategy. None where it means nothing there."""
    if fault in SIGNALS:
        damage = stopped_in_the_middle(kind, fault, site=sites.of(kind))
    elif fault is Fault.CLOCK_AHEAD or kind.home is Home.STORE:
        damage = in_a_crowd(kind, fault, sites=sites, crowd=crowd)
    else:
        return None
    return damage


def misbehaved(kind: type[Strategy], fault: Fault, *, oversold: int, stuck: bool) -> bool:
    """Whether the strategy broke what it is expected to keep under this fault."""
    if fault in kind.breaks_under:
        return False
    # A store that lost everything has nothing to sell; it must only not sell it.
    sticks = stuck and kind.correct and fault is not Fault.STORE_LOST
    return sticks or bool(oversold and (kind.correct or kind.never_oversells))


# --- one buyer stopped between two of its commands ---


def stopped_in_the_middle(kind: type[Strategy], fault: Fault, *, site: Site) -> Damage:
    """A trial for each command of the attempt but the first: the victim is stopped before it while rivals buy."""
    teach(kind, site)
    steps = range(2, STEPS_MAX + 1)
    # Side by side: a trial is mostly waiting for a lease to end.
    with ThreadPoolExecutor(len(steps)) as pool:
        found = list(pool.map(lambda step: stopped_at(kind, fault, step, site=site), steps))
    trials = [trial for trial in found if trial is not None]
    oversold = max((units_sold(results) - STOCK for _stop, results, _stuck in trials), default=0)
    stuck = any(stuck for _stop, _results, stuck in trials)
    return Damage(
        strategy=kind.id,
        fault=fault,
        oversold=max(0, oversold),
        unsold=max((max(0, unsold(results, stock=STOCK)) for _stop, results, _stuck in trials), default=0),
        stuck=stuck,
        errors=sum(result.word == ERROR for _stop, results, _stuck in trials for result in results),
        stops=[stop for stop, _results, _stuck in trials],
        misbehaved=misbehaved(kind, fault, oversold=max(0, oversold), stuck=stuck),
    )


def stopped_at(kind: type[Strategy], fault: Fault, step: int, *, site: Site) -> tuple[str, list[Result], bool] | None:
    """One trial: where the victim stopped, all results, and whether the sale is stuck. None past the last command."""
    name = f"lab-{kind.id}-{secrets.token_hex(4)}"
    judge = strategy_of(kind, site, name, LEASE_SECONDS)
    judge.set_stock(STOCK)
    # Forked from a server that has read the modules already: dozens of victims would take a minute to start.
    context = get_context("forkserver")
    context.set_forkserver_preload(["bench.lab.buyers.stopping_buyer"])
    ours, theirs = context.Pipe()
    fate = Fate(kind.id, name, site.store_url, site.database_url, LEASE_SECONDS, step, SIGNALS[fault])
    process = context.Process(target=stopping_buyer.run, args=(fate, theirs), daemon=True)
    try:
        process.start()
        theirs.close()
        stop = heard(ours)
        if not isinstance(stop, str):
            return None
        time.sleep(LEASE_SECONDS + PAST_LEASE_SECONDS if kind.lease_seconds else PAST_LEASE_SECONDS)
        results = rivals(kind, site, name, first=10)
        if fault is Fault.PAUSED:
            os.kill(process.pid or 0, signal.SIGCONT)
            end = heard(ours)
            results += [end] if isinstance(end, Result) else []
        late = rivals(kind, site, name, first=100)
        results += late
        left = judge.left()
        stuck = units_sold(results) < STOCK and (left is None or left > 0) and all(r.word != SOLD for r in late)
        return stop, results, stuck
    finally:
        process.kill()
        process.join()
        ours.close()
        judge.tear_down()
        leave(judge)


def heard(pipe: Any) -> Any:
    """The next message of the victim; None where none comes."""
    try:
        return pipe.recv() if pipe.poll(VICTIM_SECONDS_MAX) else None
    except EOFError:
        return None


def rivals(kind: type[Strategy], site: Site, name: str, *, first: int) -> list[Result]:
    """A few buyers at once, each a client of its own, numbered from `first`."""
    clients = [strategy_of(kind, site, name, LEASE_SECONDS) for _ in range(RIVALS)]
    try:
        with ThreadPoolExecutor(RIVALS) as pool:
            calls = (Call(buyer, 1) for buyer in range(first, first + RIVALS))
            return list(pool.map(attempt, clients, calls))
    finally:
        for client in clients:
            leave(client)


# --- a crowd whose store goes away, or one of whose clocks is wrong ---


def in_a_crowd(kind: type[Strategy], fault: Fault, *, sites: Sites, crowd: Crowd) -> Damage:
    """The crowd buys, and meanwhile it happens."""

    def meanwhile() -> None:
        if fault is not Fault.CLOCK_AHEAD:
            time.sleep(LOST_AFTER_SECONDS if fault is Fault.STORE_LOST else SWING_SECONDS)
            sites.store.restart(losing_all=fault is Fault.STORE_LOST)

    clocks = [HOUR_SECONDS if fault is Fault.CLOCK_AHEAD and not number else 0.0 for number in range(CROWD.processes)]
    measures, _results = run_once(
        kind,
        LOST_CROWD if fault is Fault.STORE_LOST else CROWD,
        crowd=crowd,
        site=sites.of(kind),
        clocks_ahead=clocks,
        lease_seconds=LEASE_SECONDS,
        meanwhile=meanwhile,
    )
    return Damage(
        strategy=kind.id,
        fault=fault,
        oversold=measures.oversold,
        unsold=measures.unsold,
        stuck=measures.stuck,
        errors=measures.errors,
        misbehaved=misbehaved(kind, fault, oversold=measures.oversold, stuck=measures.stuck),
    )
