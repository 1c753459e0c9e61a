"""The calls of a client process that are still to be sent: new ones, and those that are to be repeated.

A buyer who waits holds no connection, so calls for items on other servers of the store go on meanwhile. No Django in
here.
"""

import asyncio
import heapq
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.stampede.plan import Call


@dataclass(frozen=True, slots=True, order=True)
class Turn:
    """A call that is to be sent at `due_s` (monotonic clock), and what follows it in its chain.

    `tries` counts the requests that were sent for it, `unasked_tries` those that it was not asked to send;
    `unavailable_s` and `first_try_seconds` are those of its answer (bench/stampede/plan.py).
    """

    due_s: float
    index: int
    chain: Sequence[Call] = field(compare=False)
    tries: int = field(default=0, compare=False)
    unasked_tries: int = field(default=0, compare=False)
    first_try_seconds: float = field(default=0.0, compare=False)
    unavailable_s: tuple[float, ...] = field(default=(), compare=False)

    @property
    def call(self) -> Call:
        return self.chain[0]


class WaitingCalls:
    """Shared by all connections of a process."""

    def __init__(self, chains: Sequence[Sequence[Call]]) -> None:
        self._new = deque(_turn(chain) for chain in chains if chain)
        self._again: list[Turn] = []
        # So that many who repeat their calls do not keep all others from their first one.
        self._new_is_next = True

    async def take(self) -> Turn | None:
        """The next call to send, as soon as there is one; None if all have been sent and none is to be repeated.

        A connection that gets None can end: the one that is sending a call comes back for those that follow.
        """
        while self._new or self._again:
            due = bool(self._again) and self._again[0].due_s <= time.monotonic()
            if self._new and (self._new_is_next or not due):
                self._new_is_next = False
                return self._new.popleft()
            self._new_is_next = True
            if due:
                return heapq.heappop(self._again)
            await asyncio.sleep(max(0.0, self._again[0].due_s - time.monotonic()))
        return None

    def put_back(self, turn: Turn) -> None:
        """The call is to be repeated at its new time."""
        heapq.heappush(self._again, turn)

    def answered(self, turn: Turn) -> None:
        """The next call of the chain may be sent, and is before others: its buyer has only waited for this answer."""
        if turn.chain[1:]:
            self._new.appendleft(_turn(turn.chain[1:]))


def _turn(chain: Sequence[Call]) -> Turn:
    return Turn(due_s=0.0, index=chain[0].index, chain=chain)
