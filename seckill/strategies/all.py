"""The strategies, in the order of the tables."""

from seckill.strategies.all_in_lua import AllInLua
from seckill.strategies.check_then_decr import CheckThenDecr
from seckill.strategies.decr_then_rollback import DecrThenRollback
from seckill.strategies.decrby_refund import DecrbyRefund
from seckill.strategies.get_set import GetSet
from seckill.strategies.ledger import Ledger
from seckill.strategies.lua_decr import LuaDecr
from seckill.strategies.lua_purchase import LuaPurchase
from seckill.strategies.overflow_check import OverflowCheck
from seckill.strategies.strategy import Strategy
from seckill.strategies.watch_multi import WatchMulti

ALL: tuple[type[Strategy], ...] = (
    # A. Counters without a guard around check and act
    GetSet,
    CheckThenDecr,
    DecrThenRollback,
    OverflowCheck,
    DecrbyRefund,
    # B. Locks around check and act
    # C. One atomic step
    WatchMulti,
    AllInLua,
    LuaDecr,
    LuaPurchase,
    Ledger,
    # D. In the database, for comparison
)

BY_ID = {strategy.id: strategy for strategy in ALL}
