"""The texts of a waiting room: for the scripts of the sale's page, and for the page that reloads itself."""

from typing import Any

from django.utils.translation import gettext as _


def room_texts() -> dict[str, Any]:
    """By the state of a place; the others make up the lines of somebody who waits. Scripts fill in {placeholders}."""
    return {
        "before_opening": {
            "title": _("You are in the waiting room"),
            "detail": _("Your place is drawn at the start. You need not do anything; keep this page open."),
        },
        "waiting": {"title": _("You are in the waiting room"), "detail": ""},
        "called": {
            "title": _("It is your turn"),
            "detail": _(
                "You can reserve now. After half a minute others are called too, and the last units may be gone. "
                "After two minutes your turn has passed."
            ),
        },
        "lapsed": {
            "title": _("Your turn has passed"),
            "detail": _(
                "Your place was called, and you were not here. You can get a new place at the end of the line."
            ),
        },
        "sold_out": {
            "title": _("Everything is sold"),
            "detail": _("All units are paid for, so nothing can be left for anybody who waits. You can leave."),
        },
        "closed": {
            "title": _("The sale is over"),
            "detail": _("Nothing is sold any more. Thank you for waiting."),
        },
        "place": _("Your place is {place}. {ahead} places before it are not called yet."),
        "next": _("Your place is {place}. You are next."),
        "about": _("Your turn comes in about {from}."),
        "between": _("Your turn comes in about {from} to {to}."),
        "at_least": _("Your turn comes in {from} at the earliest. The line stands still at the moment."),
        "stands": _("The line stands still at the moment. You keep your place."),
        "few": _("{left} units are left at the moment, so it may be that none is left for you."),
        "computes": _("Your browser computes for some seconds. Then you get your place."),
        "asks": _("You have no place yet. This page goes on asking for one."),
        "connection": _("No connection. You keep your place; this page goes on asking."),
    }
