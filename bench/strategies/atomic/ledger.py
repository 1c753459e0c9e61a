"""The shop's own reserve.lua, on an item published by publish.lua.

Besides the stock it checks the times of the sale, the pause and the buyer's limit, holds the units until a deadline,
writes the outbox entry that becomes the order, and answers a retried call with its first answer. If the store has lost
the item, the answer is `unavailable`, not "sold out" and not "unlimited".
"""

import time
from dataclasses import astuple
from uuid import uuid4
from zlib import crc32

from redis.exceptions import ConnectionError as StoreAway
from redis.exceptions import TimeoutError as StoreSilent

from bench.strategies.base.strategy import Answer, Strategy, Surroundings
from seckill.outcomes import Outcome
from seckill.store.keys import keys_of
from seckill.store.scripts import PUBLISH, RESERVE, Argument

WINDOW_MS = 3_600_000
HOLD_MS = 900_000
# More than `--units` allows, so that the limit is checked and never reached.
PER_BUYER_MAX = 1_000_000
TRIES_MAX = 6
# More entries than any run makes.
NO_LIMIT = 10**9
RETRY_SECONDS = 0.2


class Unavailable(Exception):
    """The store has lost the item, or a part of it. This is a fault and not a refusal."""


class Ledger(Strategy):
    id = "ledger"
    expected = "correct, with sale times, limits, holds, an outbox and calls that may be retried"
    correct = True

    def __init__(self, surroundings: Surroundings, name: str) -> None:
        super().__init__(surroundings, name)
        self.keys = keys_of(crc32(name.encode()))

    def set_stock(self, units: int) -> None:
        now_ms = int(time.time() * 1000)
        window: list[Argument] = [now_ms - WINDOW_MS, now_ms + WINDOW_MS]
        terms: list[Argument] = [units, *window, HOLD_MS, PER_BUYER_MAX, 1900, "CNY", "open", "1"]
        PUBLISH.run(self.store, keys=[self.keys.item, self.keys.outbox], args=terms)

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        reservation_id = str(uuid4())
        word = self.reserve(reservation_id, buyer, units)
        if word == Outcome.UNAVAILABLE and self.accept_restarted_store():
            word = self.reserve(reservation_id, buyer, units)
        if word == Outcome.UNAVAILABLE:
            raise Unavailable("the store has lost the item")
        return Answer.SOLD if word in {Outcome.RESERVED, Outcome.ALREADY_RESERVED} else Answer.REFUSED

    def reserve(self, reservation_id: str, buyer: int, units: int) -> str:
        """The ledger's answer. A call without an answer is retried with the same id, as the shop's clients do."""
        for tries_left in reversed(range(TRIES_MAX)):
            try:
                keys = [self.keys.item, self.keys.buyers, self.keys.holds, self.keys.outbox, self.keys.latest]
                # The lab does not drain the outbox.
                return RESERVE.run(self.store, keys=keys, args=[reservation_id, buyer, units, NO_LIMIT])[0]
            except (StoreAway, StoreSilent):
                if not tries_left:
                    raise
                self.surroundings.sleep(RETRY_SECONDS)
        raise AssertionError("unreachable")

    def accept_restarted_store(self) -> bool:
        """Repair as the shop's sweep does after a restart of the store, once it has compared the holds with the orders.

        A run of the lab has no orders to compare with, so it continues to sell an item that is still there. False if
        the item is lost.
        """
        if not self.store.exists(self.keys.item):
            return False
        self.store.hset(self.keys.item, "incarnation", self.store.info("replication")["master_replid"])
        return True

    def left(self) -> int | None:
        value = self.store.hget(self.keys.item, "left")
        return None if value is None else int(value)

    def tear_down(self) -> None:
        self.store.delete(*astuple(self.keys))
