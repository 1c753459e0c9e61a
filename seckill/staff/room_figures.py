"""The figures of a waiting room for staff, as text."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from seckill.live.staff_figures import NO_NUMBER
from seckill.models import Sale
from seckill.store.client import StoreUnreachable
from seckill.waiting_room.room_ledger import Room, RoomState, read_room

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


def room_figures(sale: Sale) -> dict[str, str]:
    """By the names of LABELS; empty for a sale without a waiting room."""
    if not sale.has_room:
        return {}
    try:
        room = read_room(sale_id=sale.pk)
    except StoreUnreachable:
        room = None
    if room is None:
        return dict.fromkeys(LABELS, NO_NUMBER)
    numbers = (room.arrivals, room.waiting, room.called, room.entered, room.inside)
    return dict(zip(LABELS, (*map(str, numbers), pace_text(sale, room), str(STATES[room.state])), strict=True))


def pace_text(sale: Sale, room: Room) -> str:
    """The pace of now, and whether staff have set it."""
    if sale.pace:
        return str(sale.pace)
    return _("%(pace)s (automatic)") % {"pace": room.pace or NO_NUMBER}
