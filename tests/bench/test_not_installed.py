"""A real shop has no load generator: without LOAD_TESTS=1 the commands of `bench` do not exist."""

import os
import subprocess
import sys

from shop.local.shop_processes import ROOT

COMMANDS = {path.stem for path in (ROOT / "bench" / "management" / "commands").glob("[a-z]*.py")}


def test_without_load_tests_the_commands_are_unknown() -> None:
    assert {"stampede", "load_passes", "seckill_lab", "capacity"} <= COMMANDS
    words = [sys.executable, "manage.py", "help", "--commands"]
    environment = {**os.environ, "LOAD_TESTS": "0"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    listed = done.stdout.split()
    assert "sale_audit" in listed
    assert COMMANDS.isdisjoint(listed)
