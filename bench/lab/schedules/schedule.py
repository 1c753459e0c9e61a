"""What a scene is: a schedule for the buyers of one strategy, and what it shows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bench.lab.schedules.interleaver import Interleaver
from bench.strategies.base.strategy import Strategy


@dataclass(frozen=True, kw_only=True)
class Scene:
    """`play` goes through the schedule and says whether what the conclusion says has happened."""

    id: str
    strategy: type[Strategy]
    conclusion: Any
    play: Callable[[Interleaver], bool]
    stock: int = 1
    units: dict[str, int] = field(default_factory=dict)
    # Whether what is shown is a flaw, or how a flaw is met.
    flaw: bool = True


# In a schedule a waiter tries twice and gives up: it shows as much as two hundred times, and can be read.
TRIES_MAX = 2
