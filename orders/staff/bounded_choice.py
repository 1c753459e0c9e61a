"""An action changes a bounded number of rows: one request must not lock, change and log tens of thousands."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import ngettext

# Rows on a page of a list, and the most that one action changes, even if the rows of all pages were selected.
LISTED_MAX = 100


@dataclass(frozen=True, slots=True)
class Choice:
    """The rows that the action takes, and how many others it could have changed."""

    pks: list[Any]
    more: int

    @property
    def not_all(self) -> str:
        """A sentence about the others; empty if there are none."""
        if not self.more:
            return ""
        text = ngettext(
            "An action changes at most %(max)d rows at a time. It can still change %(more)d of the selected rows: run "
            "it again for that one.",
            "An action changes at most %(max)d rows at a time. It can still change %(more)d of the selected rows: run "
            "it again for them.",
            self.more,
        )
        return text % {"max": LISTED_MAX, "more": self.more}


def limited_selection(selected: QuerySet[Any], *, possible: Q) -> Choice:
    """At most LISTED_MAX of the selected rows. Rows that the action can change come first, so that running it again
    makes progress; the rest are taken to be reported as skipped.
    """
    changeable = selected.filter(possible).order_by("pk").values_list("pk", flat=True)
    pks = list(changeable[:LISTED_MAX])
    if len(pks) == LISTED_MAX:
        return Choice(pks, more=changeable.count() - LISTED_MAX)
    others = selected.exclude(pk__in=pks).order_by("pk").values_list("pk", flat=True)
    return Choice([*pks, *others[: LISTED_MAX - len(pks)]], more=0)
