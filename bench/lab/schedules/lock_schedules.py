"""Schedules that show the flaws of locks: a holder fails, is killed, or is paused for too long, or a clock is wrong."""

from django.utils.translation import gettext_lazy as _

from bench.lab.schedules.interleaver import Interleaver
from bench.lab.schedules.schedule import ANSWER_LOST, Schedule, the_unit_is_lost
from bench.strategies.base.strategy import Answer
from bench.strategies.locks.getset_lock import GetsetLock
from bench.strategies.locks.lua_lock import LuaLock
from bench.strategies.locks.redisson_lock import RedissonLock
from bench.strategies.locks.redisson_lock_fenced import RedissonLockFenced
from bench.strategies.locks.set_nx_ex_lock import SetNxExLock
from bench.strategies.locks.setnx_lock_expire import SetnxLockExpire
from bench.strategies.locks.setnx_lock_finally import SetnxLockFinally
from bench.strategies.locks.setnx_lock_plain import SetnxLockPlain

DAY_SECONDS = 86_400.0
# A third of the lease.
RENEWAL_SECONDS = 10.0


def the_holder_fails(sale: Interleaver) -> bool:
    sale.go("A", 2)
    sale.fail("A")
    return nobody_can_buy_a_day_later(sale)


def the_holder_is_killed(sale: Interleaver) -> bool:
    sale.go("A", 2)
    sale.kill("A")
    return nobody_can_buy_a_day_later(sale)


def killed_between_setnx_and_expire(sale: Interleaver) -> bool:
    sale.go("A")
    sale.kill("A")
    return nobody_can_buy_a_day_later(sale)


def the_holder_is_killed_after_its_write(sale: Interleaver) -> bool:
    take_and_read(sale)
    sale.go("A")
    sale.kill("A")
    sale.side_event(_("A day passes"), lambda: sale.pass_time(DAY_SECONDS))
    sale.finish("B")
    return the_unit_is_lost(sale)


def the_answer_of_the_write_is_lost(sale: Interleaver) -> bool:
    take_and_read(sale)
    sale.lose_answer("A")
    sale.side_event(_("The store restarts"))
    sale.finish("A")
    sale.finish("B")
    return the_unit_is_lost(sale)


def the_lock_cannot_be_released(sale: Interleaver) -> bool:
    sale.go("A", 3)
    sale.side_event(_("The store restarts"))
    sale.lose_command("A")
    return nobody_can_buy_a_day_later(sale)


def the_expiry_does_not_reach_the_store(sale: Interleaver) -> bool:
    sale.go("A")
    sale.side_event(_("The store restarts"))
    sale.lose_command("A")
    return nobody_can_buy_a_day_later(sale)


def the_answer_of_the_lock_is_lost(sale: Interleaver) -> bool:
    """A takes the lock but does not get the answer, takes it again since it is the owner, and releases it once."""
    sale.lose_answer("A")
    sale.side_event(_("A tries again on a new connection"))
    sale.finish("A")
    for _time in range(2):
        sale.pass_time(RENEWAL_SECONDS)
        sale.side_event(_("Ten seconds later A's watchdog renews the lease"), lambda: redisson(sale, "A").renew_held())
    redisson(sale, "B").wait_seconds_max = 1.0
    sale.finish("B")
    return sale.answer_of("B") is Answer.BUSY and sale.left() == 1


def redisson(sale: Interleaver, who: str) -> RedissonLock:
    sale.buyer(who)
    strategy = sale.strategies[who]
    assert isinstance(strategy, RedissonLock)
    return strategy


def the_loser_is_turned_away(sale: Interleaver) -> bool:
    sale.go("A", 2)
    sale.finish("B")
    sale.finish("A")
    return sale.answer_of("B") is Answer.BUSY and sale.left() == 1


def the_holder_is_paused(sale: Interleaver) -> bool:
    """The holder has read the stock and is paused for longer than its lease. B buys, and then the holder continues."""
    take_read_and_pause(sale)
    sale.finish("B")
    sale.side_event(_("A continues"))
    sale.finish("A")
    return sale.sold > sale.stock


def the_holder_is_paused_and_frees_anothers_lock(sale: Interleaver) -> bool:
    """The same, but B still holds the lock when the first holder deletes it, and C takes it."""
    take_read_and_pause(sale)
    sale.go("B", 2)
    sale.side_event(_("A continues"))
    sale.finish("A")
    sale.go("C", 1)
    both_in_the_lock = bool(sale.buyer("C").seen[-1])
    sale.finish("B")
    sale.finish("C")
    return both_in_the_lock and sale.sold > sale.stock


def a_clock_is_an_hour_ahead(sale: Interleaver) -> bool:
    take_and_read(sale)
    sale.clock_ahead("B", seconds=3600.0)
    sale.finish("B")
    sale.finish("A")
    return sale.sold > sale.stock


def the_stock_refuses_the_late_write(sale: Interleaver) -> bool:
    the_holder_is_paused(sale)
    return sale.sold == 1 and sale.left() == 0 and sale.answer_of("A") is Answer.BUSY


