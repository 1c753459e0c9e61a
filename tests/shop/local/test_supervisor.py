"""The supervisor with small test programs."""

import sys
from pathlib import Path

import pytest

from shop.local.process import Process, ProcessFailed
from shop.local.supervisor import Supervisor

ANSWERS_ONCE_THEN_DIES = "print('up', flush=True); import time; time.sleep(0.3); print('[out of luck]'); exit(3)"


def process_running(program: str, *, directory: Path) -> Process:
    return Process(
        name="worker",
        title="Worker",
        argv=[sys.executable, "-c", program],
        log_path=directory / "worker.log",
        ready=lambda process: "up" in process.log_since_start(),
    )


def test_a_process_that_keeps_dying_is_given_up_with_the_end_of_its_log(tmp_path: Path) -> None:
    reported: list[str] = []
    supervisor = Supervisor(report=reported.append)
    supervisor.start(processes=[process_running(ANSWERS_ONCE_THEN_DIES, directory=tmp_path)])

    with pytest.raises(ProcessFailed, match="worker ended with exit code 3") as failure:
        supervisor.watch()
    supervisor.stop()

    assert "[out of luck]" in str(failure.value)
    assert str(tmp_path / "worker.log") in str(failure.value)
    assert sum("restarting it" in line for line in reported) == 2


def test_a_process_that_cannot_start_is_not_tried_again(tmp_path: Path) -> None:
    supervisor = Supervisor(report=lambda line: None)

    with pytest.raises(ProcessFailed, match="worker ended with exit code 1"):
        supervisor.start(processes=[process_running("raise SystemExit('no settings')", directory=tmp_path)])
    supervisor.stop()


def test_a_process_that_will_not_stop_is_killed(tmp_path: Path) -> None:
    ignores_sigterm = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    )
    process = process_running(ignores_sigterm, directory=tmp_path)
    process.stop_seconds = 0.2
    supervisor = Supervisor(report=lambda line: None)
    supervisor.start(processes=[process])

    supervisor.stop()

    assert process.exit_code == -9
