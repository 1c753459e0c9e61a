"""A buyer's place in a waiting list, for API and pages: how many are ahead, and what that means."""

from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from seckill import ledger
from seckill.ledger_words import Joined
from seckill.line.line_ledger import JoinAnswer, Place, find_place
from seckill.outcomes import Outcome
from seckill.phase import Phase
from shop.times.timestamps import now_ms

# The refusals to join that reserving does not have: title and detail.
LINE_REFUSALS: dict[Joined, tuple[Any, Any]] = {
    Joined.NO_LINE: (
        gettext_lazy("No waiting list"),
        gettext_lazy("This sale has no waiting list. Units that come back are on sale again at once."),
    ),
    Joined.ALREADY_RESERVED: (
        gettext_lazy("Already reserved"),
        gettext_lazy("Units are reserved for you already. You find them under My orders."),
    ),
    Joined.UNITS_LEFT: (
        gettext_lazy("Units are available again"),
        gettext_lazy("You need not wait: reserve them now."),
    ),
    Joined.LINE_FULL: (
        gettext_lazy("The waiting list is full"),
        gettext_lazy("So many people wait already that no units would be left for you."),
    ),
}


# A person in line hears of units within some seconds, and by mail. Places change as units come back, and not faster.
POLL_MS = 5_000
# A person behind the next so many cannot get units within seconds, so their page asks less often.
NEAR, POLL_SLOWLY_MS = 50, 20_000


def place_body(*, item_id: int, buyer_id: int, reservation_id: UUID) -> dict[str, Any] | None:
    """The place in the form of the API; None if the buyer has none with this id. Raises StoreUnreachable.

    `poll_after_ms` is None once the sale is over.
    """
    place = find_place(item_id=item_id, buyer_id=buyer_id)
    if place is None or place.reservation_id != reservation_id:
        return None
    over = is_over(item_id)
    return {
        "units": place.units,
        "place": place.ahead + 1,
        "ahead": place.ahead,
        "note": line_note(place, over=over),
        "poll_after_ms": None if over else POLL_MS if place.ahead < NEAR else POLL_SLOWLY_MS,
    }


def is_over(item_id: int) -> bool:
    """An item that cannot be read now is being compared; its line goes on afterwards."""
    figures = ledger.read(item_id=item_id)
    return figures is not None and figures.phase is Phase.ENDED


def line_note(place: Place, *, over: bool) -> str:
    """What the buyer can expect, honestly."""
    if over:
        return _("The sale has ended, and no units came back for you. Nothing was charged.")
    if place.ahead or place.units > 1:
        return _(
            "Units that come back go to the first in line for whom there are enough. We cannot say whether enough will "
            "come back. You can close this page: we will write to you."
        )
    return _(
        "The next units that come back are yours. We cannot say whether any will come back. You can close this page: "
        "we will write to you."
    )


def refused_as(answer: JoinAnswer) -> ledger.Reservation:
    """A refusal to join that reserving has too, as that answer."""
    return ledger.Reservation(
        Outcome(answer.word.value),
        now_ms=now_ms(),
        retry_ms=answer.opens_in_ms,
        remaining=answer.remaining,
        per_buyer_max=answer.per_buyer_max,
    )
