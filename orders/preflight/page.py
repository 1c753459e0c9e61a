"""The pre-flight of a sale as a page of the admin: a list of looks, each filled in as soon as it is there.

A look takes up to some seconds, and a request makes one look only, so that no thread is held for long. With JavaScript
each line of the list asks for itself, one after another; without it the page leads on to itself after each look.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from orders.preflight import canaries
from orders.preflight.finding import Finding, Verdict
from orders.preflight.kept import Result, keep_look, keep_result, keep_terms, looks_of, result_of, terms_of_run
from orders.preflight.preflight import LOOKS, findings_of
from orders.preflight.process_looks import look_at_workers
from orders.preflight.sale_looks import look_at_terms
from orders.preflight.trial_mail import ask_for_mail
from seckill.models import Sale
from seckill.staff.publish_page import Risk
from shop.background.outages import AWAY
from shop.languages.kept_texts import Text
from shop.staff.admin_base import StaffAdmin

# The verdict follows the looks, as one more line.
VERDICT = len(LOOKS)
# A result that is older says little about the servers of now.
FRESH = timedelta(minutes=15)


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
    return page(model_admin, request, sale, new_run(sale))


def new_run(sale: Sale) -> list[Line]:
    run = uuid4()
    if canaries.send(run):
        keep_terms(run, sale)
    return [waiting_line(sale, run, number) for number in range(VERDICT + 1)]


def before_publishing(sale: Sale) -> tuple[list[Risk], dict[str, Any]]:
    """For the page that asks before it publishes: each stop is confirmed, and so is publishing without a look.

    Where the last look is too old, or the draft was changed since, the page looks by itself, and is then shown anew
    (`look`).
    """
    result = result_of(sale)
    again_url = reverse("admin:seckill_sale_check_before_opening", args=[sale.pk])
    context = {"before_template": "admin/orders/preflight/before_publishing.html", "again_url": again_url}
    if result is None or timezone.now() - result.at > FRESH:
        text = _("The sale was not checked in the last minutes. Publish it without the check.")
        return [Risk("unchecked", text)], {**context, "lines": new_run(sale)}
    risks = [
        Risk(
            f"stop-{result.at.timestamp()}-{number}-{place}",
            _("Publish in spite of this stop: %(stop)s %(todo)s") % {"stop": finding.text, "todo": finding.todo},
        )
        for number, found in result.found.items()
        # What the rules of publishing say cannot be ticked away.
        if LOOKS[number].find is not look_at_terms
        for place, finding in enumerate(found)
        if finding.verdict == Verdict.STOP
    ]
    return risks, {**context, "result": result, "verdict": verdict_on(result)}


def look(model_admin: StaffAdmin, request: HttpRequest, *, sale_id: int, run: UUID, number: int) -> HttpResponse:
    """Make one look. The answer is its line for the page's script, else the page with all that is known."""
    sale = sale_of(model_admin, request, sale_id)
    if number > VERDICT:
        raise Http404
    line = verdict_line(sale, run) if number == VERDICT else looked_line(sale, run, number)
    if request.htmx:  # type: ignore[attr-defined]
        answer = TemplateResponse(request, "admin/orders/preflight/line.html", {"line": line})
        # The page that publishes shows the stops above its button.
        if line.verdict and "/publish/" in str(request.htmx.current_url):  # type: ignore[attr-defined]
            answer["HX-Redirect"] = reverse("admin:seckill_sale_publish", args=[sale.pk])
        return answer
    known = looks_of(run)
    lines = [
        waiting_line(sale, run, other, findings=known.get(other) if other < number else None)
        for other in range(VERDICT + 1)
    ]
    lines[number] = line
    return page(model_admin, request, sale, lines)


def send_mail(model_admin: StaffAdmin, request: HttpRequest, *, sale_id: int) -> HttpResponse:
    """Have a worker send a mail to the one who asks, and begin a new run, whose look at the mails tells of it."""
    sale = sale_of(model_admin, request, sale_id)
    to = cast(User, request.user).email
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    if not to:
        messages.error(request, _("Your account has no mail address: enter one on its page, and try again."))
    else:
        try:
            ask_for_mail(to=to, language=get_language() or settings.LANGUAGE_CODE)
        except AWAY:
            messages.error(request, _("The cache or the broker does not answer, so no mail was sent. Try again later."))
        else:
            model_admin.log_change(request, sale, _("Had a test mail sent."))
            text = _("A test mail to %(address)s is on its way. The line “Mails” below says whether it was sent.")
            messages.success(request, text % {"address": to})
    return redirect("admin:seckill_sale_check_before_opening", sale.pk)


def sale_of(model_admin: StaffAdmin, request: HttpRequest, sale_id: int | str) -> Sale:
    with transaction.atomic():
        sale: Sale | None = model_admin.get_object(request, str(sale_id))
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
        "mail_url": reverse("admin:seckill_sale_test_mail", args=[sale.pk]),
        "publish_url": "" if sale.is_published else reverse("admin:seckill_sale_publish", args=[sale.pk]),
    }
    return TemplateResponse(request, "admin/orders/preflight/page.html", context)


def waiting_line(sale: Sale, run: UUID, number: int, **more: Any) -> Line:
    title = _("Result") if number == VERDICT else LOOKS[number].title
    return Line(number, title, reverse("admin:seckill_sale_preflight_look", args=[sale.pk, run, number]), **more)


def looked_line(sale: Sale, run: UUID, number: int) -> Line:
    silent = canaries.waiting_queues(run)
    if LOOKS[number].find is look_at_workers and silent and canaries.may_still_come(run):
        return waiting_line(sale, run, number, asks_again=True)
    found = list(findings_of(LOOKS[number], sale, silent=silent))
    keep_look(run, number, found)
    return waiting_line(sale, run, number, findings=found)


def verdict_line(sale: Sale, run: UUID) -> Line:
    """Counts what the run has found, and keeps it as the sale's result."""
    known = looks_of(run)
    if len(known) < VERDICT:
        text = _("This page was open too long, so its result is not kept. Look again.")
        return waiting_line(sale, run, VERDICT, findings=[], verdict=text)
    result = keep_result(sale.pk, known, terms=terms_of_run(run))
    return waiting_line(sale, run, VERDICT, findings=[], verdict=verdict_on(result), ready=not result.stops)


def verdict_on(result: Result) -> str:
    """One or two sentences: whether the sale can open as it is."""
    stops = len(result.stops)
    warnings = sum(finding.verdict == Verdict.WARNING for finding in result.findings)
    more = ngettext("%(count)d warning to look at.", "%(count)d warnings to look at.", warnings) % {"count": warnings}
    if stops:
        text = ngettext("Not ready: %(count)d stop to mend.", "Not ready: %(count)d stops to mend.", stops)
        return f"{text % {'count': stops}} {more if warnings else ''}".strip()
    later = sum(finding.verdict == Verdict.LATER for finding in result.findings)
    text = ngettext(
        "Ready to try here; %(count)d thing to do before real customers come.",
        "Ready to try here; %(count)d things to do before real customers come.",
        later,
    )
    return f"{text % {'count': later} if later else _('Ready.')} {more if warnings else ''}".strip()
