"""Faults dealt to harnesses side by side: each gets its part, their progress and trials come together in one report.

A program that answers with a report made before stands for each harness: what a real one does, other tests try.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import CommandError

from bench.faults import fault_table, lanes
from bench.faults.all_faults import BY_NAME
from bench.faults.trial import failed_trial
from bench.management.commands.fault_harness import Command
from tests.steps.operating import run_command

NAMES = ("web-killed", "beat-down", "store-killed")
# Writes down how it was called, says something, and leaves the report of its faults if there is one.
HARNESS = """\
set -eu
directory=$2 names=$4
echo "$@" > "$directory/words"
echo "   1.5 s  $names"
echo "a table"
cp "$REPORTS/$names.json" "$directory/report.json"
"""


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the reports are by the names of their faults."""
    program = tmp_path / "harness.sh"
    program.write_text(HARNESS)
    monkeypatch.setattr(lanes, "HARNESS", ("sh", str(program)))
    monkeypatch.setenv("REPORTS", str(tmp_path))
    (tmp_path / "faults").mkdir()
    monkeypatch.setenv("FAULTS_DIRECTORY", str(tmp_path / "faults"))
    return tmp_path


def leave_report(reports: Path, *names: str, broken: str = "") -> None:
    """The report of a harness with these faults; the shop broke its promises under one of them."""
    trials = [failed_trial(BY_NAME[name], error=ValueError("it ended"), seconds=1.0) for name in names]
    trials = [
        trial if trial.fault == broken else replace(trial, findings=replace(trial.findings, violations=[]))
        for trial in trials
    ]
    text = fault_table.as_json(trials, seed=7, versions={"python": "3"})
    (reports / f"{','.join(names)}.json").write_text(text)


def run_lanes(*options: str) -> str:
    return run_command("fault_harness", "--only", ",".join(NAMES), "--seed", "7", "--lanes", "2", *options)


def test_each_lane_gets_its_part_and_the_trials_come_in_the_order_of_the_faults(reports: Path) -> None:
    leave_report(reports, "web-killed", "store-killed")
    leave_report(reports, "beat-down")
    said = run_lanes("--quick").splitlines()
    assert {"lane-1    1.5 s  web-killed,store-killed", "lane-2    1.5 s  beat-down"} <= {*said}
    assert not any("a table" in line for line in said)
    report = json.loads((reports / "faults" / "report.json").read_text())
    assert [trial["fault"] for trial in report["trials"]] == list(NAMES)
    assert [trial["description"] for trial in report["trials"]] == [BY_NAME[name].description for name in NAMES]
    assert (report["seed"], report["kept"], report["versions"]) == (7, True, {"python": "3"})
    for lane, names in (("lane-1", ("web-killed", "store-killed")), ("lane-2", ("beat-down",))):
        directory = reports / "faults" / lane
        words = (directory / "words").read_text().split()
        assert words[:2] == ["--directory", str(directory)]
        # A real harness understands them.
        options = Command().create_parser("manage.py", "fault_harness").parse_args(words[2:])
        assert (options.only, options.seed, options.quick) == (names, 7, True)
        assert (directory / "harness.log").read_text() == f"   1.5 s  {','.join(names)}\na table\n"


def test_a_promise_that_was_broken_in_one_lane_is_broken(reports: Path) -> None:
    leave_report(reports, "web-killed", "store-killed", broken="store-killed")
    leave_report(reports, "beat-down")
    with pytest.raises(CommandError, match="broke a promise under: store-killed.$"):
        run_lanes()
    *_others, trial = json.loads((reports / "faults" / "report.json").read_text())["trials"]
    assert trial["findings"]["violations"] == ["the harness failed: ValueError('it ended')"]


def test_a_lane_without_a_verdict_is_no_verdict(reports: Path) -> None:
    leave_report(reports, "web-killed", "store-killed")
    with pytest.raises(CommandError, match="lane-2 ended without a verdict") as failure:
        run_lanes()
    assert failure.value.returncode == 2
