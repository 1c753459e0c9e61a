"""Processes of buyers that are started once and reserve in every round.

Their threads reserve through the ledger, as the shop does, as fast as they can. They are started fresh (spawn), with
the address of the store in their environment, where the settings read it.
"""

import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from uuid import uuid4

from django.conf import settings

from bench.spawned_processes import BuyersFailed, SpawnedProcesses, receive
from seckill import ledger
from seckill.outcomes import Outcome
from seckill.store.client import StoreUnreachable, reservation_servers

ANSWER_SECONDS_MAX = 30.0
ITEM_ID = 1
# The pause after a call that got no answer, since the next one would get none either.
PAUSE_SECONDS = 0.02
# Each call has a random buyer id, so that hardly any buyer has many reservations.
BUYERS = 1_000_000
# If the parent fails, this process does not run for ever.
SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A reservation that a buyer was told about: when, and how long the call took."""

    reservation_id: str
    at_s: float
    took_s: float


@dataclass(slots=True)
class Answers:
    """The answers to a thread in one round. `unanswered` are the times of calls that got no answer."""

    confirmed: list[Confirmation] = field(default_factory=list)
    unanswered: list[float] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)


def run(pipe: Connection, threads: int) -> None:
    """Body of the process: send "ready"; then, for each number of replicas, reserve until "stop", and send the answers.

    A yes waits for so many replicas. Ends when the parent is gone.
    """
    # Ctrl-C reaches the whole group of processes; only the parent acts on it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Reads the settings, which takes most of a second, and does not connect yet.
    reservation_servers()
    pipe.send("ready")
    while (yes_replicas := receive(pipe)) is not None:
        settings.SECKILL_YES_REPLICAS = yes_replicas
        stop = threading.Event()
        answers = [Answers() for _ in range(threads)]
        pool = [threading.Thread(target=reserve_until_stopped, args=(one, stop), daemon=True) for one in answers]
        for thread in pool:
            thread.start()
        pipe.poll(SECONDS_MAX)
        stop.set()
        for thread in pool:
            thread.join()
        if receive(pipe) is not None:
            pipe.send(answers)


def reserve_until_stopped(answers: Answers, stop: threading.Event) -> None:
    while not stop.is_set() and not answers.unexpected:
        reserve_once(answers, stop)


def reserve_once(answers: Answers, stop: threading.Event) -> None:
    """One call of the ledger, and a pause if the store does not answer."""
    reservation_id = uuid4()
    buyer_id = random.randrange(BUYERS)
    started_s = time.monotonic()
    try:
        answer = ledger.reserve(item_id=ITEM_ID, reservation_id=reservation_id, buyer_id=buyer_id, units=1)
    except StoreUnreachable:
        answers.unanswered.append(time.monotonic())
        stop.wait(PAUSE_SECONDS)
        return
    now_s = time.monotonic()
    if answer.outcome == Outcome.RESERVED:
        answers.confirmed.append(Confirmation(str(reservation_id), now_s, now_s - started_s))
    else:
        answers.unexpected.append(answer.outcome)


class ReservingPool:
    """The processes. In each round: `go`, and later `stop`."""

    def __init__(self, processes: SpawnedProcesses) -> None:
        self._processes = processes

    def go(self, *, yes_replicas: int = 0) -> None:
        """Start reserving; a yes waits for so many replicas."""
        self._processes.tell(yes_replicas)

    def stop(self) -> Answers:
        """Stop reserving, and collect all answers. Raises BuyersFailed."""
        self._processes.tell("stop")
        total = Answers()
        for of_threads in self._processes.answers(seconds_max=ANSWER_SECONDS_MAX):
            for answers in of_threads:
                total.confirmed += answers.confirmed
                total.unanswered += answers.unanswered
                total.unexpected += answers.unexpected
        if total.unexpected:
            raise BuyersFailed(f"A buyer was told {total.unexpected[0]}, though the store sells without limit.")
        return total


@contextmanager
def running_pool(*, processes: int, threads: int) -> Iterator[ReservingPool]:
    spawned = SpawnedProcesses(run, [(threads,)] * processes)
    try:
        for _ready in spawned.answers(seconds_max=ANSWER_SECONDS_MAX):
            pass
        yield ReservingPool(spawned)
    finally:
        spawned.stop()
