"""One script: GET the stock; if there is enough, DECRBY, else refuse. A missing key is first set to 10.

People write it because a script is atomic, and the count is correct. The flaw is that it initialises the stock: when
the key is lost (eviction, FLUSHALL, failover to an empty replica), it sells ten units that do not exist.
"""

from bench.strategies.base.strategy import Answer, CounterStock, Fault
from seckill.store.scripts import Script

SCRIPT = Script(
    "all_in_lua",
    """
local stock = tonumber(redis.call('GET', KEYS[1]))
if not stock then
  stock = 10
  redis.call('SET', KEYS[1], stock)
end
if stock < tonumber(ARGV[1]) then
  return {'refused'}
end
redis.call('DECRBY', KEYS[1], ARGV[1])
return {'sold'}
""",
)


class AllInLua(CounterStock):
    id = "all_in_lua"
    expected = "correct count; silently invents stock when the key is lost"
    correct = True
    breaks_under = frozenset({Fault.STORE_RESTARTED, Fault.STORE_LOST})

    def attempt(self, buyer: int, units: int = 1) -> Answer:
        (word,) = SCRIPT.run(self.store, keys=[self.key], args=[units])
        return Answer(word)
