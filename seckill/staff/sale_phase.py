"""Where a sale stands for staff: a draft, paused, or by its window."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from seckill.models import Sale

PHASES = {
    "draft": _("draft"),
    "upcoming": _("upcoming"),
    "open": _("open"),
    "paused": _("paused"),
    "ended": _("ended"),
}

# The colours of the phases, in the words of django-unfold.
LABELS = {"draft": "warning", "upcoming": "info", "open": "success", "paused": "danger", "ended": "default"}


def phase_of(sale: Sale) -> tuple[str, str]:
    """The phase as a word and as people read it."""
    phase = sale.phase_at(timezone.now()) if sale.is_published else "draft"
    if sale.paused and phase in ("upcoming", "open"):
        phase = "paused"
    return phase, str(PHASES[phase])


def phase_condition(phase: str, *, now: datetime, path: str) -> Q:
    """Which rows are in the phase; `path` leads from the row to its sale: "" or "sale__"."""
    published = Q(**{f"{path}published_at__isnull": False})
    opened = Q(**{f"{path}opens_at__lte": now})
    closed = Q(**{f"{path}closes_at__lte": now})
    paused = Q(**{f"{path}paused": True})
    return {
        "draft": ~published,
        "upcoming": published & ~opened & ~paused,
        "open": published & opened & ~closed & ~paused,
        "paused": published & ~closed & paused,
        "ended": published & closed,
    }[phase]


class PhaseFilter(admin.SimpleListFilter):
    """Lists the sales of one phase."""

    title = _("phase")
    parameter_name = "phase"
    path = ""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        return [(phase, str(name)) for phase, name in PHASES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        phase = self.value()
        if phase not in PHASES:
            return queryset
        return queryset.filter(phase_condition(phase, now=timezone.now(), path=self.path))


class ItemPhaseFilter(PhaseFilter):
    """Lists the items whose sale is in one phase."""

    path = "sale__"
