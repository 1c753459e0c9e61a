"""The words that answer an attempt to reserve, in the order in which reserve.lua decides, and what each is over HTTP.

The order is the precedence: the first that applies is the answer. reserve.lua, this file and docs/design.md list the
same words in the same order; a test in tests/house/ compares them. (The habit is TigerBeetle's.)
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext_lazy as _


class Outcome(StrEnum):
    """What `ledger.reserve` answers. Refusal is the usual answer, so it is a value and not an exception."""

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


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """The HTTP face of an outcome. `retry_after_seconds` None means that a repetition is of no use."""

    status: int
    title: Any
    detail: Any
    retry_after_seconds: int | None = None


# Seconds for the client to wait are hints: long enough that a crowd of waiters stays cheap, short enough to be useful.
HTTP: dict[Outcome, HttpAnswer] = {
    Outcome.UNAVAILABLE: HttpAnswer(
        503,
        _("Not available right now"),
        _("This sale cannot answer right now. Please try again in a moment."),
        2,
    ),
    Outcome.ALREADY_RESERVED: HttpAnswer(201, _("Already yours"), _("These units were reserved for you before.")),
    Outcome.HOLD_ENDED: HttpAnswer(
        409,
        _("The hold has ended"),
        _("The units of this pass went back on sale. Get a new pass to try again."),
    ),
    Outcome.PAUSED: HttpAnswer(409, _("The sale is paused"), _("The shop has paused this sale. Try again soon."), 5),
    Outcome.NOT_OPEN: HttpAnswer(409, _("Not open yet"), _("The sale has not opened yet."), 1),
    Outcome.CLOSED: HttpAnswer(410, _("The sale is over"), _("The sale has closed.")),
    Outcome.SOLD_OUT: HttpAnswer(410, _("Sold out"), _("Every unit has been sold.")),
    Outcome.HELD_BY_OTHERS: HttpAnswer(
        409,
        _("All units are in other hands"),
        _("Nothing is left, but some buyers have not paid yet. Their units may come back."),
        5,
    ),
    Outcome.LIMIT_REACHED: HttpAnswer(
        409, _("Your limit is reached"), _("You would have more units of this item than one buyer may have.")
    ),
    Outcome.TOO_FEW_LEFT: HttpAnswer(409, _("Too few left"), _("Fewer units are left than you asked for.")),
    Outcome.RESERVED: HttpAnswer(201, _("Reserved"), _("The units are held for you until the deadline.")),
}
