"""The harness itself, as `make faults` runs it: two faults at once and the report, and the lists of faults."""

import json
import re
import subprocess
import sys
from pathlib import Path

from bench.faults.all_faults import BY_NAME, FAULTS, ON_REQUEST, QUICK
from shop.local.shop_processes import ROOT
from tests.steps.operating import run_command

SECONDS_MAX = 300


def test_the_shop_keeps_its_promises_under_a_pair_of_the_short_selection(server_directory: Path) -> None:
    directory, pair = server_directory / "faults", QUICK[-1]
    words = ["--directory", str(directory), "--quick", "--only", pair, "--seed", "7"]
    done = subprocess.run(
        [sys.executable, "-m", "bench.faults", *words], cwd=ROOT, capture_output=True, text=True, timeout=SECONDS_MAX
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "Seed 7." in done.stdout
    report = json.loads((directory / "report.json").read_text())
    assert report["seed"] == 7
    (trial,) = report["trials"]
    found = trial["findings"]
    assert trial["fault"] == pair
    assert found["told_yes"] == found["kept"] > 0
    assert (found["lost"], found["duplicated"], found["oversold"], found["stuck"]) == (0, 0, 0, 0)
    history = (directory / "history.jsonl").read_text().splitlines()
    assert {json.loads(line)["trial"] for line in history} == {pair}


def test_every_fault_has_its_own_name_and_description_and_the_promises_name_faults_that_there_are() -> None:
    kinds = [*FAULTS, *ON_REQUEST]
    assert len(BY_NAME) == len(kinds) == len({kind.description for kind in kinds})
    listed = run_command("fault_harness", "--list")
    assert all(f"{kind.name} " in listed for kind in kinds)
    promises = (ROOT / "docs" / "reliability.md").read_text().partition("## How it is proved")[0]
    named = set(re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", promises))
    assert len(named) > 30
    assert named <= BY_NAME.keys()
