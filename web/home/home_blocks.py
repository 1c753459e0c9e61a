"""The parts of the admin's first page in words: sales, what is to be done, orders by day, low stock, health."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from orders.preflight.kept import Result, is_about
from orders.preflight.page import verdict_on
from orders.preflight.process_looks import AUDIT_AGE_SECONDS_MAX
from seckill.ledger import Counters
from seckill.live.staff_figures import percent_of, units_text
from seckill.models import Sale, SaleItem
from seckill.staff.phase_filter import DRAFT, LABEL_COLOURS, labelled_phase
from shop.prices.money import to_decimal
from shop.prices.price_field import price_text
from shop.times.time_left import duration
from shop.times.zone import day_text
from web.home.day_sums import midnight
from web.home.home_figures import COUNT_MAX, LOW_MAX, SALES_MAX, Known


@dataclass(frozen=True, slots=True)
class SaleLine:
    """A sale that runs or comes. The percents are None where its units are unlimited or not known."""

    sale: Sale
    phase: str
    colour: str
    url: str
    board_url: str
    next_words: str
    next_at: datetime
    units: str
    sold_percent: float | None
    held_percent: float | None
    # Only while it has not opened.
    verdict: str = ""
    is_ready: bool = False
    looked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ToDo:
    """Something that waits for a person; `count` may be "99+"."""

    count: str
    text: str
    url: str


@dataclass(frozen=True, slots=True)
class HealthLine:
    name: str
    is_well: bool
    text: str


def sales_of(known: Known) -> dict[str, Any] | None:
    """None: nobody has said anything yet. `more` is whether the shop has more of them."""
    if known.rows is None:
        return None
    sales = known.rows.sales
    results = known.notes.results if known.notes else {}
    lines = [sale_line(sale, known.rows.items[sale.pk], known.counters, results) for sale in sales[:SALES_MAX]]
    return {"lines": lines, "more": len(sales) > SALES_MAX}


def sale_line(
    sale: Sale,
    items: Sequence[SaleItem],
    counters: Mapping[int, Counters | None],
    results: Mapping[int, Result],
) -> SaleLine:
    phase, phase_text = labelled_phase(sale)
    has_opened = sale.is_published and sale.opens_at <= timezone.now()
    last = None if has_opened else results.get(sale.pk)
    result = last if last and is_about(last, sale, items) else None
    text, sold_percent, held_percent = units_of(items, counters)
    if phase == DRAFT:
        text = ngettext("%(count)d item", "%(count)d items", len(items)) % {"count": len(items)}
    return SaleLine(
        sale=sale,
        phase=phase_text,
        colour=LABEL_COLOURS[phase],
        url=reverse("admin:seckill_sale_change", args=[sale.pk]),
        board_url="" if phase == DRAFT else reverse("board", args=[sale.pk]),
        next_words=_("closes at") if has_opened else _("opens at"),
        next_at=sale.closes_at if has_opened else sale.opens_at,
        units=text,
        sold_percent=sold_percent,
        held_percent=held_percent,
        verdict="" if has_opened else verdict_on(result) if result else _("Not checked yet."),
        is_ready=bool(result and not result.stops),
        looked_at=result.at if result else None,
    )


def units_of(
    items: Sequence[SaleItem], counters: Mapping[int, Counters | None]
) -> tuple[str, float | None, float | None]:
    """All units of the sale in words, and how much of them in per cent is sold and held."""
    of_items = [counters.get(item.pk) for item in items]
    found = [each for each in of_items if each is not None]
    if len(found) < len(items) or not found:
        return _("Units not known"), None, None
    sold, held = sum(each.sold for each in found), sum(each.held for each in found)
    left = None if any(each.left is None for each in found) else sum(each.left or 0 for each in found)
    words = _("sold %(sold)d · held %(held)d · left %(left)s") % {"sold": sold, "held": held, "left": units_text(left)}
    units = None if left is None else sold + held + left
    return words, percent_of(sold, units), percent_of(held, units)


def to_do_of(known: Known, seen: Sequence[str]) -> list[ToDo] | None:
    """What waits for a person among what this person may see. None: nobody has said yet."""
    if known.rows is None:
        return None
    waiting = "?status=waiting"
    all_of_them = {
        "approvals": (
            "",
            _("Changes that another person has to approve"),
            "orders_approvalrequest_changelist",
            waiting,
        ),
        "orders": ("orders", _("Orders that need attention"), "orders_ordertolookat_changelist", ""),
        "receipts": ("orders", _("Lost reservations"), "orders_ordertolookat_dead_letters", ""),
        "refunds": ("orders", _("Refunds that staff have to pay"), "orders_order_changelist", "?refund=owed"),
        "events": ("orders", _("Payment events that wait"), "orders_paymentevent_changelist", "?applied=no"),
        "changes": ("sales", _("Changes of sales that are pending"), "seckill_salechange_changelist", ""),
    }
    counts = known.rows.to_do
    return [
        ToDo(bounded(counts[name]), text, reverse(f"admin:{page}") + query)
        for name, (right, text, page, query) in all_of_them.items()
        if (right in seen or (not right and {"orders", "sales"} & set(seen))) and counts[name]
    ]


def bounded(count: int) -> str:
    return f"{COUNT_MAX}+" if count > COUNT_MAX else str(count)


def sums_of(known: Known) -> dict[str, Any] | None:
    if known.sums is None:
        return None
    labels = [day_text(midnight(each.day), with_year=False) for each in known.sums]
    rows = [
        {"day": label, "orders": each.orders, "paid": each.paid, "revenue": price_text(each.revenue_minor)}
        for label, each in zip(labels, known.sums, strict=True)
    ]
    revenue = [float(to_decimal(minor=each.revenue_minor, currency=settings.CURRENCY)) for each in known.sums]
    return {
        "today": rows[-1],
        "days": rows[::-1],
        "orders_chart": chart(_("Orders"), labels, [each.orders for each in known.sums]),
        "revenue_chart": chart(_("Revenue in %(currency)s") % {"currency": settings.CURRENCY}, labels, revenue),
    }


def chart(label: str, labels: Sequence[str], values: Sequence[float]) -> str:
    """For the theme's bar chart."""
    bars = {"label": label, "data": values, "backgroundColor": "var(--color-primary-600)", "maxBarThickness": 28}
    return json.dumps({"labels": labels, "datasets": [{**bars, "displayYAxis": True, "maxTicksXLimit": 7}]})


