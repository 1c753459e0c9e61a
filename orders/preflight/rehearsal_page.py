"""The rehearsal of a sale as a page of the admin: its start, its progress, and the last report.

A worker runs it. The page asks for the figures of the moment once a second, and loads itself anew at the end. Without
JavaScript it does that every few seconds.
"""

import json
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldBooleanWidget

from orders.models import Rehearsal
from orders.preflight.finding import listed
from orders.preflight.page import sale_of
from orders.preflight.rehearsal_verdict import ENDINGS, Report, findings_of, words_of, worst_of
from orders.rehearsal.plan import BUYERS_MAX, BUYERS_MIN, Refused, check_allowed, sales_of_now, usual_buyers
from orders.rehearsal.rehearsal_report import last_report
from orders.rehearsal.running import end_silent, run_in_worker, start
from seckill.models import Sale
from shop.languages.kept_texts import in_readers_language
from shop.staff.admin_base import StaffAdmin

# Colours that differ in the theme's light and dark mode, and for people who see no red.
GREEN, GREY, RED, BLUE, AMBER = "#16a34a", "#94a3b8", "#dc2626", "#2563eb", "#d97706"


class StartForm(forms.Form):
    """How many buyers; where other sales run, also that they may be slowed down."""

    buyers = forms.IntegerField(
        label=gettext_lazy("Simulated buyers"),
        min_value=BUYERS_MIN,
        max_value=BUYERS_MAX,
        widget=UnfoldAdminIntegerFieldWidget,
    )

    def __init__(self, *args: Any, others: list[Sale], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if others:
            text = _("Rehearse although buyers of %(sales)s need these machines now") % {"sales": listed(others)}
            self.fields["anyway"] = forms.BooleanField(label=text, widget=UnfoldBooleanWidget)


def page(model_admin: StaffAdmin, request: HttpRequest, *, sale_id: str) -> HttpResponse:
    """A POST starts a rehearsal."""
    sale = sale_of(model_admin, request, sale_id)
    end_silent()
    form = StartForm(request.POST or None, initial={"buyers": usual_buyers(sale)}, others=sales_of_now())
    if request.method == "POST" and form.is_valid():
        try:
            run_in_worker(start(sale, buyers=form.cleaned_data["buyers"], made_by=cast(User, request.user)))
        except Refused as refusal:
            model_admin.message_user(request, str(refusal.args[0]), messages.ERROR)
        return redirect(request.path)
    return TemplateResponse(request, "admin/orders/rehearsal/page.html", context_of(model_admin, request, sale, form))


def context_of(model_admin: StaffAdmin, request: HttpRequest, sale: Sale, form: StartForm) -> dict[str, Any]:
    last = sale.rehearsals.first()
    reported = last_report(sale_id=sale.pk)
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": _("Rehearse “%(sale)s”") % {"sale": sale},
        "sale": sale,
        "form": form,
        "why_not": why_not(sale),
        "running": last if last and last.is_running else None,
        "broken": last if last and last.status == Rehearsal.Status.BROKEN else None,
        "problem": in_readers_language(last.problem) if last else "",
        "progress_url": reverse("admin:seckill_sale_rehearsal_progress", args=[sale.pk]),
        "sale_url": model_admin.page_of(sale),
        "check_url": reverse("admin:seckill_sale_check_before_opening", args=[sale.pk]),
    }
    if reported is not None:
        context |= {"reported": reported, **context_of_report(reported.report)}
    return context


def why_not(sale: Sale) -> str:
    try:
        check_allowed(sale)
    except Refused as refusal:
        return str(refusal.args[0])
    return ""


def context_of_report(report: Report) -> dict[str, Any]:
    worst = worst_of(report)
    return {
        "report": report,
        "findings": findings_of(report),
        "worst": worst,
        "ending": ENDINGS[worst],
        "answers": words_of(report),
        "answer_chart": json.dumps(answer_chart(report)),
        "course_chart": json.dumps(course_chart(report)),
        "stacked": json.dumps(options(stacked=True)),
        "plain": json.dumps(options(stacked=False)),
        "steps": [(at_s(report, number), *step) for number, step in enumerate(report["steps"])],
    }


def at_s(report: Report, number: int) -> str:
    return f"{number * report['step_seconds']:g}"


def answer_chart(report: Report) -> dict[str, Any]:
    """For Chart.js: columns of yes, no, and neither."""
    names = ((_("Heard yes"), GREEN), (_("Heard no"), GREY), (_("Heard neither"), RED))
    return {
        "labels": [at_s(report, number) for number in range(len(report["steps"]))],
        "datasets": [
            {"label": name, "backgroundColor": colour, "data": [step[place] for step in report["steps"]]}
            for place, (name, colour) in enumerate(names)
        ],
    }


def course_chart(report: Report) -> dict[str, Any]:
    """For Chart.js: lines of what waits to be an order, and of units held and left."""
    names = ((_("Not orders yet"), BLUE, 1), (_("Units held"), AMBER, 2), (_("Units left"), GREEN, 3))
    return {
        "datasets": [
            {
                "label": name,
                "borderColor": colour,
                "backgroundColor": colour,
                "pointRadius": 0,
                "borderWidth": 2,
                "data": [{"x": row[0], "y": row[place]} for row in report["course"]],
            }
            for name, colour, place in names
        ],
    }


def options(*, stacked: bool) -> dict[str, Any]:
    """For Chart.js: of columns side by side, else of points along the time."""
    ticks = {"color": "#9ca3af", "maxTicksLimit": 8}
    title = {"display": True, "text": _("seconds after the opening"), "color": "#9ca3af"}
    return {
        "animation": False,
        "responsive": True,
        "maintainAspectRatio": False,
        "interaction": {"mode": "index", "intersect": False},
        "plugins": {"legend": {"display": True, "labels": {"color": "#9ca3af", "boxWidth": 10}}},
        "scales": {
            "x": {"type": "category" if stacked else "linear", "stacked": stacked, "ticks": ticks, "title": title},
            "y": {"stacked": stacked, "beginAtZero": True, "ticks": {**ticks, "precision": 0}},
        },
    }


def progress(model_admin: StaffAdmin, request: HttpRequest, *, sale_id: int) -> HttpResponse:
    """The figures of the moment, as a part of the page. At the end the page is loaded anew."""
    sale = sale_of(model_admin, request, sale_id)
    end_silent()
    running = sale.rehearsals.filter(status=Rehearsal.Status.RUNNING).first()
    context = {"running": running, "progress_url": request.path}
    answer = TemplateResponse(request, "admin/orders/rehearsal/progress.html", context)
    if running is None:
        answer["HX-Refresh"] = "true"
    return answer
