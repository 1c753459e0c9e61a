"""The words that answer an attempt to reserve, in the order of the checks in reserve.lua, and their HTTP answers.

The first that applies is the answer. reserve.lua, this file and docs/design.md list the same words in the same order;
a test in tests/house/ compares them. (The idea is TigerBeetle's.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext_lazy as _


class Outcome(StrEnum):
    """The answers of `ledger.reserve`. A refusal is the usual answer, so it is a value and not an exception."""

    UNAVAILABLE = "unavailable"
    ALREADY_RESERVED = "already_reserved"
    HOLD_ENDED = "hold_ended"
    PAUSED = "paused"
    NOT_OPEN = "not_open"
    CLOSED = "closed"
    SOLD_OUT = "sold_out"
    HELD_BY_OTHERS = "held_by_others"
    LIMIT_REACHED = "limit_reached"
    TOO_FEW_LEFT = "too_few_left"
    RESERVED = "reserved"

    # That of enums is a function in Python, called each time an outcome is looked for in a dict.
    __hash__ = str.__hash__


# As `Outcome(word)`, which takes 0.3 µs: fourteen times as long.
BY_WORD: dict[str | bytes, Outcome] = {word: it for it in Outcome for word in (it.value, it.value.encode())}
# These answers contain the units and the deadline of a hold; the first two tell the buyer yes.
WITH_HOLD = (Outcome.RESERVED, Outcome.ALREADY_RESERVED, Outcome.HOLD_ENDED)
YES_WORDS = (b"reserved", b"already_reserved")


def is_yes(reply: Sequence[bytes]) -> bool:
    """Whether a reply of reserve.lua is a yes."""
    return reply[0] in YES_WORDS


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An outcome over HTTP. `retry_after_seconds` None means that trying again is of no use."""

    status: int
    title: Any
    detail: Any
    retry_after_seconds: int | None = None


# The seconds to wait are hints: long enough that many waiting clients cost little, short enough to be useful.
HTTP: dict[Outcome, HttpAnswer] = {
    Outcome.UNAVAILABLE: HttpAnswer(
        503,
        _("Temporarily unavailable"),
        _("We cannot take reservations for this item right now. Please try again in a moment."),
        2,
    ),
    Outcome.ALREADY_RESERVED: HttpAnswer(201, _("Already reserved"), _("These units are already reserved for you.")),
    Outcome.HOLD_ENDED: HttpAnswer(
        409,
        _("Your reservation has ended"),
        _("The units are no longer held for you. You can try again with a new pass."),
    ),
    Outcome.PAUSED: HttpAnswer(
        409, _("The sale is paused"), _("The shop has paused this sale. Please try again soon."), 5
    ),
    Outcome.NOT_OPEN: HttpAnswer(409, _("Not open yet"), _("The sale has not opened yet."), 1),
    Outcome.CLOSED: HttpAnswer(410, _("The sale is over"), _("This sale has ended.")),
    Outcome.SOLD_OUT: HttpAnswer(410, _("Sold out"), _("All units have been sold.")),
    Outcome.HELD_BY_OTHERS: HttpAnswer(
        409,
        _("All remaining units are reserved"),
        _("Some buyers have not paid yet. Units that are not paid for go back on sale, so please try again soon."),
        5,
    ),
    Outcome.LIMIT_REACHED: HttpAnswer(
        409, _("Purchase limit reached"), _("You cannot reserve this many: it would exceed the limit per buyer.")
    ),
    Outcome.TOO_FEW_LEFT: HttpAnswer(
        409, _("Not enough left"), _("Fewer units are left than you asked for. Please choose a smaller number.")
    ),
    Outcome.RESERVED: HttpAnswer(201, _("Reserved"), _("The units are held for you until the payment deadline.")),
}
