"""A module can run in a process with a wrong clock, and everything that reads the time in it is wrong by as much."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shop.local.shop_processes import ROOT

PROGRAM = """
import pickle, sys, time
from datetime import datetime, timezone
import django.utils.timezone
now = django.utils.timezone.now()
assert isinstance(now, datetime) and pickle.loads(pickle.dumps(now)) == now
assert (__name__, sys.argv[1:]) == ("__main__", ["an", "argument"])
print(time.time(), datetime.now(timezone.utc).timestamp(), now.timestamp(), time.time_ns() / 1e9)
"""


def test_every_clock_of_the_module_is_off_by_as_much_and_it_has_its_own_name_and_arguments(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    words = ["-m", "bench.faults.shifted_clock", "-3600", "-m", "program", "an", "argument"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    right = datetime.now(UTC).timestamp()
    assert [float(seconds) - right for seconds in done.stdout.split()] == [pytest.approx(-3600, abs=60)] * 4
