"""The words of the live board."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from seckill.models import Sale
from seckill.staff.draw_figures import LABELS as DRAW_LABELS
from seckill.staff.room_figures import LABELS as ROOM_LABELS
from seckill.staff.room_figures import STATES
from shop.languages.kept_texts import Text


@dataclass(frozen=True, slots=True)
class Away:
    """What the board says while a server does not answer. `%s` is the time of what it said last."""

    name: str
    old: str
    unknown: str


def script_texts(sale: Sale) -> dict[str, str]:
    """What seckill/static/seckill/board.js writes."""
    asked = _("%(asked)s asked in the last minute, %(yes)s were told yes. Left: %(left)s.")
    drawn = _("%(draw_entries)s entries, %(draw_won)s winners now, %(draw_paid)s have paid. Left: %(left)s.")
    return {
        "lost": _("The shop does not answer. These figures are those of %s."),
        "signed_out": _("These figures are no longer renewed: sign in again."),
        "unlimited": _("unlimited"),
        "summary": drawn if sale.has_draw else asked,
        "highest": _("highest: %s in a second"),
    }


def cells_of(sale: Sale) -> list[tuple[str, Text, dict[str, Text]]]:
    """The figures of a draw or a waiting room: name, label, and the words of those that are no numbers."""
    if sale.has_draw:
        # The steps above the figures show the stage.
        labels: dict[str, Text] = {name: label for name, label in DRAW_LABELS.items() if name != "draw_stage"}
        passed_on = labels.pop("draw_passed_on")
        labels |= {"draw_asked": _("asked to pay now"), "draw_paid": _("winners who have paid")}
        labels["draw_passed_on"] = passed_on
        return [(name, label, {}) for name, label in labels.items()]
    if sale.has_room:
        states: dict[str, Text] = {state.value: text for state, text in STATES.items()}
        return [(name, label, states if name == "room_state" else {}) for name, label in ROOM_LABELS.items()]
    return []


def sources() -> list[Away]:
    """The servers by their names in the JSON."""
    return [
        Away(
            "cache",
            _("The cache server does not answer. Who asked is not known since %s."),
            _("The cache server does not answer. Who asked is not known."),
        ),
        Away(
            "reservation_store",
            _("The reservation store does not answer. Left, held, sold and waiting are those of %s."),
            _("The reservation store does not answer. Left, held, sold and waiting are not known."),
        ),
        Away(
            "database",
            _("PostgreSQL does not answer. Orders, paid orders and the journal are those of %s."),
            _("PostgreSQL does not answer. Orders and paid orders are not known."),
        ),
    ]
