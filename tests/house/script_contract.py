"""The contract of a Lua script, as its header states it."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from seckill.ledger_words import (
    Adjusted,
    Archived,
    Confirmed,
    Departed,
    Forgotten,
    HandedOn,
    Joined,
    LineOpened,
    Published,
    Readmitted,
    Released,
    Restored,
)
from seckill.outcomes import Outcome
from seckill.store.scripts import LUA_DIR
from seckill.waiting_room.room_ledger import Admitted, Arrived, Entered

WORDS: dict[str, type[StrEnum]] = {
    "publish": Published,
    "reserve": Outcome,
    "readmit": Readmitted,
    "confirm": Confirmed,
    "release": Released,
    "adjust": Adjusted,
    "restore": Restored,
    "forget": Forgotten,
    "archive": Archived,
    "open_line": LineOpened,
    "join_line": Joined,
    "leave_line": Departed,
    "hand_on": HandedOn,
    "arrive": Arrived,
    "admit": Admitted,
    "enter": Entered,
}
# The verbs of waiting lists, and of waiting rooms; the others are those of items.
OF_LINE = ("open_line", "join_line", "leave_line", "hand_on")
OF_ROOMS = ("arrive", "admit", "enter")


@dataclass(frozen=True)
class Contract:
    """The header: the names of the slots, the words in their order, the shape of the reply, the example."""

    sentence: str
    keys: list[str]
    args: list[str]
    reply: list[str]
    words: list[str]
    example: str


@cache
def split(verb: str) -> tuple[str, str]:
    """Header and body; the header ends with the first line that is no comment."""
    lines = (LUA_DIR / f"{verb}.lua").read_text().splitlines()
    end = next(number for number, line in enumerate(lines) if not line.startswith("--"))
    return "\n".join(line.removeprefix("--") for line in lines[:end]), "\n".join(lines[end:])


@cache
def contract_of(verb: str) -> Contract:
    match = re.fullmatch(
        r" (?P<sentence>.+?)\n\n KEYS\n(?P<keys>.+?)\n ARGV\n(?P<args>.+?)\n"
        r" RETURNS \{(?P<reply>[^}]+)\}[^\n]*\n(?P<words>.+?)\n EXAMPLE\n(?P<example>.+)",
        split(verb)[0],
        re.DOTALL,
    )
    assert match, f"the header of {verb}.lua has no sentence, KEYS, ARGV, RETURNS and EXAMPLE in this order"
    return Contract(
        sentence=match["sentence"],
        keys=slots(match["keys"]),
        args=slots(match["args"]),
        reply=match["reply"].split(", "),
        words=[line.split()[0] for line in match["words"].splitlines()],
        example=match["example"],
    )


def slots(text: str) -> list[str]:
    """The names of numbered slots; each has a meaning beside it, and no number is left out."""
    rows = [re.fullmatch(r"   (\d) (\w+) {2,}\S.*", line) for line in text.splitlines()]
    assert all(rows), text
    assert [int(row[1]) for row in rows if row] == list(range(1, len(rows) + 1))
    return [row[2] for row in rows if row]