def low_stock_of(known: Known) -> dict[str, Any] | None:
    if known.rows is None:
        return None
    low = known.rows.low
    lines = [(variant, reverse("admin:shop_variant_change", args=[variant.pk])) for variant in low[:LOW_MAX]]
    url = reverse("admin:shop_variant_changelist") + "?stock=low"
    return {"lines": lines, "more": len(low) > LOW_MAX, "url": url}


def health_of(known: Known) -> list[HealthLine]:
    servers = {
        "database": _("PostgreSQL"),
        "reservation_store": _("Reservation store"),
        "cache": _("Cache"),
        "broker": _("Broker"),
    }
    lines = [
        HealthLine(name, True, _("answers"))
        if known.states[key]["up"]
        else HealthLine(name, False, _("does not answer"))
        for key, name in servers.items()
    ]
    return [*lines, workers_of(known), audit_of(known)]


def workers_of(known: Known) -> HealthLine:
    name = _("Workers and beat")
    notes = known.notes
    if notes is None or not known.states["cache"]["up"]:
        return HealthLine(name, False, _("not known while the cache does not answer"))
    if notes.all_late:
        return HealthLine(name, False, _("nothing was done for minutes: look at beat and at the workers"))
    if notes.late_queues:
        queues = ", ".join(notes.late_queues)
        return HealthLine(
            name, False, _("late in these queues: %(queues)s. Look at their workers.") % {"queues": queues}
        )
    return HealthLine(name, True, _("all regular work was done in time"))


def audit_of(known: Known) -> HealthLine:
    name = _("Audit of both stores")
    notes = known.notes
    if notes is None or not known.states["cache"]["up"]:
        return HealthLine(name, False, _("not known while the cache does not answer"))
    if notes.audit is None:
        if notes.audit_late:
            return HealthLine(name, False, _("none was made yet, though beat asks for one every minute"))
        return HealthLine(name, True, _("the first one will be made in a moment"))
    at_s, differences = notes.audit
    if differences:
        text = ngettext("%(count)d difference was found", "%(count)d differences were found", differences)
        return HealthLine(name, False, text % {"count": differences})
    age_seconds = max(int(time.time() - at_s), 1)
    ago = _("no differences %(time)s ago") % {"time": duration(age_seconds)}
    return HealthLine(name, age_seconds <= AUDIT_AGE_SECONDS_MAX, ago)
