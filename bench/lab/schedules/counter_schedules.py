"""Schedules that show what counters without a guard get wrong."""

from django.utils.translation import gettext_lazy as _

from bench.lab.schedules.interleaver import Interleaver
from bench.lab.schedules.schedule import Scene
from bench.strategies.base.strategy import Answer
from bench.strategies.counters.check_then_decr import CheckThenDecr
from bench.strategies.counters.decr_then_rollback import DecrThenRollback
from bench.strategies.counters.decrby_refund import DecrbyRefund
from bench.strategies.counters.get_set import GetSet
from bench.strategies.counters.overflow_check import OverflowCheck


def both_read_before_either_writes(sale: Interleaver) -> bool:
    sale.go("A")
    sale.go("B")
    sale.finish("A")
    sale.finish("B")
    return sale.sold > sale.stock


def the_counter_dips_below_zero(sale: Interleaver) -> bool:
    sale.finish("A")
    sale.go("B")
    seen = sale.aside(_("A reader looks at the stock"), sale.left)
    sale.aside(_("The shopkeeper puts one more unit on sale"), lambda: restock(sale))
    sale.finish("C")
    sale.finish("B")
    return seen == -1 and sale.answer_of("C") is Answer.REFUSED and sale.left() == 1


def killed_before_the_refund(sale: Interleaver) -> bool:
    sale.finish("A")
    sale.go("B")
    sale.kill("B")
    sale.aside(_("The shopkeeper puts one more unit on sale"), lambda: restock(sale))
    sale.finish("C")
    return sale.answer_of("C") is Answer.REFUSED and sale.left() == 0


def refused_while_another_is_refunded(sale: Interleaver) -> bool:
    sale.go("A", 2)
    sale.finish("B")
    sale.finish("A")
    return sale.answer_of("B") is Answer.REFUSED and sale.sold == 0 and sale.left() == 1


def restock(sale: Interleaver) -> None:
    sale.client.incrby(sale.shopkeeper.key, 1)  # type: ignore[attr-defined]


DIPS = _(
    "A reader saw a stock of -1. C was refused although a unit had just been put on sale: B's refund was still to "
    "come, and had eaten it."
)
EATS = _("B died before it gave back what it had taken. The new unit filled the hole: it is gone, and C was refused.")

SCENES = (
    Scene(
        id="lost_update",
        strategy=GetSet,
        play=both_read_before_either_writes,
        conclusion=_("Both read 1, both wrote 0: one unit was sold twice, and the counter does not even show it."),
    ),
    Scene(
        id="both_see_one",
        strategy=CheckThenDecr,
        play=both_read_before_either_writes,
        conclusion=_("Both read 1 before either had decremented: one unit was sold twice."),
    ),
    Scene(id="below_zero", strategy=DecrThenRollback, play=the_counter_dips_below_zero, conclusion=DIPS),
    Scene(id="restock_eaten", strategy=DecrThenRollback, play=killed_before_the_refund, conclusion=EATS),
    Scene(id="below_zero", strategy=OverflowCheck, play=the_counter_dips_below_zero, conclusion=DIPS),
    Scene(id="restock_eaten", strategy=OverflowCheck, play=killed_before_the_refund, conclusion=EATS),
    Scene(
        id="false_refusal",
        strategy=DecrbyRefund,
        play=refused_while_another_is_refunded,
        units={"A": 3, "B": 1},
        conclusion=_("A asked for 3 and was refunded; B asked for 1 meanwhile and was refused. Nobody got the unit."),
    ),
)
