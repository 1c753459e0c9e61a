"""The picture of a run, as an SVG file: answers in a second, and what each must reach."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.charts import label, name_rows, save
from bench.measure.speed.ratios import Spread, Verdict, spread
from bench.measure.speed.rounds import Outcome
from bench.measure.speed.server_groups import SHOP, SHOP_CONFIRMED
from bench.measure.speed.speed_results import spreads_of
from bench.measure.speed.speed_tables import bound_of

SHOPS = (SHOP, SHOP_CONFIRMED)
OURS, BARE, REACHED, MISSED, LINE = "#2b6cb0", "#a0aec0", "#2f855a", "#c53030", "#1a202c"


def draw(outcomes: Sequence[Outcome], verdicts: Sequence[Verdict], *, path: Path) -> None:
    """Draw the chart. A run that has neither rates nor verdicts gives no file."""
    rates = {
        outcome.part.title: (figures["per_second"], outcome.part.server)
        for outcome in outcomes
        if "per_second" in (figures := spreads_of(list(outcome.samples.values())))
    }
    verdicts = [verdict for verdict in verdicts if verdict.target.bound is not None]
    if not rates:
        return
    rows = len(rates) + len(verdicts)
    picture = Figure(figsize=(9, 0.3 * rows + 2))
    heights = [len(rates), len(verdicts)] if verdicts else [len(rates)]
    panels = picture.subplots(len(heights), 1, height_ratios=heights, squeeze=False)
    rates_panel(panels[0][0], rates)
    if verdicts:
        verdicts_panel(panels[1][0], verdicts)
    picture.tight_layout()
    save(picture, path)


def rates_panel(axes: Axes, rates: Mapping[str, tuple[Spread, str]]) -> None:
    """Answers in a second, on a logarithmic scale: the bare servers grey, the shop blue."""
    for row, (found, server) in enumerate(rates.values()):
        axes.barh(row, found.median, color=OURS if server in SHOPS else BARE)
        axes.hlines(row, found.low, found.high, color=LINE, linewidth=1)
        label(axes, found.high, row, f"{found.median:,.0f}")
    name_rows(axes, list(rates), title="Answers in a second; the line is the range of the rounds")
    axes.set_xscale("log")
    axes.set_xlim(right=3 * max(found.high for found, _server in rates.values()))


def verdicts_panel(axes: Axes, verdicts: Sequence[Verdict]) -> None:
    """Each target as a share of its bound, so that 1 is the bound. For "at most" it is the inverse."""
    for row, verdict in enumerate(verdicts):
        found = spread([share_of_bound(verdict, value) for value in verdict.values])
        axes.barh(row, found.median, color=REACHED if verdict.reached else MISSED)
        axes.hlines(row, found.low, found.high, color=LINE, linewidth=1)
        label(axes, found.high, row, f"{verdict.median:.3g} {verdict.target.unit}".strip())
    axes.axvline(1, color=LINE, linewidth=1)
    names = [f"{verdict.target.title} ({bound_of(verdict.target)})" for verdict in verdicts]
    name_rows(axes, names, title="What it must reach: right of the line is reached")
    axes.set_xscale("log")


def share_of_bound(verdict: Verdict, value: float) -> float:
    """1 at the bound and more where it is reached. A value of 0 is drawn as a small one."""
    value, bound = max(value, 0.001), verdict.target.bound or 1
    return bound / value if verdict.target.at_most else value / bound
