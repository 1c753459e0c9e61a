"""One script with three answers: -1, 0 for sold out, else the stock before the decrement.

People write it because one number carries the whole answer. It is correct while the key exists. But -1 means both
"never initialised" and "unlimited" (a stock of -1). The caller here reads it as unlimited, as most do, so it sells
without end once the key is lost.
"""

from bench.strategies.base.strategy import Answer, CounterStock, Fault
from seckill.store.scripts import Script

SCRIPT = Script(
    "lua_decr",
    """
local stock = tonumber(redis.call('GET', KEYS[1]))
if not stock then
  return {-1}
end
if stock == -1 then
  return {-1}
end
if stock < tonumber(ARGV[1]) then
  return {0}
end
redis.call('DECRBY', KEYS[1], ARGV[1])
return {stock}
""",
)


class LuaDecr(CounterStock):
    id = "lua_decr"
    expected = "correct; its answer -1 has two meanings: not initialised, and unlimited"
    correct = True
    breaks_under = frozenset({Fault.STORE_RESTARTED, Fault.STORE_LOST})

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        (number,) = SCRIPT.run(self.store, keys=[self.key], args=[units])
        return Answer.REFUSED if number == "0" else Answer.SOLD
