"""Who will ask what: every call of a stampede, made before the first one is sent. No Django in here.

Besides one call a buyer there are the habits of a real crowd. Some repeat their call, with the same pass, and must get
the same reservation; some ask twice, with a pass of their own for each, and must stay within their limit.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a call is to its buyer."""

    FIRST = "first"
    REPEAT = "repeat"
    SECOND = "second"


@dataclass(frozen=True, slots=True)
class Call:
    """One request: `text` is the pass, `reservation_id` what the pass is good for. `index` numbers a herd's calls."""

    index: int
    kind: Kind
    buyer_id: int
    units: int
    text: str
    reservation_id: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a call.

    `word` is the outcome; `no_answer` where every try failed, `not_sent` where time was over before, `http_NNN` where
    the answer is no document of the shop. `tries` counts the requests sent; `answered_s` is the machine's monotonic
    clock at the last answer, `first_try_seconds` how long the first one took. The rest comes with a yes.
    """

    index: int
    word: str
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
    """How the crowd behaves: units each asks for, and the shares (0 to 1) that repeat their call or ask twice."""

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
    """Chains of calls: those of one chain are sent one after the other's answer, chains beside each other.

    Of the repeated and second calls, half are sent together with the first call (they are the next chain), half after
    its answer. `new_pass` makes a pass for a buyer: its text and its reservation id.
    """
    dice = random.Random(seed)
    chains: list[list[Call]] = []
    index = 0

    def call(kind: Kind, buyer_id: int, units: int, pass_: tuple[str, str]) -> Call:
        nonlocal index
        index += 1
        return Call(index=index - 1, kind=kind, buyer_id=buyer_id, units=units, text=pass_[0], reservation_id=pass_[1])

    for buyer_id in buyer_ids:
        units, pass_ = dice.randint(habits.units_min, habits.units_max), new_pass(buyer_id)
        chain = [call(Kind.FIRST, buyer_id, units, pass_)]
        chains.append(chain)
        more = []
        if dice.random() < habits.repeat_share:
            more.append(call(Kind.REPEAT, buyer_id, units, pass_))
        if dice.random() < habits.twice_share:
            units = dice.randint(habits.units_min, habits.units_max)
            more.append(call(Kind.SECOND, buyer_id, units, new_pass(buyer_id)))
        for again in more:
            if dice.random() < 0.5:
                chain.append(again)
            else:
                chains.append([again])
    return chains
