"""The pre-flight of a sale as a page of the admin: a list of looks, each filled in as soon as it is there.

A look takes up to some seconds, and a request makes one look only, so that no thread is held for long. With JavaScript
each line of the list asks for itself, one after another; without it the page leads on to itself after each look.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from orders.preflight import canaries
from orders.preflight.finding import Finding, Verdict
from orders.preflight.kept import keep_look, keep_result, looks_of
from orders.preflight.preflight import LOOKS, findings
from orders.preflight.process_looks import findings_about_workers, look_at_workers
from seckill.models import Sale
from shop.languages.kept_texts import Text
from shop.staff.admin_base import StaffAdmin

# The verdict follows the looks, as one more line.
VERDICT = len(LOOKS)


@dataclass(frozen=True, slots=True)
class Line:
    """A look as the page shows it; `findings` is None while it is waited for."""

    number: int
    title: Text
    url: str
    findings: list[Finding] | None = None
    # Messages are under way to the workers.
    asks_again: bool = False
    verdict: str = ""
    ready: bool = False


def start(model_admin: StaffAdmin, request: HttpRequest, *, sale_id: str) -> HttpResponse:
    """The page of a new run: nothing is known yet, and messages are on their way through the queues."""
    sale = sale_of(model_admin, request, sale_id)
    run = uuid4()
    canaries.send(run)
    lines = [waiting_line(sale, run, number) for number in range(VERDICT + 1)]
    return page(model_admin, request, sale, lines)


def look(model_admin: StaffAdmin, request: HttpRequest, *, sale_id: str, run: UUID, number: int) -> HttpResponse:
    """Make one look. The answer is its line for the page's script, else the page with all that is known."""
    sale = sale_of(model_admin, request, sale_id)
    if number > VERDICT:
        raise Http404
    line = verdict_line(sale, run) if number == VERDICT else looked_line(sale, run, number)
    if request.htmx:  # type: ignore[attr-defined]
        return TemplateResponse(request, "admin/orders/preflight/line.html", {"line": line})
    known = looks_of(run)
    lines = [
        waiting_line(sale, run, other, findings=known.get(other) if other < number else None)
        for other in range(VERDICT + 1)
    ]
    lines[number] = line
    return page(model_admin, request, sale, lines)


def sale_of(model_admin: StaffAdmin, request: HttpRequest, sale_id: str) -> Sale:
    with transaction.atomic():
        sale: Sale | None = model_admin.get_object(request, sale_id)
    if sale is None:
        raise Http404
    if not model_admin.has_change_permission(request, sale):
        raise PermissionDenied
    return sale


def page(model_admin: StaffAdmin, request: HttpRequest, sale: Sale, lines: list[Line]) -> HttpResponse:
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": _("Check “%(sale)s” before it opens") % {"sale": sale},
        "sale": sale,
        "lines": lines,
        # The first line that is waited for; where there is none, the verdict is there.
        "next_url": next((line.url for line in lines if line.findings is None), ""),
        "asks_again": any(line.asks_again for line in lines),
        "again_url": reverse("admin:seckill_sale_check_before_opening", args=[sale.pk]),
        "sale_url": model_admin.page_of(sale),
    }
    return TemplateResponse(request, "admin/orders/preflight/page.html", context)


def waiting_line(sale: Sale, run: UUID, number: int, **more: Any) -> Line:
    title = _("Result") if number == VERDICT else LOOKS[number].title
    return Line(number, title, reverse("admin:seckill_sale_preflight_look", args=[sale.pk, run, number]), **more)


def looked_line(sale: Sale, run: UUID, number: int) -> Line:
    if LOOKS[number].find is look_at_workers:
        silent = canaries.waiting_queues(run)
        if silent and canaries.may_still_come(run):
            return waiting_line(sale, run, number, asks_again=True)
        found = list(findings(lambda _sale: findings_about_workers(silent), sale))
    else:
        found = list(findings(LOOKS[number].find, sale))
    keep_look(run, number, found)
    return waiting_line(sale, run, number, findings=found)


def verdict_line(sale: Sale, run: UUID) -> Line:
    """Counts what the run has found, and keeps it as the sale's result."""
    known = looks_of(run)
    if len(known) < VERDICT:
        text = _("This page was open too long, so its result is not kept. Look again.")
        return waiting_line(sale, run, VERDICT, findings=[], verdict=text)
    found = [finding for number in sorted(known) for finding in known[number]]
    keep_result(sale.pk, found)
    return waiting_line(sale, run, VERDICT, findings=[], verdict=verdict_on(found), ready=not stops_of(found))


def stops_of(found: list[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.verdict == Verdict.STOP]


def verdict_on(found: list[Finding]) -> str:
    """One sentence: whether the sale can open as it is."""
    stops = len(stops_of(found))
    warnings = sum(finding.verdict == Verdict.WARNING for finding in found)
    more = ngettext("%(count)d warning to look at.", "%(count)d warnings to look at.", warnings) % {"count": warnings}
    if stops:
        text = ngettext("Not ready: %(count)d stop to mend.", "Not ready: %(count)d stops to mend.", stops)
        return f"{text % {'count': stops}} {more if warnings else ''}".strip()
    return f"{_('Ready.')} {more if warnings else ''}".strip()
