"""The charts of a report, for the admin theme's own parts, each with the rows of a table that says the same."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from orders.report.kept_sums import Sums
from orders.report.order_figures import Curve
from seckill.live.answer_groups import GROUPS, group_names

BARS_MAX = 60
# The theme reads its own colours; the others are those of the live board, on light and dark ground alike.
COLOURS = {
    "yes": "#43a047",
    "none_left": "#e0564a",
    "not_on_sale": "#9a8d80",
    "of_buyer": "#e69100",
    "failed": "#a45fb8",
}
# To be read on white and on black.
TEXT = "#8a8f98"
TICKS = {"color": TEXT, "maxTicksLimit": 8, "maxRotation": 0}
STACKED: dict[str, Any] = {
    "animation": False,
    "maintainAspectRatio": False,
    "plugins": {"legend": {"position": "bottom", "labels": {"boxWidth": 12, "color": TEXT}}},
    "scales": {
        "x": {"stacked": True, "ticks": TICKS, "grid": {"display": False}},
        "y": {"stacked": True, "ticks": {**TICKS, "precision": 0}, "beginAtZero": True},
    },
}


@dataclass(frozen=True, slots=True)
class Chart:
    """`data` and `options` are JSON for Chart.js. A row of the table begins with a time."""

    data: str
    options: str
    headings: Sequence[str | Promise]
    rows: Sequence[Sequence[Any]]


def sell_out_chart(curve: Curve, *, offered: int | None) -> Chart | None:
    """Units reserved since the opening, beside the units on sale."""
    reserved = curve.in_all
    if not reserved:
        return None
    ends = list(curve.ends)
    labels = labels_of(ends, seconds=curve.step_seconds < 60)
    line: dict[str, Any] = {"borderWidth": 2, "pointRadius": 0}
    sets = [{**line, "label": _("Units reserved"), "data": reserved, "borderColor": COLOURS["yes"], "stepped": True}]
    if offered is not None:
        stock = [offered] * len(reserved)
        sets.append({**line, "label": _("Units on sale"), "data": stock, "borderColor": COLOURS["none_left"]})
    axes = {**STACKED["scales"]["x"], "stacked": False}, {**STACKED["scales"]["y"], "stacked": False}
    options = {**STACKED, "scales": dict(zip("xy", axes, strict=True))}
    return Chart(
        data=json.dumps({"labels": labels, "datasets": sets}),
        options=json.dumps(options),
        headings=[_("Until"), _("Units reserved")],
        rows=list(zip(labels, reserved, strict=True)),
    )


def answers_chart(sums: Sums) -> Chart | None:
    """Calls in each step of some minutes, by what was answered."""
    steps = list(steps_of(sums))
    if not steps:
        return None
    labels = labels_of([at for at, _counts in steps], seconds=False)
    names = group_names()
    values = {group: [sum(counts[word] for word in words) for _at, counts in steps] for group, words in GROUPS.items()}
    shown = [group for group in GROUPS if any(values[group])]
    sets = [{"label": names[group], "data": values[group], "backgroundColor": COLOURS[group]} for group in shown]
    return Chart(
        data=json.dumps({"labels": labels, "datasets": sets}),
        options=json.dumps(STACKED),
        headings=[_("From"), *(names[group] for group in shown)],
        rows=list(zip(labels, *(values[group] for group in shown), strict=True)),
    )


def steps_of(sums: Sums) -> Iterator[tuple[datetime, Mapping[str, int]]]:
    """From the first answer to the last one, also where nobody asked; so many that a chart can show them."""
    if not sums.minutes:
        return
    first, last = min(sums.minutes), max(sums.minutes)
    width = sums.step_minutes * math.ceil(((last - first) // sums.step_minutes + 1) / BARS_MAX)
    found: dict[int, Counter[str]] = {}
    for minute, counts in sums.minutes.items():
        found.setdefault((minute - first) // width, Counter()).update(counts)
    for number in range((last - first) // width + 1):
        at = datetime.fromtimestamp((first + number * width) * 60, UTC)
        yield at, found.get(number, Counter())


def labels_of(times: Sequence[datetime], *, seconds: bool) -> list[str]:
    """In the zone of the page, with the day where there are several."""
    clock = "H:i:s" if seconds else "H:i"
    local = [timezone.localtime(at) for at in times]
    days = len({at.date() for at in local}) > 1
    return [date_format(at, f"m-d {clock}" if days else clock) for at in local]
