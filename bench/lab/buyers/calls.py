"""Who asks for what in a run, and what became of it. Plain data that travels between processes."""

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
    """What became of a call.

    `word` is an Answer, `error` for an exception (its text in `error`), `not_sent` where time was over before. Times
    are the machine's monotonic clock, which all processes share.
    """

    buyer: int
    units: int
    word: str
    started_s: float = 0.0
    ended_s: float = 0.0
    error: str = ""


SOLD, REFUSED, BUSY, ERROR, NOT_SENT = "sold", "refused", "busy", "error", "not_sent"


@dataclass(frozen=True, slots=True)
class Setting:
    """A run: so many buyers, one attempt each, for so many units, from so many processes with so many clients each."""

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


def calls_of(setting: Setting) -> list[Call]:
    """The calls of a run in the order of the buyers; the seed decides who asks for how much, and who comes when."""
    dice = random.Random(setting.seed)
    calls = [Call(buyer, dice.randint(setting.units_min, setting.units_max)) for buyer in range(1, setting.buyers + 1)]
    dice.shuffle(calls)
    return calls


def dealt(calls: Sequence[Call], hands: int) -> list[list[Call]]:
    """The calls dealt out to so many clients, one after the other as cards are."""
    return [list(calls[hand::hands]) for hand in range(hands)]
