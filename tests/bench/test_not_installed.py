"""A real shop has no load generator: without LOAD_TESTS=1 the commands of `bench` do not exist."""

import os
import subprocess
import sys

from shop.local.shop_processes import ROOT

COMMANDS = {path.stem for path in (ROOT / "bench" / "management" / "commands").glob("[a-z]*.py")}


def manage(*words: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "LOAD_TESTS": "0"}
    command = [sys.executable, "manage.py", *words]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_without_load_tests_the_commands_are_unknown() -> None:
    assert {"stampede", "load_passes", "seckill_lab", "capacity"} <= COMMANDS
    listed = manage("help", "--commands").stdout.split()
    assert "sale_audit" in listed
    assert COMMANDS.isdisjoint(listed)
    done = manage("stampede", "--buyers", "3")
    assert done.returncode != 0
    assert "Unknown command: 'stampede'" in done.stderr
    assert not done.stdout
