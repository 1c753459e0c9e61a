"""Every call of a load test, prepared before the first one is sent. No Django in here.

Each buyer sends one call, and some send more, as real buyers do. Some repeat their call with the same pass, and must
get the same reservation; some ask twice, with a new pass for each, and must stay within their limit.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class CallKind(StrEnum):
    """The purpose of a call for its buyer."""

    FIRST = "first"
    REPEAT = "repeat"
    SECOND = "second"


@dataclass(frozen=True, slots=True)
class Call:
    """One request. `reservation_id` is the one in the pass; `index` numbers the calls of a run."""

    index: int
    kind: CallKind
    item_id: int
    buyer_id: int
    units: int
    pass_text: str
    reservation_id: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a call.

    `outcome` is the shop's answer; `no_answer` if every try failed, `not_sent` if time was up before, `http_NNN` if the
    answer is not one of the shop's documents. `tries` counts the requests sent; `answered_s` is the machine's monotonic
    clock at the last answer, `first_try_seconds` how long the first one took. `unavailable_s` are the times of the
    first and the last answer `unavailable`, after which the call was repeated; empty if there was none. The other
    fields are filled for a yes.
    """

    index: int
    outcome: str
    tries: int = 0
    answered_s: float = 0.0
    first_try_seconds: float = 0.0
    unavailable_s: tuple[float, ...] = ()
    reservation_id: str = ""
    units: int = 0
    expires_at: str = ""

    @property
    def is_yes(self) -> bool:
        return bool(self.reservation_id)


NO_ANSWER = "no_answer"
NOT_SENT = "not_sent"
# The shop's own word (seckill/outcomes.py): the call may or may not have taken effect, and is to be repeated.
UNAVAILABLE = "unavailable"


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
    item_ids: Sequence[int],
    habits: Habits,
    seed: int,
    new_pass: Callable[[int, int], tuple[str, str]],
) -> list[list[Call]]:
    """Chains of calls: within a chain each call waits for the answer to the one before; chains run at the same time.

    Half of the repeated and second calls are sent together with the first call (they are the next chain), half after
    its answer. Each buyer wants one of the items, and each item has as many buyers as the others. `new_pass` makes a
    pass for an item and a buyer, and returns its text and its reservation id.
    """
    rng = random.Random(seed)
    chains: list[list[Call]] = []
    index = 0

    def call(kind: CallKind, item_id: int, buyer_id: int, units: int, pass_: tuple[str, str]) -> Call:
        nonlocal index
        index += 1
        pass_text, reservation_id = pass_
        return Call(
            index=index - 1,
            kind=kind,
            item_id=item_id,
            buyer_id=buyer_id,
            units=units,
            pass_text=pass_text,
            reservation_id=reservation_id,
        )

    for buyer_id, item_id in zip(buyer_ids, wanted_items(item_ids, count=len(buyer_ids), seed=seed), strict=True):
        units, pass_ = rng.randint(habits.units_min, habits.units_max), new_pass(item_id, buyer_id)
        chain = [call(CallKind.FIRST, item_id, buyer_id, units, pass_)]
        chains.append(chain)
        more_calls = []
        if rng.random() < habits.repeat_share:
            more_calls.append(call(CallKind.REPEAT, item_id, buyer_id, units, pass_))
        if rng.random() < habits.twice_share:
            units = rng.randint(habits.units_min, habits.units_max)
            more_calls.append(call(CallKind.SECOND, item_id, buyer_id, units, new_pass(item_id, buyer_id)))
        for extra in more_calls:
            if rng.random() < 0.5:
                chain.append(extra)
            else:
                chains.append([extra])
    return chains


def wanted_items(item_ids: Sequence[int], *, count: int, seed: int) -> list[int]:
    """The item of each of `count` buyers: all items equally often, as far as that comes out even, in a random order."""
    wanted = [item_ids[number % len(item_ids)] for number in range(count)]
    # Its own choices, so that those of the buyers are the same however many items there are.
    random.Random(f"{seed} items").shuffle(wanted)
    return wanted
