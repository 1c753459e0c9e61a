"""The load generator: its command line, its report, and what happens without it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.speed import wrk
from bench.speed.wrk import Load, WrkFailed, command_of, parse_report
from shop.local.shop_processes import ROOT

OUTPUT = """\
Running 2s test @ http://127.0.0.1:21999/
  1 threads and 16 connections
Requests/sec: 175438.19
REPORT {"requests": 500, "seconds": 2.5, "bytes": 66000, "p50_ms": 0.075, "p99_ms": 0.320, "max_ms": 2.625, \
"above_399": 3, "connect": 1, "read": 2, "write": 0, "timeout": 4}
"""


def test_a_report_is_read() -> None:
    report = parse_report(OUTPUT)
    assert report.per_second == 200
    assert (report.p50_ms, report.p99_ms, report.max_ms) == (0.075, 0.32, 2.625)
    assert report.above_399 == 3
    assert report.failed == 7


@pytest.mark.parametrize(
    "output",
    [
        "",
        "unable to connect to 127.0.0.1:1 Connection refused",
        OUTPUT + OUTPUT,
        OUTPUT.replace('"seconds": 2.5, ', ""),
        OUTPUT.replace("}", ""),
        OUTPUT.replace('"requests": 500', '"requests": 0'),
    ],
    ids=["nothing", "no server", "two reports", "a figure is missing", "cut off", "no answers"],
)
def test_output_without_a_usable_report_is_an_error(output: str) -> None:
    with pytest.raises(WrkFailed):
        parse_report(output)


def test_a_load_becomes_a_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrk, "find_wrk", lambda: "wrk")
    load = Load(url="http://127.0.0.1:1/", script="passes", arguments=("file", "again"), headers={"Cookie": "a=b"})
    words = command_of(load, seconds=5)
    assert words[:5] == ["wrk", "-t1", "-c16", "-d5s", "--timeout=10s"]
    assert words[5:7] == ["-s", str(wrk.SCRIPTS / "passes.lua")]
    assert words[7:] == ["-H", "Cookie: a=b", "http://127.0.0.1:1/", "--", "file", "again"]


def test_without_wrk_the_bench_says_how_to_get_it_and_starts_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.speed", "--directory", str(tmp_path / "speed")],
        cwd=ROOT,
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "apt-get install wrk" in done.stderr
    assert not (tmp_path / "speed").exists()
