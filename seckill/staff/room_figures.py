"""The figures of a waiting room for staff."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from seckill.live.staff_figures import NO_NUMBER
from seckill.models import Sale
from seckill.store.client import StoreUnreachable
from seckill.waiting_room.room_ledger import RoomState, read_room

# In the order in which the page shows them. The names are also those of the figures that a script renews.
LABELS = {
    "room_people": gettext_lazy("have come"),
    "room_waiting": gettext_lazy("still waiting"),
    "room_called": gettext_lazy("places called"),
    "room_entered": gettext_lazy("let in"),
    "room_inside": gettext_lazy("called and still choosing"),
    "room_pace": gettext_lazy("people a minute"),
    "room_state": gettext_lazy("line"),
}
STATES = {
    RoomState.OPEN: gettext_lazy("moving"),
    RoomState.PAUSED: gettext_lazy("stands still"),
    RoomState.SOLD_OUT: gettext_lazy("over: sold out"),
    RoomState.CLOSED: gettext_lazy("over: closed"),
}


def room_numbers(sale_id: int) -> dict[str, int | str | None]:
    """By the names of LABELS; None where the store does not say it."""
    try:
        room = read_room(sale_id=sale_id)
    except StoreUnreachable:
        room = None
    if room is None:
        return dict.fromkeys(LABELS)
    numbers = (room.arrivals, room.waiting, room.called, room.entered, room.inside, room.pace or None)
    return dict(zip(LABELS, (*numbers, room.state.value), strict=True))


def room_figures(sale: Sale) -> dict[str, str]:
    """The same as text; empty for a sale without a waiting room."""
    if not sale.has_room:
        return {}
    numbers = room_numbers(sale.pk)
    texts = {name: NO_NUMBER if number is None else str(number) for name, number in numbers.items()}
    if state := numbers["room_state"]:
        texts |= {"room_pace": pace_text(sale, texts["room_pace"]), "room_state": str(STATES[RoomState(str(state))])}
    return texts


def pace_text(sale: Sale, pace: str) -> str:
    """The pace of now, and whether staff have set it."""
    return str(sale.pace) if sale.pace else _("%(pace)s (automatic)") % {"pace": pace}
