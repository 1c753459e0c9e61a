"""Processor time from /proc: of a process, of its children, and of children that have ended."""

import os
import subprocess
import sys
from pathlib import Path

from bench.processor_time import (
    ProcessStat,
    ended_children_seconds,
    parse_stat,
    read_stats,
    seconds_by_kind,
)

# proc(5): pid (comm) state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime cutime cstime …
STAT = "4242 (a (b) 7 c) S 17 4242 4242 0 -1 4194304 911 0 3 0 120 34 5 6 20 0 1 0 998877 1000 200"

BURN = "import time\nend = time.process_time() + {seconds}\nwhile time.process_time() < end: pass\n"


def test_the_line_of_a_process_is_read_and_one_that_ends_while_we_read_is_left_out(tmp_path: Path) -> None:
    # A program may have spaces and brackets in its name.
    assert parse_stat(STAT) == ProcessStat(parent=17, ticks=120 + 34 + 5 + 6)
    (tmp_path / "4242").mkdir()
    (tmp_path / "4242" / "stat").write_text(STAT)
    # Reading this one fails, as that of a process that has gone.
    (tmp_path / "4243" / "stat").mkdir(parents=True)
    assert set(read_stats(tmp_path)) == {4242}


def test_the_time_of_a_child_counts_also_after_it_has_ended() -> None:
    kinds = {"ours": (os.getpid(),)}
    before, ended_before = seconds_by_kind(kinds)["ours"], ended_children_seconds()
    subprocess.run([sys.executable, "-c", BURN.format(seconds=0.3)], check=True)
    assert seconds_by_kind(kinds)["ours"] - before >= 0.28
    assert ended_children_seconds() - ended_before >= 0.28


def test_the_time_of_a_running_grandchild_counts() -> None:
    inner = BURN.format(seconds=0.2) + "print('done', flush=True)\nimport sys\nsys.stdin.read()"
    outer = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {inner!r}])"
    with subprocess.Popen([sys.executable, "-c", outer], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        assert seconds_by_kind({"it": (process.pid,)})["it"] >= 0.18
        process.stdin.close()
