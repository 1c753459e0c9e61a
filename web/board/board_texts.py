"""The words of the live board."""

from dataclasses import dataclass

from django.utils.translation import gettext as _


@dataclass(frozen=True, slots=True)
class Away:
    """What the board says while a server does not answer. `%s` is the time of what it said last."""

    name: str
    old: str
    unknown: str


def script_texts() -> dict[str, str]:
    """What seckill/static/seckill/board.js writes."""
    return {
        "lost": _("The shop does not answer. These figures are those of %s."),
        "signed_out": _("These figures are no longer renewed: sign in again."),
        "unlimited": _("unlimited"),
        "summary": _("%(asked)s asked in the last minute, %(yes)s were told yes. Left: %(left)s."),
        "highest": _("highest: %s in a second"),
    }


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
