"""One buyer's journey: reserve, perhaps once more, look, and then pay, cancel, or let it be."""

import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bench.faults.http_client import Answer, Caller
from bench.faults.payer import cancel, pay

# Between two tries of the same call.
REST_SECONDS = 0.25
# Answers after which waiting may help.
COME_AGAIN = {"paused", "not_open", "held_by_others", "too_few_left", "pass_expired"}


class Fate(StrEnum):
    """What the buyer will do with what he has."""

    PAY = "pay"
    CANCEL = "cancel"
    LET_BE = "let_be"


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How one buyer behaves. Seconds count from the start of the crowd, or, for `ponders`, from the yes.

    `patience_seconds` is for how long he repeats a call whose answer is unknown, or waits for units to come back.
    """

    units: int
    comes_after_seconds: float
    ponders_seconds: float
    fate: Fate
    repeats: bool
    looks: bool
    patience_seconds: float
    delivery: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """How many buyers come within how many seconds, for how many units each, and how patient they are.

    `deliveries` are the ways in which the payment company tells the shop.
    """

    buyers: int = 60
    arrival_seconds: float = 6.0
    units_max: int = 2
    patience_seconds: float = 6.0
    deliveries: Sequence[str] = ("once",)


def habits_from(demand: Demand, dice: random.Random) -> Habits:
    """Draw a buyer's habits: half of them pay, some cancel, the rest let it expire."""
    return Habits(
        units=dice.randint(1, demand.units_max),
        comes_after_seconds=dice.uniform(0, demand.arrival_seconds),
        ponders_seconds=dice.uniform(0, 1.5),
        fate=dice.choices(list(Fate), weights=[5, 2, 3])[0],
        repeats=dice.random() < 0.3,
        looks=dice.random() < 0.5,
        patience_seconds=demand.patience_seconds,
        delivery=dice.choice(demand.deliveries),
    )


def journey(caller: Caller, habits: Habits, *, item_id: int, started_s: float, over: threading.Event) -> None:
    """From first to last. Ends early when the trial is `over`."""
    if over.wait(max(0.0, started_s + habits.comes_after_seconds - time.monotonic())):
        return
    yes = ask_until_known(caller, habits, item_id=item_id, over=over)
    if yes is None:
        return
    if habits.repeats:
        caller.reserve(item_id=item_id, units=habits.units, turn=1)
    if habits.looks:
        caller.look()
    if over.wait(habits.ponders_seconds):
        return
    if habits.fate is Fate.PAY:
        pay(
            caller,
            patience_seconds=habits.patience_seconds,
            over=over,
            delivery=habits.delivery,
        )
    elif habits.fate is Fate.CANCEL:
        cancel(caller, patience_seconds=habits.patience_seconds, over=over)


def ask_until_known(caller: Caller, habits: Habits, *, item_id: int, over: threading.Event) -> Answer | None:
    """The yes, or None: refused for good, or out of patience. The same pass each time, so no try can count twice."""
    give_up_s = time.monotonic() + habits.patience_seconds
    turn = 0
    while True:
        answer = caller.reserve(item_id=item_id, units=habits.units, turn=turn)
        if answer.status == 201:
            return answer
        if not answer.is_unknown and answer.word not in COME_AGAIN:
            return None
        if time.monotonic() > give_up_s or over.wait(REST_SECONDS):
            return None
        turn += 1
