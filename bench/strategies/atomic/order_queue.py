"""Two consumers for the queue of `lua_purchase`: one loses orders when it crashes, the other retries them.

The plain consumer pops an order and then works on it; between the two, the order is in its memory only. The retrying
one moves the order to a delayed queue in the same atomic step as the pop, and removes it when the work is done. If the
order is still there after `retry_seconds`, a consumer works on it again.
"""

from collections.abc import Callable
from typing import Any

from bench.strategies.atomic.lua_purchase import LuaPurchase
from seckill.store.scripts import Script

# Processes an order. May raise, and may never return.
Work = Callable[[str], object]

POP_DELAYED = Script(
    "pop_delayed",
    """
local order = redis.call('RPOP', KEYS[1])
if not order then
  return {}
end
redis.call('ZADD', KEYS[2], ARGV[1], order)
return {order}
""",
)


def consume_once(sale: LuaPurchase, work: Work) -> bool:
    """The plain consumer: process one order of the queue. False if there was none."""
    order: Any = sale.store.rpop(sale.queue)
    if order is None:
        return False
    work(order.decode())
    return True


class RetryingConsumer:
    """The consumer with a delayed queue."""

    def __init__(self, sale: LuaPurchase, *, retry_seconds: float) -> None:
        self.sale = sale
        self.retry_seconds = retry_seconds
        self.delayed = f"{sale.queue}:delayed"

    def consume_once(self, work: Work) -> bool:
        """Process one order: one that is due for a retry, or else the next of the queue. False if there was none."""
        now_s = self.sale.surroundings.clock()
        due: Any = self.sale.store.zrangebyscore(self.delayed, "-inf", now_s, start=0, num=1)
        if due:
            # Postponed before the work starts, otherwise every consumer would find it at once.
            self.sale.store.zadd(self.delayed, {due[0]: now_s + self.retry_seconds}, xx=True)
            self._work_on(due[0].decode(), work)
            return True
        popped = POP_DELAYED.run(
            self.sale.store, keys=[self.sale.queue, self.delayed], args=[str(now_s + self.retry_seconds)]
        )
        if not popped:
            return False
        self._work_on(popped[0], work)
        return True

    def _work_on(self, order: str, work: Work) -> None:
        work(order)
        self.sale.store.zrem(self.delayed, order)
