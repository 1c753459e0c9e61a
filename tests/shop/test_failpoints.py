"""Without FAILPOINTS a failpoint does nothing; with it, the process that comes to the named place dies."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from shop import failpoints

PROGRAM = """
from shop.failpoints import reach
for call in range(3):
    print(call, flush=True)
    reach("another")
    reach("place")
"""


def run(directory: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program that comes three times to the place `place`, of which there is a file in the directory."""
    given = {key: value for key, value in os.environ.items() if key != "FAILPOINTS"}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**given, "PYTHONPATH": os.getcwd(), **environment},
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_failpoints_nothing_is_looked_for() -> None:
    """The tests run as a shop does, without FAILPOINTS: no file is opened and nothing can die."""
    assert "FAILPOINTS" not in os.environ
    with mock.patch.object(Path, "read_text") as read, mock.patch.object(os, "kill") as kill:
        failpoints.reach("intake.before_commit")
    assert not read.called
    assert not kill.called


def test_without_failpoints_a_file_of_that_name_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "place").write_text("1")
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (0, "0\n1\n2\n")
    assert (tmp_path / "place").read_text() == "1"


@pytest.mark.parametrize(("content", "calls"), [("", 1), ("2", 2)])
def test_the_named_call_alone_kills_the_process_once(tmp_path: Path, content: str, calls: int) -> None:
    (tmp_path / "place").write_text(content)
    done = run(tmp_path, FAILPOINTS=str(tmp_path))
    assert done.returncode == -signal.SIGKILL
    assert len(done.stdout.split()) == calls
    # So it kills no other, as a place without a file does.
    assert not (tmp_path / "place").exists()
