"""The strategies, in the order of the tables."""

from seckill.strategies.all_in_lua import AllInLua
from seckill.strategies.check_then_decr import CheckThenDecr
from seckill.strategies.decr_then_rollback import DecrThenRollback
from seckill.strategies.decrby_refund import DecrbyRefund
from seckill.strategies.get_set import GetSet
from seckill.strategies.getset_lock import GetsetLock
from seckill.strategies.ledger import Ledger
from seckill.strategies.lua_decr import LuaDecr
from seckill.strategies.lua_lock import LuaLock
from seckill.strategies.lua_purchase import LuaPurchase
from seckill.strategies.lua_purchase_cluster import LuaPurchaseCluster
from seckill.strategies.overflow_check import OverflowCheck
from seckill.strategies.pg_conditional import PgConditional
from seckill.strategies.pg_row_lock import PgRowLock
from seckill.strategies.pg_skip_locked import PgSkipLocked
from seckill.strategies.redisson_lock import RedissonLock
from seckill.strategies.redisson_lock_fenced import RedissonLockFenced
from seckill.strategies.set_nx_ex_lock import SetNxExLock
from seckill.strategies.setnx_lock_expire import SetnxLockExpire
from seckill.strategies.setnx_lock_finally import SetnxLockFinally
from seckill.strategies.setnx_lock_plain import SetnxLockPlain
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
    SetnxLockPlain,
    SetnxLockFinally,
    SetnxLockExpire,
    SetNxExLock,
    GetsetLock,
    LuaLock,
    RedissonLock,
    RedissonLockFenced,
    # C. One atomic step
    WatchMulti,
    AllInLua,
    LuaDecr,
    LuaPurchase,
    LuaPurchaseCluster,
    Ledger,
    # D. In the database, for comparison
    PgRowLock,
    PgConditional,
    PgSkipLocked,
)

BY_ID = {strategy.id: strategy for strategy in ALL}
