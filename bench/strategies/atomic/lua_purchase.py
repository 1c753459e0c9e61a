"""One script: refuse a buyer who has bought before, refuse without stock; DECRBY, SADD the buyer, LPUSH the order.

People write it because all that a sale needs happens in one atomic step, and it is correct: one purchase per buyer.
The weak point is the queue of orders. It is a list, so a consumer that crashes after its pop loses the order. See
`order_queue` for that consumer and for one that does not lose it.
"""

from typing import Any

from bench.strategies.base.strategy import Answer, Fault, Strategy, Surroundings
from seckill.store.scripts import Script

SCRIPT = Script(
    "lua_purchase",
    """
local stock, buyers, queue = KEYS[1], KEYS[2], KEYS[3]
local buyer, units = ARGV[1], tonumber(ARGV[2])
if redis.call('SISMEMBER', buyers, buyer) == 1 then
  return {'refused'}
end
if tonumber(redis.call('GET', stock) or 0) < units then
  return {'refused'}
end
redis.call('DECRBY', stock, units)
redis.call('SADD', buyers, buyer)
redis.call('LPUSH', queue, buyer .. ':' .. units)
return {'sold'}
""",
)


class LuaPurchase(Strategy):
    """The keys of one run have the same hash tag, so that they are in one slot of a cluster."""

    id = "lua_purchase"
    expected = "correct, one purchase per buyer; a consumer that crashes after its pop loses the order"
    correct = True
    breaks_under = frozenset({Fault.STORE_RESTARTED})

    def __init__(self, surroundings: Surroundings, name: str) -> None:
        super().__init__(surroundings, name)
        self.stock, self.buyers, self.queue = (f"{{{name}}}:{part}" for part in ("stock", "buyers", "orders"))

    def set_stock(self, units: int) -> None:
        self.store.set(self.stock, units)

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        (word,) = SCRIPT.run(self.store, keys=[self.stock, self.buyers, self.queue], args=[buyer, units])
        return Answer(word)

    def left(self) -> int | None:
        value: Any = self.store.get(self.stock)
        return None if value is None else int(value)

    def tear_down(self) -> None:
        self.store.delete(self.stock, self.buyers, self.queue)
