"""The phase of a sale for staff, with drafts: as a label, and as a filter for lists."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Case, F, Q, QuerySet, When
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from seckill.models import Sale, SaleItem
from seckill.phase import Phase, in_phase

DRAFT = "draft"

PHASES = {
    DRAFT: _("draft"),
    Phase.UPCOMING: _("upcoming"),
    Phase.OPEN: _("open"),
    Phase.PAUSED: _("paused"),
    Phase.ENDED: _("ended"),
}

# As django-unfold names its colours.
LABEL_COLOURS = {
    DRAFT: "warning",
    Phase.UPCOMING: "info",
    Phase.OPEN: "success",
    Phase.PAUSED: "danger",
    Phase.ENDED: "default",
}


def labelled_phase(sale: Sale) -> tuple[str, str]:
    """The phase as a key of LABEL_COLOURS and as text."""
    phase = sale.phase_at(timezone.now()) if sale.is_published else DRAFT
    return phase, str(PHASES[phase])


def state_of(sale: Sale) -> str:
    """Phase and end in one text. When it changes, seckill/static/seckill/live-figures.js renews buttons and phase."""
    return f"{labelled_phase(sale)[0]} {sale.closes_at.isoformat()}"


def condition_for(phase: str, *, now: datetime, path: str) -> Q:
    """The rows in the phase; `path` leads from the row to its sale: "" or "sale__"."""
    published = Q(**{f"{path}published_at__isnull": False})
    return ~published if phase == DRAFT else published & in_phase(Phase(phase), now=now, path=path)


def open_first(*, path: str = "") -> list[Any]:
    """The order of a list: open and paused sales, the one that closes next at the top; then coming ones and drafts by
    their opening; then those that are over. As `condition_for`: `path` leads from the row to its sale.
    """
    now = timezone.now()
    is_over = Q(**{f"{path}closes_at__lte": now})
    has_begun = ~is_over & Q(**{f"{path}opens_at__lte": now, f"{path}published_at__isnull": False})
    group = Case(When(has_begun, then=0), When(is_over, then=2), default=1)
    next_moment = Case(When(has_begun, then=F(f"{path}closes_at")), When(~is_over, then=F(f"{path}opens_at")))
    return [group, next_moment, f"-{path}opens_at", f"-{path}pk", "pk"]


def item_state_of(item: SaleItem) -> str:
    """The same of an item, which may be paused alone."""
    return f"{state_of(item.sale)} alone" if item.paused else state_of(item.sale)


class PhaseFilter(admin.SimpleListFilter):
    title = _("phase")
    parameter_name = "phase"
    path = ""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        return [(phase, str(name)) for phase, name in PHASES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        phase = self.value()
        if phase not in PHASES:
            return queryset
        return queryset.filter(condition_for(phase, now=timezone.now(), path=self.path))


class ItemPhaseFilter(PhaseFilter):
    path = "sale__"
