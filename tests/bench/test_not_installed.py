"""A real shop has no load generator: without LOAD_TESTS=1 the commands of `bench` do not exist."""

import os
import subprocess
import sys

import pytest

from shop.local.shop_processes import ROOT


@pytest.mark.parametrize(
    "command",
    [
        ["load_passes", "1", "--count", "1"],
        ["stampede", "--buyers", "3"],
        ["seckill_lab", "--list"],
        ["fault_harness", "--list"],
        ["speed_bench", "--list"],
        ["capacity", "--rps", "1", "--units", "1"],
    ],
    ids=lambda command: command[0],
)
def test_without_load_tests_the_command_is_unknown(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env={**os.environ, "LOAD_TESTS": "0"},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert f"Unknown command: '{command[0]}'" in done.stderr
    assert not done.stdout
