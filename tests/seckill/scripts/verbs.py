"""One call of each verb, and items to which it says yes: for the tests of what holds for several scripts alike."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from seckill.ledger_words import RestoreAs
from tests.seckill.checked_item import CheckedItem, word_of

# One call of each verb; where it is about a hold or a place, about this one. A late payment is restored by all rules.
CALLS: dict[str, Callable[[CheckedItem, UUID], Any]] = {
    "reserve": lambda item, hold: item.reserve(hold),
    "readmit": lambda item, hold: item.readmit(hold),
    "confirm": lambda item, hold: item.confirm(hold),
    "release": lambda item, hold: item.release(hold),
    "adjust": lambda item, _hold: item.adjust(units=1),
    "restore": lambda item, hold: item.restore(hold, state=RestoreAs.LATE_PAYMENT),
    "forget": lambda item, hold: item.forget(hold),
    "archive": lambda item, _hold: item.archive(),
    "open_line": lambda item, _hold: item.open_line(),
    "join_line": lambda item, hold: item.join(hold, buyer=8),
    "leave_line": lambda item, hold: item.leave(hold, buyer=8),
    "hand_on": lambda item, _hold: item.hand_on(),
}
# The verbs that move the units of a hold that is there.
SETTLING = ["confirm", "release"]
# The verbs after which a reservation is there, and its entry in the outbox.
RESERVING = ["reserve", "readmit", "hand_on"]
STATES = ["held", "sold", "ended"]

STOCK = ["quantity", "left"]
COUNTERS = {
    "reserve": ["held", "sold", "reservations", *STOCK],
    "readmit": ["held", "sold", "reservations", *STOCK],
    "confirm": ["held", "sold"],
    "release": ["held", "sold", *STOCK],
    "adjust": ["held", "sold", *STOCK],
    "restore": ["held", "sold", "reservations", *STOCK],
    "hand_on": ["held", "sold", "reservations", "per_buyer_max", *STOCK],
}
WINDOW = ["opens_ms", "closes_ms"]
NUMBERS = {
    "reserve": [*WINDOW, "hold_ms", "per_buyer_max"],
    "readmit": ["per_buyer_max"],
    "restore": ["per_buyer_max"],
    "archive": ["closes_ms", "held"],
    "join_line": [*WINDOW, "per_buyer_max"],
    "hand_on": [*WINDOW, "hold_ms"],
}
TEXTS = {"reserve": ["state", "price_minor", "currency"], "join_line": ["state"], "hand_on": ["state"]}
PARTS = {verb: [*COUNTERS.get(verb, []), *NUMBERS.get(verb, []), *TEXTS.get(verb, [])] for verb in CALLS}
WITH_PARTS = [verb for verb in PARTS if PARTS[verb]]


def word(item: CheckedItem, verb: str, hold: UUID | None = None) -> Any:
    return word_of(CALLS[verb](item, hold or item.new_id()))


def ready(item: CheckedItem, verb: str, had: Sequence[str] = (), **terms: Any) -> UUID:
    """An item to which the verb says yes, although others `had` units. The hold or place that the call is about."""
    if verb in ("join_line", "leave_line", "hand_on"):
        item.publish_with_line(**{"quantity": max(len(had), 1), "per_buyer_max": 9, **terms})
    else:
        item.publish(**{"per_buyer_max": 9, **terms})
    for buyer, state in enumerate(had, start=11):
        getattr(item, state)(buyer=buyer)
    left = int(item.item().get("left", 0))
    if verb in SETTLING:
        return item.held()
    if verb in ("forget", "archive"):
        item.ended(buyer=8)
        ended = item.ended()
        if verb == "archive":
            item.drained()
        return ended
    if verb == "leave_line":
        return item.waiting(buyer=8, units=left + 1)
    if verb == "hand_on":
        item.waiting(buyer=8, units=left + 1)
        item.adjust(units=1)
    if verb == "join_line" and left:
        item.held(buyer=1, units=left)
    return item.new_id()
