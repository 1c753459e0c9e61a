"""The strategies, in the order in which tables show them."""

from bench.strategies.atomic.all_in_lua import AllInLua
from bench.strategies.atomic.ledger import Ledger
from bench.strategies.atomic.lua_decr import LuaDecr
from bench.strategies.atomic.lua_purchase import LuaPurchase
from bench.strategies.atomic.lua_purchase_cluster import LuaPurchaseCluster
from bench.strategies.atomic.watch_multi import WatchMulti
from bench.strategies.base.strategy import Strategy
from bench.strategies.counters.check_then_decr import CheckThenDecr
from bench.strategies.counters.decr_then_rollback import DecrThenRollback
from bench.strategies.counters.decrby_refund import DecrbyRefund
from bench.strategies.counters.get_set import GetSet
from bench.strategies.counters.overflow_check import OverflowCheck
from bench.strategies.database.pg_conditional import PgConditional
from bench.strategies.database.pg_row_lock import PgRowLock
from bench.strategies.database.pg_skip_locked import PgSkipLocked
from bench.strategies.locks.getset_lock import GetsetLock
from bench.strategies.locks.lua_lock import LuaLock
from bench.strategies.locks.redisson_lock import RedissonLock
from bench.strategies.locks.redisson_lock_fenced import RedissonLockFenced
from bench.strategies.locks.set_nx_ex_lock import SetNxExLock
from bench.strategies.locks.setnx_lock_expire import SetnxLockExpire
from bench.strategies.locks.setnx_lock_finally import SetnxLockFinally
from bench.strategies.locks.setnx_lock_plain import SetnxLockPlain

ALL: tuple[type[Strategy], ...] = (
    # Counters without a guard
    GetSet,
    CheckThenDecr,
    DecrThenRollback,
    OverflowCheck,
    DecrbyRefund,
    # Locks
    SetnxLockPlain,
    SetnxLockFinally,
    SetnxLockExpire,
    SetNxExLock,
    GetsetLock,
    LuaLock,
    RedissonLock,
    RedissonLockFenced,
    # One atomic step
    WatchMulti,
    AllInLua,
    LuaDecr,
    LuaPurchase,
    LuaPurchaseCluster,
    Ledger,
    # Stock in the database
    PgRowLock,
    PgConditional,
    PgSkipLocked,
)

BY_ID = {strategy.id: strategy for strategy in ALL}
