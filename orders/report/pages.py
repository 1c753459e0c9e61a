"""The report of a sale: a page of the admin beside its live board, to print, and as a file."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from orders.report.report_charts import answers_chart, sell_out_chart
from orders.report.report_table import FORMATS, file_of
from orders.report.sale_report import Report, report_of
from orders.report.winners import age_names, arrival_names, network_names, step_name
from orders.staff.read_only_admin import amount_text, may_see_orders
from seckill.guards.guard_texts import rule_names
from seckill.live.answer_groups import word_names
from seckill.models import Sale
from seckill.staff.change_list import journal_of
from seckill.staff.permissions import may_see_sales
from seckill.staff.phase_filter import labelled_phase
from shop.addresses.countries import country_name
from shop.times.zone import zone_text


def asked_report(request: HttpRequest, sale_id: int) -> Report:
    if not may_see_sales(request):
        raise PermissionDenied
    return report_of(get_object_or_404(Sale, pk=sale_id, published_at__isnull=False))


@require_safe
def report_page(request: HttpRequest, sale_id: int) -> HttpResponse:
    """For `AdminSite.admin_view`."""
    report = asked_report(request, sale_id)
    sale, with_money = report.sale, may_see_orders(request)
    names = {row.item.pk: row.name for row in report.rows}
    languages = dict(settings.LANGUAGES)
    context: dict[str, Any] = {
        **admin.site.each_context(request),
        "opts": Sale._meta,
        "title": _("Report of “%(sale)s”") % {"sale": sale},
        "sale": sale,
        "report": report,
        "phase": labelled_phase(sale)[1],
        "zone": zone_text(),
        "sale_url": reverse("admin:seckill_sale_change", args=[sale.pk]),
        "files": [(kind.upper(), reverse("admin:seckill_sale_report_file", args=[sale.pk, kind])) for kind in FORMATS],
        "figures": figures_of(report, with_money=with_money),
        "with_money": with_money,
        "rows": [(row, money(row.units.revenue_minor), money(row.units.refunded_minor)) for row in report.rows],
        "sell_out": sell_out_chart(report.curve, offered=report.offered),
        "answers": answers_chart(report.sums),
        "words": [(name, report.sums.words[word]) for word, name in word_names().items() if report.sums.words[word]],
        "winners": winner_tables(report),
        "refused": [(rule_names()[rule], count) for rule, count in report.refused.items()],
        "countries": [(country_name(code), count) for code, count in most_first(report.sums.countries)],
        "languages": [(languages.get(code, code), count) for code, count in most_first(report.sums.languages)],
        "journal": journal_of(sale, names=names),
    }
    return TemplateResponse(request, "admin/orders/report/page.html", context)


@require_safe
def report_file(request: HttpRequest, sale_id: int, kind: str) -> HttpResponse:
    """For `AdminSite.admin_view`."""
    if kind not in FORMATS:
        raise Http404
    report = asked_report(request, sale_id)
    contents, content_type = file_of(report, kind=kind, with_money=may_see_orders(request))
    name = f"sale-{sale_id}-report.{kind}"
    return HttpResponse(contents, content_type, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def figures_of(report: Report, *, with_money: bool) -> list[tuple[str, str | int]]:
    """The first figures of the page."""
    total, times, unknown = report.total, report.times, _("not known")
    found: list[tuple[str, str | int]] = [
        (_("Asked"), unknown if report.asked is None else report.asked),
        (_("Units on sale"), _("unlimited") if report.offered is None else report.offered),
        (_("Units reserved"), total.units),
        (_("Units sold"), report.sold),
        (_("Reservations that were paid"), "–" if report.paid_share is None else f"{report.paid_share:.1%}"),
        (_("Buyers"), report.sums.buyers),
        (_("Half paid within"), duration(times.pay_median)),
        (_("Nine of ten paid within"), duration(times.pay_p90)),
        (_("Units returned"), total.returned_units),
        (_("of them sold again, at least"), report.sold_again),
    ]
    if with_money:
        revenue, refunded = money(total.revenue_minor), money(total.refunded_minor)
        found += [(_("Revenue before refunds"), revenue), (_("Refunded"), refunded)]
    return found


def winner_tables(report: Report) -> Iterator[tuple[str, Sequence[str], Sequence[Sequence[str | int]]]]:
    """A name for each table, its headings, and its rows."""
    winners, units, paid = report.winners, _("Units reserved"), _("of them paid")
    rows: list[Sequence[str | int]]
    if rows := [(step_name(first, last), won.units, won.paid_units) for first, last, won in winners.by_second]:
        yield _("Units by time since the opening"), (_("Time"), units, paid), rows
    if rows := [(age_names()[age], won.units, won.paid_units) for age, won in winners.by_age.items()]:
        yield _("Units by age of the account"), (_("Age"), units, paid), rows
    arrivals = report.sums.arrivals
    if rows := [(name, arrivals[when]) for when, name in arrival_names().items() if when in arrivals]:
        yield _("Units by arrival in the waiting room"), (_("Joined"), units), rows
    if networks := report.sums.networks:
        rows = [
            (name, networks[f"networks_{size}"], networks[f"units_{size}"])
            for size, name in network_names().items()
            if f"units_{size}" in networks
        ]
        rows += [(_("all"), networks["networks"], networks["units"]), (_("the largest"), 1, networks["largest"])]
        if networks["unknown"]:
            rows.append((_("not known"), "–", networks["unknown"]))
        yield _("Units by network"), (_("Units of a network"), _("Networks"), units), rows
    if draw := winners.draw:
        rows = [
            (_("Entered"), draw.entries, draw.units),
            (_("Won at the draw"), draw.won_entries, draw.won_units),
            (_("Won later"), draw.won_later_entries, draw.won_later_units),
        ]
        yield _("Draw"), ("", _("Entries"), _("Units")), rows


def most_first(counts: Any) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))


def money(minor: int) -> str:
    return amount_text(minor, settings.CURRENCY)


def duration(lasted: timedelta | None) -> str:
    """In seconds, or in minutes where there are many."""
    if lasted is None:
        return "–"
    seconds = round(lasted.total_seconds())
    if seconds < 120:
        return ngettext("%(count)d second", "%(count)d seconds", seconds) % {"count": seconds}
    minutes = round(seconds / 60)
    return ngettext("%(count)d minute", "%(count)d minutes", minutes) % {"count": minutes}
