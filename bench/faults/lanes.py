"""The faults of a long run dealt to several harnesses side by side, each with a shop and servers of its own.

Most of a trial is waiting, for buyers who arrive and holds that expire, so two shops share two cores well.
"""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.faults.checker import Findings
from bench.faults.trial import Trial
from shop.local.process import ProcessFailed
from shop.local.shop_processes import ROOT

# A line of progress begins with the time. The tables of the lanes are not shown: theirs is one.
PROGRESS = re.compile(r" *\d+\.\d s  ")
# The program of each lane, before its directory and its faults.
HARNESS = (sys.executable, "-m", "bench.faults")


@dataclass(frozen=True, slots=True)
class Lane:
    """One harness that runs. `log` has all that it prints."""

    directory: Path
    process: subprocess.Popen[str]

    @property
    def log(self) -> Path:
        return self.directory / "harness.log"

    def follow(self, tell: Callable[[str], None]) -> None:
        """Tell its progress until it ends."""
        assert self.process.stdout is not None
        with self.log.open("w") as log, self.process.stdout as output:
            for line in output:
                log.write(line)
                log.flush()
                if PROGRESS.match(line):
                    tell(f"{self.directory.name} {line.rstrip()}")

    def report(self) -> tuple[list[Trial], dict[str, str]]:
        """Its trials, and the versions of what ran. Raises ProcessFailed if it ended without a verdict."""
        path = self.directory / "report.json"
        if not path.exists():
            raise ProcessFailed(f"{self.directory.name} ended without a verdict; its output: {self.log}")
        report = json.loads(path.read_text())
        return [trial_from(row) for row in report["trials"]], report["versions"]


def run_in_lanes(
    names: Sequence[str], *, count: int, directory: Path, options: Sequence[str], tell: Callable[[str], None]
) -> tuple[list[Trial], dict[str, str]]:
    """All trials in the order of their names, and the versions of what ran. `options` are for each harness.

    Ctrl-C stops the lanes and what they have started. Raises ProcessFailed if a lane ends without a verdict.
    """
    lanes = [
        start_lane(directory / f"lane-{number + 1}", ["--only", ",".join(names[number::count]), *options])
        for number in range(count)
    ]
    threads = [threading.Thread(target=lane.follow, args=[tell], daemon=True) for lane in lanes]
    for thread in threads:
        thread.start()
    try:
        for lane in lanes:
            lane.process.wait()
    finally:
        for lane in lanes:
            if lane.process.poll() is None:
                lane.process.terminate()
        for lane in lanes:
            lane.process.wait()
    for thread in threads:
        thread.join()
    reports = [lane.report() for lane in lanes]
    found = {trial.fault: trial for trials, _ in reports for trial in trials}
    return [found[name] for name in names], reports[0][1]


def start_lane(directory: Path, options: Sequence[str]) -> Lane:
    """In a session of its own: Ctrl-C reaches it once, from this process."""
    directory.mkdir()
    process = subprocess.Popen(
        [*HARNESS, "--directory", str(directory), *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    return Lane(directory, process)


def trial_from(row: dict[str, object]) -> Trial:
    """A trial as `fault_table.as_json` wrote it."""
    fields = {name: value for name, value in row.items() if name != "kept"}
    return Trial(**{**fields, "findings": Findings(**row["findings"])})  # type: ignore[arg-type]
