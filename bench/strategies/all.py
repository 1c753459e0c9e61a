"""The strategies, in the order of the tables."""

from bench.strategies.all_in_lua import AllInLua
from bench.strategies.check_then_decr import CheckThenDecr
from bench.strategies.decr_then_rollback import DecrThenRollback
from bench.strategies.decrby_refund import DecrbyRefund
from bench.strategies.get_set import GetSet
from bench.strategies.getset_lock import GetsetLock
from bench.strategies.ledger import Ledger
from bench.strategies.lua_decr import LuaDecr
from bench.strategies.lua_lock import LuaLock
from bench.strategies.lua_purchase import LuaPurchase
from bench.strategies.lua_purchase_cluster import LuaPurchaseCluster
from bench.strategies.overflow_check import OverflowCheck
from bench.strategies.pg_conditional import PgConditional
from bench.strategies.pg_row_lock import PgRowLock
from bench.strategies.pg_skip_locked import PgSkipLocked
from bench.strategies.redisson_lock import RedissonLock
from bench.strategies.redisson_lock_fenced import RedissonLockFenced
from bench.strategies.set_nx_ex_lock import SetNxExLock
from bench.strategies.setnx_lock_expire import SetnxLockExpire
from bench.strategies.setnx_lock_finally import SetnxLockFinally
from bench.strategies.setnx_lock_plain import SetnxLockPlain
from bench.strategies.strategy import Strategy
from bench.strategies.watch_multi import WatchMulti

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