def take_and_read(sale: Interleaver) -> None:
    """A has taken the lock and has read the stock: the next command is the write."""
    # GetsetLock reads its clock first; SetnxLockExpire sets the expiry in a separate command.
    sale.go("A", 3 if sale.strategy in {GetsetLock, SetnxLockExpire} else 2)


def take_read_and_pause(sale: Interleaver) -> None:
    """A is paused before the write."""
    take_and_read(sale)
    sale.side_event(
        _("A is paused, with all its threads, for longer than its lease"),
        lambda: sale.pass_time(sale.seller.lease_seconds * 1.1),
    )


def nobody_can_buy_a_day_later(sale: Interleaver) -> bool:
    sale.side_event(_("A day passes"), lambda: sale.pass_time(DAY_SECONDS))
    sale.finish("B")
    return sale.answer_of("B") is Answer.BUSY and (sale.left() or 0) > 0


STUCK_BY_DEATH = _("A was killed while it held the lock, and the lock never expires: nobody can ever buy again.")
PAUSED = _(
    "A's lease ended during the pause. B took the lock and bought the last unit. Then A continued with the stock that "
    "it had read before, and sold the unit again."
)
FREED = _(
    "A's lease ended during the pause. A sold the unit that B was about to sell, and then deleted B's lock: C got the "
    "lock while B was still working."
)

NEVER_RELEASED = _(
    "The store was down when A released the lock. The lock is still there, and nothing will ever delete it."
)
HELD_TWICE = _(
    "A took the lock but did not get the answer. As its owner it took the lock a second time, and released it once. "
    "The count is still one, and A's watchdog renews the lock for as long as A lives: B waits in vain."
)

SCHEDULES = (
    Schedule(
        "holder_fails",
        SetnxLockPlain,
        the_holder_fails,
        _("An exception was raised before DEL. The lock was not deleted and never expires: nobody can ever buy again."),
    ),
    *(
        schedule
        for strategy in (SetnxLockPlain, SetnxLockFinally)
        for schedule in (
            Schedule("holder_killed", strategy, the_holder_is_killed, STUCK_BY_DEATH),
            Schedule("release_lost", strategy, the_lock_cannot_be_released, NEVER_RELEASED, stock=2),
        )
    ),
    Schedule(
        "expiry_lost",
        SetnxLockExpire,
        the_expiry_does_not_reach_the_store,
        _("The store was down between SETNX and EXPIRE. The lock never expires: nobody can ever buy again."),
    ),
    Schedule(
        "killed_between",
        SetnxLockExpire,
        killed_between_setnx_and_expire,
        _("A was killed between SETNX and EXPIRE. The lock never expires: nobody can ever buy again."),
    ),
    Schedule(
        "loser_turned_away",
        SetnxLockExpire,
        the_loser_is_turned_away,
        _("There were two units for two buyers. B was turned away because A held the lock: one unit is left."),
        stock=2,
    ),
    Schedule("holder_paused", SetnxLockExpire, the_holder_is_paused, PAUSED),
    Schedule("holder_paused", SetNxExLock, the_holder_is_paused, PAUSED),
    Schedule("anothers_lock_freed", SetNxExLock, the_holder_is_paused_and_frees_anothers_lock, FREED),
    Schedule("holder_paused", GetsetLock, the_holder_is_paused, PAUSED),
    Schedule(
        "clock_ahead",
        GetsetLock,
        a_clock_is_an_hour_ahead,
        _("B's clock is an hour ahead, so the lock that A had just taken looked expired to B. Both sold the unit."),
    ),
    Schedule("holder_paused", LuaLock, the_holder_is_paused, PAUSED),
    Schedule("anothers_lock_freed", LuaLock, the_holder_is_paused_and_frees_anothers_lock, FREED),
    Schedule("holder_paused", RedissonLock, the_holder_is_paused, PAUSED),
    *(
        Schedule(
            "killed_after_write",
            strategy,
            the_holder_is_killed_after_its_write,
            _(
                "A was killed after it had taken the unit and before it could tell anybody. The lock expired, but the "
                "unit is lost: B was refused."
            ),
        )
        for strategy in (SetNxExLock, GetsetLock, LuaLock, RedissonLock, RedissonLockFenced)
    ),
    *(
        Schedule("sale_lost", strategy, the_answer_of_the_write_is_lost, ANSWER_LOST)
        for strategy in (SetNxExLock, GetsetLock, LuaLock)
    ),
    *(
        Schedule("answer_lost", strategy, the_answer_of_the_lock_is_lost, HELD_TWICE, stock=2)
        for strategy in (RedissonLock, RedissonLockFenced)
    ),
    Schedule(
        "late_write_refused",
        RedissonLockFenced,
        the_stock_refuses_the_late_write,
        _(
            "A's lease ended during the pause, and B bought with a higher token. When A continued, the stock refused "
            "its old token: one unit, sold once."
        ),
        flaw=False,
    ),
)
