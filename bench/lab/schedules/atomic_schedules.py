"""Schedules that show what atoms get wrong: the step is one, and the flaw lies before, beside or behind it."""

from collections.abc import Callable

from django.utils.translation import gettext_lazy as _

from bench.lab.schedules.interleaver import Interleaver
from bench.lab.schedules.schedule import Scene
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
    sale.aside(_("The store loses the key: eviction, or a failover to an empty replica"), lambda: lose(sale))
    sale.finish("B")
    return sale.sold > sale.stock


def the_consumer_dies(sale: Interleaver) -> bool:
    sale.finish("A")
    sale.aside(_("A consumer pops the order and is killed before it has written it"), lambda: consume_and_die(sale))
    return sale.sold == 1 and orders_known(sale) == 0


def the_retrying_consumer_dies(sale: Interleaver) -> bool:
    """Beside it: the order is put off in the atom of the pop, and comes again."""
    consumer = RetryingConsumer(
        purchase(sale), retry_seconds=RETRY_SECONDS, deadline_of=lambda order: sale.now_seconds + 1
    )
    written: list[str] = []
    sale.finish("A")
    sale.aside(
        _("A consumer moves the order to the delayed queue and is killed before it has written it"),
        lambda: dying(lambda: consumer.consume_once(die)),
    )
    sale.aside(_("The time to retry comes"), lambda: sale.pass_time(RETRY_SECONDS + 1))
    sale.aside(_("Another consumer finds the order there and writes it"), lambda: consumer.consume_once(written.append))
    sale.client.delete(consumer.delayed)
    return written == ["1:1"]


def each_try_meets_a_rival(sale: Interleaver) -> bool:
    for rival in ("B", "C", "B"):
        sale.go("A", 2)
        sale.finish(rival)
        sale.go("A")
    return sale.answer_of("A") is Answer.BUSY and sale.left() == sale.stock - 3


def lose(sale: Interleaver) -> None:
    sale.client.delete(f"{sale.name}:stock")


def consume_and_die(sale: Interleaver) -> None:
    dying(lambda: consume_once(purchase(sale), die))


def die(order: str) -> None:
    raise WorkFailed(order)


def dying(work: Callable[[], object]) -> None:
    try:
        work()
    except WorkFailed:
        return


def purchase(sale: Interleaver) -> LuaPurchase:
    assert isinstance(sale.shopkeeper, LuaPurchase)
    return sale.shopkeeper


def orders_known(sale: Interleaver) -> int:
    return int(sale.client.llen(purchase(sale).queue))


SCENES = (
    Scene(
        id="three_conflicts",
        strategy=WatchMulti,
        stock=5,
        play=each_try_meets_a_rival,
        conclusion=_(
            "Each time somebody else bought between A's WATCH and A's EXEC. After three tries A was sent away although "
            "units were left."
        ),
    ),
    Scene(
        id="stock_invented",
        strategy=AllInLua,
        play=the_key_is_lost,
        conclusion=_("The script took the lost key for a new sale and began with 10: B bought a unit that never was."),
    ),
    Scene(
        id="sentinel",
        strategy=LuaDecr,
        play=the_key_is_lost,
        conclusion=_("The script said -1, not initialised; the shop read -1, unlimited. Now it sells without end."),
    ),
    Scene(
        id="order_lost",
        strategy=LuaPurchase,
        play=the_consumer_dies,
        conclusion=_("The unit has left the stock, A is among the buyers, the order is nowhere: A waits for ever."),
    ),
    Scene(
        id="order_comes_again",
        strategy=LuaPurchase,
        play=the_retrying_consumer_dies,
        flaw=False,
        conclusion=_("The order was never only in the memory of a consumer: the next one wrote it."),
    ),
)
