"""Schedules that show the flaws of strategies with one atomic step: these lie before or after that step."""

from collections.abc import Callable

from django.utils.translation import gettext_lazy as _

from bench.lab.schedules.interleaver import Interleaver
from bench.lab.schedules.schedule import ANSWER_LOST, Schedule, the_unit_is_lost
from bench.lab.schedules.stepped_buyer import WorkFailed
from bench.strategies.atomic.all_in_lua import AllInLua
from bench.strategies.atomic.lua_decr import LuaDecr
from bench.strategies.atomic.lua_purchase import LuaPurchase
from bench.strategies.atomic.order_queue import RetryingConsumer, consume_once
from bench.strategies.atomic.watch_multi import WatchMulti
from bench.strategies.base.strategy import Answer

RETRY_SECONDS = 30.0


def the_key_is_lost(sale: Interleaver) -> bool:
    sale.finish("A")
    sale.side_event(_("The store loses the key: eviction, or a failover to an empty replica"), lambda: lose(sale))
    sale.finish("B")
    return sale.sold > sale.stock


def the_answer_of_the_script_is_lost(sale: Interleaver) -> bool:
    sale.lose_answer("A")
    sale.side_event(_("The store restarts"))
    sale.finish("B")
    return the_unit_is_lost(sale)


def the_answer_of_exec_is_lost(sale: Interleaver) -> bool:
    sale.go("A", 2)
    return the_answer_of_the_script_is_lost(sale)


def the_consumer_crashes(sale: Interleaver) -> bool:
    sale.finish("A")
    sale.side_event(_("A consumer pops the order and is killed before writing it"), lambda: consume_and_crash(sale))
    return sale.sold == 1 and queue_length(sale) == 0


def the_retrying_consumer_crashes(sale: Interleaver) -> bool:
    """The pop also moves the order to a delayed queue, so another consumer gets it, and no third one meanwhile."""
    consumer = RetryingConsumer(purchase(sale), retry_seconds=RETRY_SECONDS)
    written: list[str] = []

    def write(order: str) -> None:
        written.append(order)
        consumer.consume_once(written.append)

    sale.finish("A")
    sale.side_event(
        _("A consumer moves the order to the delayed queue and is killed before writing it"),
        lambda: until_crash(lambda: consumer.consume_once(crash)),
    )
    sale.side_event(_("The retry is due"), lambda: sale.pass_time(RETRY_SECONDS + 1))
    sale.side_event(_("Another consumer finds the order there and writes it"), lambda: consumer.consume_once(write))
    return written == ["1:1"] and not sale.client.exists(consumer.delayed)


def each_try_meets_a_rival(sale: Interleaver) -> bool:
    for rival in ("B", "C", "B"):
        sale.go("A", 2)
        sale.finish(rival)
        sale.go("A")
    return sale.answer_of("A") is Answer.BUSY and sale.left() == sale.stock - 3


def lose(sale: Interleaver) -> None:
    sale.client.delete(f"{sale.name}:stock")


def consume_and_crash(sale: Interleaver) -> None:
    until_crash(lambda: consume_once(purchase(sale), crash))


def crash(order: str) -> None:
    raise WorkFailed(order)


def until_crash(work: Callable[[], object]) -> None:
    try:
        work()
    except WorkFailed:
        return


def purchase(sale: Interleaver) -> LuaPurchase:
    assert isinstance(sale.seller, LuaPurchase)
    return sale.seller


def queue_length(sale: Interleaver) -> int:
    return int(sale.client.llen(purchase(sale).queue))


SCHEDULES = (
    Schedule(
        "three_conflicts",
        WatchMulti,
        each_try_meets_a_rival,
        _(
            "Each time another buyer bought between A's WATCH and A's EXEC. After three tries A was turned away "
            "although units were left."
        ),
        stock=5,
    ),
    Schedule(
        "stock_invented",
        AllInLua,
        the_key_is_lost,
        _("The script took the missing key for a new sale and started with 10: B bought a unit that does not exist."),
    ),
    Schedule(
        "sentinel",
        LuaDecr,
        the_key_is_lost,
        _("The script returned -1 for not initialised, and the shop read -1 as unlimited. Now it sells without end."),
    ),
    Schedule(
        "order_lost",
        LuaPurchase,
        the_consumer_crashes,
        _("The unit is gone from the stock and A is among the buyers, but the order is lost: A waits for ever."),
    ),
    Schedule(
        "order_retried",
        LuaPurchase,
        the_retrying_consumer_crashes,
        _("The order was never only in the memory of one consumer: the next one wrote it."),
        flaw=False,
    ),
    Schedule("sale_lost", WatchMulti, the_answer_of_exec_is_lost, ANSWER_LOST),
    *(
        Schedule("sale_lost", strategy, the_answer_of_the_script_is_lost, ANSWER_LOST)
        for strategy in (AllInLua, LuaDecr, LuaPurchase)
    ),
)
