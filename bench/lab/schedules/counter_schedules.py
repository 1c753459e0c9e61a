"""Schedules that show the flaws of counters without a guard."""

from django.utils.translation import gettext_lazy as _

from bench.lab.schedules.interleaver import Interleaver
from bench.lab.schedules.schedule import Schedule
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
    seen = sale.side_event(_("Someone reads the stock"), sale.left)
    sale.side_event(_("The shop puts one more unit on sale"), lambda: restock(sale))
    sale.finish("C")
    sale.finish("B")
    return seen == -1 and sale.answer_of("C") is Answer.REFUSED and sale.left() == 1


def killed_before_the_refund(sale: Interleaver) -> bool:
    sale.finish("A")
    sale.go("B")
    sale.kill("B")
    sale.side_event(_("The shop puts one more unit on sale"), lambda: restock(sale))
    sale.finish("C")
    return sale.answer_of("C") is Answer.REFUSED and sale.left() == 0


def refused_while_another_is_refunded(sale: Interleaver) -> bool:
    sale.go("A", 2)
    sale.finish("B")
    sale.finish("A")
    return sale.answer_of("B") is Answer.REFUSED and sale.sold == 0 and sale.left() == 1


def restock(sale: Interleaver) -> None:
    sale.client.incrby(sale.seller.key, 1)  # type: ignore[attr-defined]


DIPS = _(
    "The stock was read as -1. C was refused although a unit had just been added: B had not given its unit back yet, "
    "so the new one filled the gap."
)
EATS = _("B was killed before it gave its unit back. The new unit filled the gap: it is lost, and C was refused.")

SCHEDULES = (
    Schedule(
        "lost_update",
        GetSet,
        both_read_before_either_writes,
        _("Both read 1 and both wrote 0: one unit was sold twice, and the counter does not show it."),
    ),
    Schedule(
        "both_see_one",
        CheckThenDecr,
        both_read_before_either_writes,
        _("Both read 1 before either had decremented: one unit was sold twice."),
    ),
    Schedule("below_zero", DecrThenRollback, the_counter_dips_below_zero, DIPS),
    Schedule("restock_eaten", DecrThenRollback, killed_before_the_refund, EATS),
    Schedule("below_zero", OverflowCheck, the_counter_dips_below_zero, DIPS),
    Schedule("restock_eaten", OverflowCheck, killed_before_the_refund, EATS),
    Schedule(
        "false_refusal",
        DecrbyRefund,
        refused_while_another_is_refunded,
        _(
            "A asked for 3 and was refused; before A had given its units back, B asked for 1 and was refused as well. "
            "The unit was not sold."
        ),
        units={"A": 3, "B": 1},
    ),
)
