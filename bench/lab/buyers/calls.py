"""The calls of a run and their results: plain data that is sent between processes."""

import random
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt to buy."""

    buyer: int
    units: int


@dataclass(frozen=True, slots=True)
class Result:
    """How a call ended.

    `answer` is an Answer; or `error` for an exception, with its text in `error`; or `not_sent` if the run's time was
    over before. Times are those of the machine's monotonic clock, which all processes share.
    """

    buyer: int
    units: int
    answer: str
    started_s: float = 0.0
    ended_s: float = 0.0
    error: str = ""


SOLD, REFUSED, BUSY, ERROR, NOT_SENT = "sold", "refused", "busy", "error", "not_sent"


@dataclass(frozen=True, slots=True)
class Setting:
    """The size of a run. Each buyer makes one attempt; `clients` are per process."""

    buyers: int
    stock: int
    units_min: int = 1
    units_max: int = 1
    processes: int = 4
    clients: int = 4
    seed: int = 1
    seconds_max: float = 60.0

    @property
    def concurrency(self) -> int:
        return self.processes * self.clients

    @property
    def calls_before_fault(self) -> int:
        """The calls that buyers make before a fault is over: half of them, the same number for each client."""
        return self.buyers // 2 // self.concurrency * self.concurrency


def calls_of(setting: Setting) -> list[Call]:
    """The calls of a run. The seed decides how many units each buyer asks for, and the order of the buyers."""
    rng = random.Random(setting.seed)
    calls = [Call(buyer, rng.randint(setting.units_min, setting.units_max)) for buyer in range(1, setting.buyers + 1)]
    rng.shuffle(calls)
    return calls


def split_among_clients(calls: Sequence[Call], clients: int) -> list[list[Call]]:
    """The calls of each client: the first for the first client, the second for the second, and so on in turn."""
    return [list(calls[client::clients]) for client in range(clients)]
