"""The rounds of a run: in each, every group of servers is started once, and its parts are measured in turn.

So a ratio compares two figures of the same round, and a machine that is slower for a while is so for both.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.measure.speed.part import Part, Sample, Server, WrongAnswer
from bench.measure.speed.server_groups import running_group
from bench.measure.speed.wrk import WrkFailed


@dataclass(slots=True)
class Outcome:
    """The samples of one part by the number of the round; `wrong` has what was wrong in the others."""

    part: Part
    samples: dict[int, Sample] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def run_rounds(
    parts: Sequence[Part], *, rounds: int, seconds: int, directory: Path, tick: Callable[[str], None]
) -> list[Outcome]:
    """Measure the parts. `tick` is called before each, with what it is. Raises ProcessFailed."""
    outcomes = [Outcome(part) for part in parts]
    for round_number in range(rounds):
        is_last = round_number == rounds - 1
        due = [outcome for outcome in outcomes if is_last or not outcome.part.once]
        for group in dict.fromkeys(outcome.part.server for outcome in due):
            tick(f"starting {group}")
            with running_group(group, directory=directory, seconds=seconds) as server:
                for outcome in due:
                    if outcome.part.server == group:
                        tick(outcome.part.title)
                        measure(outcome, server, round_number=round_number)
    return outcomes


def measure(outcome: Outcome, server: Server, *, round_number: int) -> None:
    """One sample of one part. A wrong answer is noted, and the other parts go on."""
    try:
        outcome.samples[round_number] = outcome.part.measure(server)
    except (WrongAnswer, WrkFailed) as error:
        outcome.wrong.append(str(error))
    except Exception as error:
        # The other parts can still be measured; the whole run counts as wrong.
        outcome.wrong.append(repr(error))


def ticks_of(parts: Sequence[Part], *, rounds: int) -> int:
    """How often `run_rounds` calls `tick`."""
    each_round = [part for part in parts if not part.once]
    last = len(parts) + len({part.server for part in parts})
    return last + (rounds - 1) * (len(each_round) + len({part.server for part in each_round}))
