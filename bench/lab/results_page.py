"""The tables of docs/results/lab.md, from the JSON that `seckill_lab --json` wrote.

python -m bench.lab.results_page .stampede/lab/lab.json > docs/results/lab.md
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.lab.output import COSTS, cells_of
from bench.machine import sentence_of
from bench.strategies.base.strategy import Fault
from bench.tables import markdown_table

Row = Sequence[str]

HEAD = """\
# The lab: results

One run of

    make lab ARGS="--preset classic-505 --preset mixed-units --preset lua-watch-cluster --preset faults \\
        --json .stampede/lab/lab.json --plots .stampede/lab/plots"
    python -m bench.lab.results_page .stampede/lab/lab.json > docs/results/lab.md

on this machine: {machine}.

Buyers and stores share the cores, so compare the rows of a table and not its times with those of another machine. What
the strategies are and what the tables show: [docs/lab.md](../lab.md). The first command draws the pictures, too.
"""

COST = """\
*Trips* are round trips; *commands* are those that the server executed, also inside scripts. Both, the bytes and the
processor time are per attempt, from the server's own counters. Strategies on PostgreSQL have none.
"""

SEVERAL_UNITS = """\
*False refusals* are buyers who were refused although enough units were left in any possible order of events: a lower
bound. *Busy* are buyers who got no lock, or had no retries left.
"""

FAULTS = """\
- *paused*, *killed*: a buyer's process gets SIGSTOP or SIGKILL before its second command, in the next sale before its
  third, and so on. Three rivals come, one after the other, when its lease (0.3 s here) has ended; a paused buyer then
  continues, and three more come. Two units are on sale. In half of the sales the stopped buyer wants one, and in half
  three, to be stopped on the way to a refusal. The worst sale counts. An attempt of a single command cannot be stopped
  in between.
- *restarted*: the store gets SIGKILL after 150 answers of a sale of 300 units to 600 buyers, and starts again with its
  data. The damage depends on the commands that are under way at that moment, and differs from run to run.
- *lost*: the same, but the data is gone, and the sale is one of 10 units to 2,000 buyers, when all are sold.
- *clock*: the same as *paused*, but the lease is 60 s and has not ended when the rivals come, and the clock of the
  first three is an hour ahead. `get_set` and `check_then_decr` look at no clock: they oversell because the rivals come
  between two commands of the stopped buyer.

`+n` units were oversold; `−n` were left although a buyer asked for them, or were taken without any buyer being told;
*stuck* means that new buyers could not buy although units were left. A dash is a sale without a flaw. Empty cells were
not run: the lab does not restart the cluster or PostgreSQL. A store that lost its data has nothing to sell, so only
`+n` is shown there. `setnx_lock_expire` and `watch_multi` turn buyers away without any fault, too.
"""


def page(results: dict[str, Any]) -> str:
    """The whole page as Markdown."""
    parts = [HEAD.format(machine=machine_of(results))]
    for series in results["series"]:
        if series["runs"]:
            parts += [f"## {series['name']}", *tables_of(series)]
        if series["fault_runs"]:
            parts += ["## Under faults", FAULTS.strip(), faults_table(series["fault_runs"])]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def machine_of(results: dict[str, Any]) -> str:
    seed = next((run["setting"]["seed"] for series in results["series"] for run in series["runs"]), None)
    return f"{sentence_of(results['machine'])}, seed {seed}"


def tables_of(series: dict[str, Any]) -> list[str]:
    runs = series["runs"]
    setting = runs[0]["setting"]
    if any(run["setting"] != setting for run in runs):
        return ["Half as many units as buyers. *Busy* are buyers who had no retries left.", throughput_table(runs)]
    size = f"{setting['buyers']:,} buyers, {setting['stock']:,} units"
    clients = f"{setting['processes'] * setting['clients']} clients in {setting['processes']} processes"
    if setting["units_max"] > 1:
        units = f"{setting['units_min']} to {setting['units_max']} for each buyer"
        return [f"{size}, {units}, {clients}.", SEVERAL_UNITS, several_units_table(runs)]
    return [f"{size}, {clients}.", COST, cost_table(runs)]


def cost_table(runs: Sequence[dict[str, Any]]) -> str:
    return table_of(runs, ("verdict", *COSTS), text_columns=2)


def several_units_table(runs: Sequence[dict[str, Any]]) -> str:
    return table_of(runs, ("verdict", "sold", "false refusals", "busy", "commands"), text_columns=2)


def throughput_table(runs: Sequence[dict[str, Any]]) -> str:
    return table_of(runs, ("buyers", "calls/s", "p50 ms", "p99 ms", "share busy", "unsold"), text_columns=1)


def table_of(runs: Sequence[dict[str, Any]], headings: Sequence[str], *, text_columns: int) -> str:
    rows = [[cells[heading] for heading in ("strategy", *headings)] for cells in map(cells_of, runs)]
    return markdown_table(("strategy", *headings), rows, text_columns=text_columns)


def faults_table(fault_runs: Sequence[dict[str, Any]]) -> str:
    columns = {
        Fault.PAUSED: "paused",
        Fault.KILLED: "killed",
        Fault.STORE_RESTARTED: "restarted",
        Fault.STORE_LOST: "lost",
        Fault.CLOCK_AHEAD: "clock",
    }
    cells = {(one["strategy"], one["fault"]): fault_cell(one) for one in fault_runs}
    strategies = dict.fromkeys(one["strategy"] for one in fault_runs)
    rows = [(f"`{strategy}`", *(cells.get((strategy, fault), "") for fault in columns)) for strategy in strategies]
    return markdown_table(("strategy", *columns.values()), rows, text_columns=len(columns) + 1)


def fault_cell(fault_run: dict[str, Any]) -> str:
    if fault_run["oversold"]:
        return f"+{fault_run['oversold']:,}"
    if fault_run["fault"] == Fault.STORE_LOST:
        return "–"
    words = [f"−{fault_run['unsold']:,}"] if fault_run["unsold"] else []
    words += ["stuck"] if fault_run["stuck"] else []
    return " ".join(words) or "–"


if __name__ == "__main__":
    sys.stdout.write(page(json.loads(Path(sys.argv[1]).read_text())))
