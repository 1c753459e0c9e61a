"""Who asks for what: every call of a load test, prepared before the first one is sent. No Django in here.

Each buyer sends one call, and some send more, as real buyers do. Some repeat their call with the same pass, and must
get the same reservation; some ask twice, with a new pass for each, and must stay within their limit.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class CallKind(StrEnum):
    """What a call is to its buyer."""

    FIRST = "first"
    REPEAT = "repeat"
    SECOND = "second"


@dataclass(frozen=True, slots=True)
class Call:
    """One request. `reservation_id` is the one in the pass; `index` numbers the calls of a run."""

    index: int
    kind: CallKind
    buyer_id: int
    units: int
    pass_text: str
    reservation_id: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a call.

    `outcome` is the shop's answer; `no_answer` if every try failed, `not_sent` if time was up before, `http_NNN` if the
    answer is not one of the shop's documents. `tries` counts the requests sent; `answered_s` is the machine's monotonic
    clock at the last answer, `first_try_seconds` how long the first one took. The other fields are filled for a yes.
    """

    index: int
    outcome: str
    tries: int = 0
    answered_s: float = 0.0
    first_try_seconds: float = 0.0
    reservation_id: str = ""
    units: int = 0
    expires_at: str = ""

    @property
    def is_yes(self) -> bool:
        return bool(self.reservation_id)


NO_ANSWER = "no_answer"
NOT_SENT = "not_sent"


@dataclass(frozen=True, slots=True)
class Habits:
    """How the buyers behave: units each asks for, and the shares (0 to 1) that repeat their call or ask twice."""

    units_min: int = 1
    units_max: int = 1
    repeat_share: float = 0.1
    twice_share: float = 0.1


def calls_of(
    *,
    buyer_ids: Sequence[int],
    habits: Habits,
    seed: int,
    new_pass: Callable[[int], tuple[str, str]],
) -> list[list[Call]]:
    """Chains of calls: within a chain each call waits for the answer to the one before; chains run at the same time.

    Half of the repeated and second calls are sent together with the first call (they are the next chain), half after
    its answer. `new_pass` makes a pass for a buyer and returns its text and its reservation id.
    """
    rng = random.Random(seed)
    chains: list[list[Call]] = []
    index = 0

    def call(kind: CallKind, buyer_id: int, units: int, pass_: tuple[str, str]) -> Call:
        nonlocal index
        index += 1
        pass_text, reservation_id = pass_
        return Call(
            index=index - 1,
            kind=kind,
            buyer_id=buyer_id,
            units=units,
            pass_text=pass_text,
            reservation_id=reservation_id,
        )

    for buyer_id in buyer_ids:
        units, pass_ = rng.randint(habits.units_min, habits.units_max), new_pass(buyer_id)
        chain = [call(CallKind.FIRST, buyer_id, units, pass_)]
        chains.append(chain)
        more_calls = []
        if rng.random() < habits.repeat_share:
            more_calls.append(call(CallKind.REPEAT, buyer_id, units, pass_))
        if rng.random() < habits.twice_share:
            units = rng.randint(habits.units_min, habits.units_max)
            more_calls.append(call(CallKind.SECOND, buyer_id, units, new_pass(buyer_id)))
        for extra in more_calls:
            if rng.random() < 0.5:
                chain.append(extra)
            else:
                chains.append([extra])
    return chains
