"""The share of units that the script gets, for each way and rule: the mean of some rounds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean

from bench.measure.fairness.crowd import RULES, People, Rule, people
from bench.measure.fairness.ways import WAYS


@dataclass(frozen=True, slots=True)
class Round:
    """Units by who got them; honest buyers whom the rules saw and refused; processor time of proofs."""

    script_units: int
    honest_units: int
    honest_asked: int
    honest_refused: int
    script_seconds: float
    honest_seconds: float

    @property
    def share(self) -> float:
        return self.script_units / (self.script_units + self.honest_units)


@dataclass(frozen=True, slots=True)
class Line:
    """A way with a rule: the rounds by number of accounts."""

    way: str
    rule: str
    rounds: dict[int, list[Round]]

    def cells(self) -> list[str]:
        """Of the honest buyers and of the computing: those with the most accounts."""
        most = self.rounds[max(self.rounds)]
        asked, refused = sum(one.honest_asked for one in most), sum(one.honest_refused for one in most)
        minutes = fmean(one.script_seconds for one in most) / 60
        of_one = sum(one.honest_seconds for one in most) / asked if asked else 0.0
        return [
            self.way,
            self.rule,
            *(f"{fmean(one.share for one in rounds):.1%}" for rounds in self.rounds.values()),
            f"{refused / asked:.0%}" if asked else "–",
            f"{minutes:.0f} min" if minutes else "–",
            f"{of_one:.1f} s" if of_one else "–",
        ]


def measure(
    *, honest: int, units: int, accounts: Sequence[int], rounds: int, seed: int, try_seconds: float
) -> Iterator[Line]:
    """The lines of the table. Each round has its own chance, which the seed decides."""
    found = people(honest=honest, accounts_max=max(accounts), try_seconds=try_seconds)
    for way in WAYS:
        for rule in RULES:
            if way == "draw" and rule.fields.get("proof_of_work"):
                # An entry needs no proof.
                continue
            line = Line(way, rule.name, {count: [] for count in accounts})
            for count, done in line.rounds.items():
                for number in range(rounds):
                    chance = Random(f"{seed} {way} {rule.name} {count} {number}")
                    done.append(one_round(way, rule, found, accounts=count, units=units, chance=chance))
            yield line


def one_round(way: str, rule: Rule, found: People, *, accounts: int, units: int, chance: Random) -> Round:
    crowd = found.crowd(accounts=accounts, rule=rule, chance=chance)
    winners = WAYS[way](crowd, units=units)
    of_script = sum(buyer.is_script for buyer in winners)
    return Round(
        of_script,
        len(winners) - of_script,
        crowd.asked_honest,
        crowd.refused_honest,
        crowd.script_seconds,
        crowd.honest_seconds,
    )
