"""The shop's own reserve.lua, with the terms that publish.lua writes.

Beside the count it checks the window, the pause and the buyer's limit, holds the units until a deadline, writes the
outbox entry that becomes the order, and answers a repeated call with its first answer. A store that lost the item says
`unavailable`, which is neither sold out nor unlimited.
"""

import time
from uuid import uuid4
from zlib import crc32

from seckill.keys import keys_of
from seckill.outcomes import Outcome
from seckill.scripts import PUBLISH, RESERVE
from seckill.strategies.strategy import Answer, Strategy, Surroundings

WINDOW_MS = 3_600_000
HOLD_MS = 900_000
# Above what a buyer of a run asks for: the limit is checked, and no run is about it.
PER_BUYER_MAX = 1_000


class Unavailable(Exception):
    """The store does not know the item, or lost a part of it: a fault, and no refusal."""


class Ledger(Strategy):
    id = "ledger"
    expected = "correct, with windows, limits, holds, an outbox and repeatable calls"
    correct = True

    def __init__(self, surroundings: Surroundings, name: str) -> None:
        super().__init__(surroundings, name)
        self.keys = keys_of(crc32(name.encode()))

    def set_stock(self, units: int) -> None:
        now_ms = int(time.time() * 1000)
        terms = [units, now_ms - WINDOW_MS, now_ms + WINDOW_MS, HOLD_MS, PER_BUYER_MAX, 1900, "CNY"]
        PUBLISH.run(self.store, keys=[self.keys.item, self.keys.outbox], args=terms)

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        word = RESERVE.run(
            self.store,
            keys=[self.keys.item, self.keys.buyers, self.keys.holds, self.keys.outbox],
            args=[str(uuid4()), buyer, units],
        )[0]
        if word == Outcome.UNAVAILABLE:
            raise Unavailable("the store does not know the item any more")
        return Answer.SOLD if word == Outcome.RESERVED else Answer.REFUSED

    def left(self) -> int | None:
        value = self.store.hget(self.keys.item, "left")
        return None if value is None else int(value)

    def tear_down(self) -> None:
        self.store.delete(self.keys.item, self.keys.buyers, self.keys.holds, self.keys.outbox, self.keys.dead)
