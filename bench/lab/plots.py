"""The plots of a run of the lab, as SVG files."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from bench.charts import label, name_rows, save
from bench.lab.fault_runs import FaultRun
from bench.lab.series import Run, SeriesResult
from bench.strategies.all_strategies import BY_ID
from bench.strategies.base.strategy import Fault

GREEN, PALE, AMBER, RED, GREY, BLUE = "#2f855a", "#9ccfae", "#c98a00", "#c53030", "#a0aec0", "#2b6cb0"

WHEN = {
    Fault.PAUSED: "when a buyer was paused",
    Fault.KILLED: "when a buyer was killed",
    Fault.STORE_RESTARTED: "when the store restarted",
    Fault.STORE_LOST: "when the store lost its data",
    Fault.CLOCK_AHEAD: "when a clock was ahead",
}


def draw(results: Sequence[SeriesResult], *, directory: Path) -> None:
    """Draw the plots of each series; of its settings, the last one."""
    directory.mkdir(parents=True, exist_ok=True)
    fault_runs = [fault_run for result in results for fault_run in result.fault_runs]
    for result in results:
        if not result.runs:
            continue
        last = result.runs[-1].setting
        runs = [run for run in result.runs if run.setting == last]
        pictures = {
            "which-one": which_one(runs, fault_runs),
            "sold": sold_against_stock(runs),
            "latency": latency(runs),
            "commands": commands_per_attempt(runs),
        }
        if len({run.setting for run in result.runs}) > 1:
            pictures["throughput"] = throughput_against_buyers(result.runs)
        for name, picture in pictures.items():
            save(picture, directory / f"{result.name}-{name}.svg")


def colour_of(run: Run) -> str:
    measures = run.measures
    if measures.oversold:
        return RED
    return AMBER if measures.unsold or measures.stuck or measures.false_refusals else GREEN


def bars(runs: Sequence[Run], *, title: str) -> tuple[Figure, Axes]:
    """An empty picture with a row for each strategy, the first on top."""
    picture = Figure(figsize=(9, 0.28 * len(runs) + 1.2))
    axes = picture.add_subplot()
    name_rows(axes, [run.measures.strategy for run in runs], title=title)
    return picture, axes


def subject(runs: Sequence[Run]) -> str:
    setting = runs[0].setting
    return f"{setting.buyers:,} buyers, {setting.stock:,} units, {setting.concurrency} clients at a time"


def which_one(runs: Sequence[Run], fault_runs: Sequence[FaultRun]) -> Figure:
    """Calls answered in a second, the best strategies first, and what was wrong with each, here or under a fault."""
    ratings = {run.measures.strategy: rating_of(run, fault_runs) for run in runs}
    order = [GREEN, PALE, AMBER, RED]
    ordered = sorted(
        runs, key=lambda run: (order.index(ratings[run.measures.strategy][0]), -run.measures.attempts_per_second)
    )
    picture, axes = bars(ordered, title=f"Which one? Calls answered in a second. {subject(runs)}")
    speeds = [run.measures.attempts_per_second for run in ordered]
    colours = [ratings[run.measures.strategy][0] for run in ordered]
    axes.barh(range(len(ordered)), speeds, color=colours)
    for row, (run, speed) in enumerate(zip(ordered, speeds, strict=True)):
        label(axes, speed, row, ratings[run.measures.strategy][1])
    axes.set_xlabel("calls per second")
    axes.set_xlim(0, max(speeds) * 1.5)
    right = "right, here and under every fault tried" if fault_runs else "right here; no fault was tried"
    meanings = [right, "right here, but", "turned buyers away", "oversold"]
    axes.legend(
        handles=[Patch(color=colour, label=label) for colour, label in zip(order, meanings, strict=True)],
        loc="upper center",
        bbox_to_anchor=(0.4, -0.1),
        ncols=4,
        frameon=False,
    )
    return picture


def rating_of(run: Run, fault_runs: Sequence[FaultRun]) -> tuple[str, str]:
    """The colour of a strategy, and why it has it. Dark green only if nothing was wrong here or under a fault."""
    colour = colour_of(run)
    if colour != GREEN:
        return colour, run.judgement.words.split(" although buyers")[0]
    strategy = BY_ID[run.measures.strategy]
    flaws = [flaw for one in fault_runs if one.strategy == strategy.id and (flaw := flaw_under_fault(one))]
    if flaws:
        more = f", and {len(flaws) - 1} more" if len(flaws) > 1 else ""
        return PALE, flaws[0] + more
    if not strategy.correct:
        return PALE, "flawed, as its schedule shows"
    restarted = {one.strategy for one in fault_runs if one.fault is Fault.STORE_RESTARTED}
    if restarted and strategy.id not in restarted:
        return GREEN, f"{run.judgement.words}; its servers were not restarted"
    return GREEN, run.judgement.words


def flaw_under_fault(fault_run: FaultRun) -> str:
    """The violations under a fault; empty if there are none. A store that lost its data is right to sell nothing."""
    when = WHEN[fault_run.fault]
    if fault_run.oversold:
        return f"oversold {when}"
    if fault_run.fault is Fault.STORE_LOST:
        return ""
    if fault_run.stuck:
        return f"stuck {when}"
    if fault_run.unsold:
        return f"{fault_run.unsold:,} {'unit' if fault_run.unsold == 1 else 'units'} unsold {when}"
    return ""


def sold_against_stock(runs: Sequence[Run]) -> Figure:
    picture, axes = bars(runs, title=f"Sold against stock. {subject(runs)}")
    sold = [run.measures.sold for run in runs]
    axes.barh(range(len(runs)), sold, color=[colour_of(run) for run in runs])
    axes.axvline(runs[0].setting.stock, color="black", linewidth=1)
    for row, units in enumerate(sold):
        label(axes, units, row, f"{units:,}")
    axes.set_xlabel("units sold; the line is the stock")
    return picture


def latency(runs: Sequence[Run]) -> Figure:
    picture, axes = bars(runs, title=f"Latency: p50, p95 and p99. {subject(runs)}")
    rows = range(len(runs))
    p50 = [run.measures.p50_ms for run in runs]
    p95 = [run.measures.p95_ms for run in runs]
    p99 = [run.measures.p99_ms for run in runs]
    axes.hlines(rows, p50, p99, color=GREY)
    axes.plot(p50, rows, "o", color=GREEN, label="p50")
    axes.plot(p95, rows, "o", color=AMBER, label="p95")
    axes.plot(p99, rows, "o", color=RED, label="p99")
    axes.set_xscale("log")
    axes.set_xlabel("milliseconds, logarithmic")
    axes.legend(loc="best")
    return picture


def commands_per_attempt(runs: Sequence[Run]) -> Figure:
    counted = [run for run in runs if run.measures.commands_per_attempt is not None]
    picture, axes = bars(counted, title=f"Commands and round trips per attempt, counted at the server. {subject(runs)}")
    rows = range(len(counted))
    commands = [run.measures.commands_per_attempt or 0.0 for run in counted]
    trips = [run.measures.round_trips_per_attempt or 0.0 for run in counted]
    axes.barh(rows, commands, height=0.8, color=GREY, label="commands, those inside scripts too")
    axes.barh(rows, trips, height=0.4, color=BLUE, label="round trips")
    for row, number in enumerate(commands):
        label(axes, number, row, f"{number:.1f}")
    axes.legend(loc="best")
    axes.set_xlabel("per attempt")
    return picture


def throughput_against_buyers(runs: Sequence[Run]) -> Figure:
    picture = Figure(figsize=(9, 4.5))
    axes = picture.add_subplot()
    for strategy in dict.fromkeys(run.measures.strategy for run in runs):
        own = [run for run in runs if run.measures.strategy == strategy]
        buyers = [run.setting.buyers for run in own]
        axes.plot(buyers, [run.measures.attempts_per_second for run in own], marker="o", label=strategy)
    axes.set_xlabel("buyers")
    axes.set_ylabel("calls per second")
    axes.set_ylim(bottom=0)
    axes.set_title("Throughput against buyers", loc="left")
    axes.legend(loc="best")
    axes.spines[["top", "right"]].set_visible(False)
    return picture
