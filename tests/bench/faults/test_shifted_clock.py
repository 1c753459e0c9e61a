"""A process can run with a wrong clock, and everything that reads the time in it is wrong by as much."""

import subprocess
import sys
from datetime import UTC, datetime

import pytest

from shop.local.shop_processes import ROOT

PROGRAM = """
import time, pickle
from datetime import datetime, timezone
import django.utils.timezone
now = django.utils.timezone.now()
assert isinstance(now, datetime) and pickle.loads(pickle.dumps(now)) == now
print(time.time(), datetime.now(timezone.utc).timestamp(), now.timestamp(), time.time_ns() / 1e9)
"""


@pytest.mark.parametrize("hours", [1, -1])
def test_every_clock_of_the_process_is_off_by_as_much(hours: int) -> None:
    program = "import sys; exec(sys.argv[1])"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"from bench.faults.shifted_clock import shift; shift({3600 * hours}); {program}",
            PROGRAM,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    right = datetime.now(UTC).timestamp()
    for seconds in map(float, done.stdout.split()):
        assert seconds - right == pytest.approx(3600 * hours, abs=60)


def test_a_module_runs_under_its_own_name_and_arguments() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.faults.shifted_clock", "3600", "-m", "json.tool", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "json" in done.stdout
