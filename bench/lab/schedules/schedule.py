"""A schedule: the order in which the buyers of one strategy continue, and what that shows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext_lazy as _

from bench.lab.schedules.interleaver import Interleaver
from bench.strategies.base.strategy import Answer, Strategy


@dataclass(frozen=True)
class Schedule:
    """`run` lets the buyers continue in this order, and returns whether what the conclusion says has happened."""

    id: str
    strategy: type[Strategy]
    run: Callable[[Interleaver], bool]
    conclusion: Any
    stock: int = 1
    units: dict[str, int] = field(default_factory=dict)
    # False if the schedule shows how a flaw is avoided.
    flaw: bool = True


# In a schedule a waiting buyer tries twice and gives up: two hundred tries would show no more, and could not be read.
TRIES_MAX = 2

ANSWER_LOST = _(
    "The store took the unit for A, but the answer was lost in the restart. A does not have the unit, and B was "
    "refused."
)


def the_unit_is_lost(sale: Interleaver) -> bool:
    """Whether the only unit is gone, neither A nor B was told that it is theirs, and B was refused."""
    return sale.sold == 0 and sale.left() == 0 and sale.answer_of("B") is Answer.REFUSED
