"""Schedules that show what locks get wrong: a holder fails, dies, or is away for too long, or a clock is wrong."""

from django.utils.translation import gettext_lazy as _

from bench.lab.schedules.interleaver import Interleaver
from bench.lab.schedules.schedule import Scene
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


def the_lock_cannot_be_given_back(sale: Interleaver) -> bool:
    sale.go("A", 3)
    sale.aside(_("The store is restarted"))
    sale.lose_command("A")
    return nobody_can_buy_a_day_later(sale)


def the_end_does_not_reach_the_store(sale: Interleaver) -> bool:
    sale.go("A")
    sale.aside(_("The store is restarted"))
    sale.lose_command("A")
    return nobody_can_buy_a_day_later(sale)


def the_answer_of_the_lock_is_lost(sale: Interleaver) -> bool:
    """A takes the lock and does not hear of it, takes it again as the owner that it is, and gives it back once."""
    sale.lose_answer("A")
    sale.aside(_("A tries again, over a new connection"))
    sale.finish("A")
    for _time in range(2):
        sale.pass_time(RENEWAL_SECONDS)
        sale.aside(_("Ten seconds later A's watchdog renews the lease"), lambda: redisson(sale, "A").renew_held())
    redisson(sale, "B").wait_seconds_max = 1.0
    sale.finish("B")
    return sale.answer_of("B") is Answer.BUSY and sale.left() == 1


def redisson(sale: Interleaver, who: str) -> RedissonLock:
    sale.puppet(who)
    strategy = sale.strategies[who]
    assert isinstance(strategy, RedissonLock)
    return strategy


def the_loser_is_sent_away(sale: Interleaver) -> bool:
    sale.go("A", 2)
    sale.finish("B")
    sale.finish("A")
    return sale.answer_of("B") is Answer.BUSY and sale.left() == 1


def the_holder_is_paused(sale: Interleaver) -> bool:
    """It has read the stock and is away for longer than its lease; the next one buys; then it goes on."""
    take_and_read(sale)
    sale.aside(
        _("A is paused, with all its threads, for longer than its lease"),
        lambda: sale.pass_time(sale.shopkeeper.lease_seconds * 1.1),
    )
    sale.finish("B")
    sale.aside(_("A goes on"))
    sale.finish("A")
    return sale.sold > sale.stock


def the_holder_is_paused_and_frees_anothers_lock(sale: Interleaver) -> bool:
    """The same; but the next one is still at work when the lock is freed, and a third comes in."""
    take_and_read(sale)
    sale.aside(
        _("A is paused, with all its threads, for longer than its lease"),
        lambda: sale.pass_time(sale.shopkeeper.lease_seconds * 1.1),
    )
    sale.go("B", 2)
    sale.aside(_("A goes on"))
    sale.finish("A")
    sale.go("C", 1)
    both_in_the_lock = bool(sale.puppet("C").seen[-1])
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
    # One looks at its clock first, the other sets the end of its lock in a command of its own.
    sale.go("A", 3 if sale.strategy in {GetsetLock, SetnxLockExpire} else 2)


def nobody_can_buy_a_day_later(sale: Interleaver) -> bool:
    sale.aside(_("A day passes"), lambda: sale.pass_time(DAY_SECONDS))
    sale.finish("B")
    return sale.answer_of("B") is Answer.BUSY and (sale.left() or 0) > 0


STUCK_BY_DEATH = _("A was killed with the lock in its hand, and the lock has no end: nobody will ever buy again.")
PAUSED = _(
    "A's lease ended while A was away. B took the lock and bought the last unit; then A went on with what it had "
    "read before, and sold the unit once more."
)
FREED = _(
    "A's lease ended while A was away. A sold the unit that B was about to sell, and then deleted B's lock: C could "
    "walk in while B was still at work."
)

NEVER_GIVEN_BACK = _("The store was away when A gave the lock back. It kept the lock, and nobody will ever delete it.")
HELD_TWICE = _(
    "A took the lock and did not hear of it; as its owner it took it once more, and gave it back once. The lock "
    "counts one still, and A's watchdog renews it for as long as A lives: B waits in vain."
)

SCENES = (
    Scene(
        id="holder_fails",
        strategy=SetnxLockPlain,
        play=the_holder_fails,
        conclusion=_("An exception came before DEL. The lock has no owner and no end: nobody will ever buy again."),
    ),
    Scene(id="holder_killed", strategy=SetnxLockPlain, play=the_holder_is_killed, conclusion=STUCK_BY_DEATH),
    Scene(id="holder_killed", strategy=SetnxLockFinally, play=the_holder_is_killed, conclusion=STUCK_BY_DEATH),
    Scene(
        id="release_lost",
        strategy=SetnxLockPlain,
        stock=2,
        play=the_lock_cannot_be_given_back,
        conclusion=NEVER_GIVEN_BACK,
    ),
    Scene(
        id="release_lost",
        strategy=SetnxLockFinally,
        stock=2,
        play=the_lock_cannot_be_given_back,
        conclusion=NEVER_GIVEN_BACK,
    ),
    Scene(
        id="end_lost",
        strategy=SetnxLockExpire,
        play=the_end_does_not_reach_the_store,
        conclusion=_("The store was away between SETNX and EXPIRE. The end was never set: nobody will ever buy again."),
    ),
    Scene(
        id="killed_between",
        strategy=SetnxLockExpire,
        play=killed_between_setnx_and_expire,
        conclusion=_("A was killed between SETNX and EXPIRE. The end was never set: nobody will ever buy again."),
    ),
    Scene(
        id="loser_sent_away",
        strategy=SetnxLockExpire,
        stock=2,
        play=the_loser_is_sent_away,
        conclusion=_("There were two units for two buyers. B was sent away because A was at work: one unit is left."),
    ),
    Scene(id="holder_paused", strategy=SetnxLockExpire, play=the_holder_is_paused, conclusion=PAUSED),
    Scene(id="holder_paused", strategy=SetNxExLock, play=the_holder_is_paused, conclusion=PAUSED),
    Scene(
        id="anothers_lock_freed",
        strategy=SetNxExLock,
        play=the_holder_is_paused_and_frees_anothers_lock,
        conclusion=FREED,
    ),
    Scene(id="holder_paused", strategy=GetsetLock, play=the_holder_is_paused, conclusion=PAUSED),
    Scene(
        id="clock_ahead",
        strategy=GetsetLock,
        play=a_clock_is_an_hour_ahead,
        conclusion=_(
            "B's clock is an hour ahead: to B the lock of A, a moment old, had ended long ago. Both sold the unit."
        ),
    ),
    Scene(id="holder_paused", strategy=LuaLock, play=the_holder_is_paused, conclusion=PAUSED),
    Scene(
        id="anothers_lock_freed", strategy=LuaLock, play=the_holder_is_paused_and_frees_anothers_lock, conclusion=FREED
    ),
    Scene(id="holder_paused", strategy=RedissonLock, play=the_holder_is_paused, conclusion=PAUSED),
    *(
        Scene(
            id="answer_lost",
            strategy=strategy,
            stock=2,
            play=the_answer_of_the_lock_is_lost,
            conclusion=HELD_TWICE,
        )
        for strategy in (RedissonLock, RedissonLockFenced)
    ),
    Scene(
        id="late_write_refused",
        strategy=RedissonLockFenced,
        play=the_stock_refuses_the_late_write,
        flaw=False,
        conclusion=_(
            "A's lease ended while A was away, and B bought with a higher token. When A went on, the stock knew its "
            "token for an old one and refused: one unit, sold once."
        ),
    ),
)
