"""One process of buyers: threads that reserve through the ledger, as the shop does, as fast as they are answered.

Started fresh (spawn), with the address of the store in its environment: settings are read from there.
"""

import random
import signal
import threading
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from uuid import uuid4

from seckill import ledger
from seckill.outcomes import Outcome

ITEM_ID = 1
# The store has gone, or is slower than the shop waits. Not at once again: there is nobody to answer.
REST_SECONDS = 0.02
# A buyer id of each call, and no limit on how much one buys: refusals are not what is priced here.
BUYERS = 1_000_000
# Whatever happens to the process that counts, this one does not run on for ever.
SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Told:
    """A yes that a buyer heard: when, and how long after the question."""

    reservation_id: str
    at_s: float
    took_s: float


@dataclass(slots=True)
class Heard:
    """What a buyer heard in one round; `unanswered` are the times of calls that may have been reserved or not."""

    told: list[Told] = field(default_factory=list)
    unanswered: list[float] = field(default_factory=list)
    surprises: list[str] = field(default_factory=list)


def run(pipe: Connection, threads: int) -> None:
    """Body of the process: "ready" back, then "go", later "stop", and back what was heard; until the parent is gone."""
    # Ctrl-C reaches the whole group of processes; the parent is the one that acts on it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Reads the settings, which takes most of a second, and connects to nobody yet.
    with ledger.store():
        pipe.send("ready")
    while hear(pipe):
        stop = threading.Event()
        heard = [Heard() for _ in range(threads)]
        team = [threading.Thread(target=reserve_on_and_on, args=(one, stop), daemon=True) for one in heard]
        for thread in team:
            thread.start()
        pipe.poll(SECONDS_MAX)
        stop.set()
        for thread in team:
            thread.join()
        if hear(pipe):
            pipe.send(heard)


def hear(pipe: Connection) -> str | None:
    """The next word of the parent; None where it is gone."""
    try:
        word: str | None = pipe.recv()
    except EOFError:
        return None
    return word


def reserve_on_and_on(heard: Heard, stop: threading.Event) -> None:
    """Body of a thread."""
    while not stop.is_set() and not heard.surprises:
        reserve_once(heard, stop)


def reserve_once(heard: Heard, stop: threading.Event) -> None:
    """One call of the ledger; where the store does not answer, with a rest after it."""
    reservation_id = uuid4()
    buyer_id = random.randrange(BUYERS)
    started_s = time.monotonic()
    try:
        answer = ledger.reserve(item_id=ITEM_ID, reservation_id=reservation_id, buyer_id=buyer_id, units=1)
    except ledger.StoreUnreachable:
        heard.unanswered.append(time.monotonic())
        stop.wait(REST_SECONDS)
        return
    now_s = time.monotonic()
    if answer.outcome == Outcome.RESERVED:
        heard.told.append(Told(str(reservation_id), now_s, now_s - started_s))
    else:
        heard.surprises.append(answer.outcome)
