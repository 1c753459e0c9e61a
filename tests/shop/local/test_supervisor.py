"""The supervisor with small test programs."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shop.local.environment import read_settings
from shop.local.process import Comeback, Process, ProcessFailed, succeeded
from shop.local.shop_processes import worker
from shop.local.supervisor import StopRequested, Supervisor
from tests.own_store import OwnStore
from tests.processes import wait_until

ROOT = Path(__file__).resolve().parents[3]
ANSWERS_ONCE_THEN_DIES = "print('up', flush=True); import time; time.sleep(0.3); print('[out of luck]'); exit(3)"


def process_running(program: str, *, directory: Path) -> Process:
    return Process(
        name="worker",
        title="Worker",
        argv=[sys.executable, "-c", program],
        log_path=directory / "worker.log",
        ready=lambda process: "up" in process.log_since_start(),
    )


def watch_until(happened: Callable[[], bool], supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    """And stop it then."""

    def stop_when_it_has() -> None:
        if happened():
            raise StopRequested
        time.sleep(0.01)

    with monkeypatch.context() as watching:
        watching.setattr(supervisor, "pause", stop_when_it_has)
        with pytest.raises(StopRequested):
            supervisor.watch()
    supervisor.stop()


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


def test_a_process_that_dies_seldom_is_started_each_time_and_a_step_before_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shop.local.supervisor._DEATHS_SECONDS", 0.1)
    reported: list[str] = []
    supervisor = Supervisor(report=reported.append)
    step = process_running("", directory=tmp_path)
    step.name, step.ready = "migrate", succeeded
    supervisor.start(processes=[step])
    supervisor.start(processes=[process_running(ANSWERS_ONCE_THEN_DIES, directory=tmp_path)])

    watch_until(lambda: sum("worker ended" in line for line in reported) == 4, supervisor, monkeypatch)

    assert not any("migrate ended" in line for line in reported)


def test_a_process_that_was_just_started_again_shows_why_it_ended_and_of_long_logs_one_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = process_running("raise SystemExit('no settings')", directory=tmp_path)
    process.start()
    process._child.wait()  # type: ignore[union-attr]
    process.argv = [sys.executable, "-c", "import time; time.sleep(60)"]
    process.start()
    assert "no settings" in process.last_lines()
    process.kill()
    monkeypatch.setattr("shop.local.process._LOG_BYTES_MAX", 5)
    process.start()
    process.kill()
    assert "no settings" in (tmp_path / "worker.old.log").read_text()
    assert "no settings" not in process.last_lines()


def test_a_process_that_cannot_start_is_not_tried_again(tmp_path: Path) -> None:
    supervisor = Supervisor(report=lambda line: None)

    with pytest.raises(ProcessFailed, match="worker ended with exit code 1"):
        supervisor.start(processes=[process_running("raise SystemExit('no settings')", directory=tmp_path)])
    supervisor.stop()


def test_a_process_that_never_answers_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shop.local.supervisor._ANSWER_SECONDS", 0.2)
    supervisor = Supervisor(report=lambda line: None)

    with pytest.raises(ProcessFailed, match="worker gave no answer within 0 s"):
        supervisor.start(processes=[process_running("import time; time.sleep(60)", directory=tmp_path)])
    supervisor.stop()


def test_the_last_started_is_stopped_first_and_a_group_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[list[str]] = []

    def stop(*, processes: list[Process], **_hurry: object) -> None:
        stopped.append([process.name for process in processes])

    monkeypatch.setattr("shop.local.supervisor.stop_processes", stop)
    supervisor = Supervisor(report=lambda line: None)
    for name, group in (("store", ""), ("worker", "workers"), ("errands", "workers"), ("beat", "")):
        process = process_running("", directory=tmp_path)
        process.name, process.group = name, group
        supervisor._processes.append(process)

    supervisor.stop()

    assert stopped == [["beat"], ["errands", "worker"], ["store"]]


@pytest.mark.parametrize(("stop_seconds", "requests"), [(0.2, 1), (600.0, 2)], ids=["in the end", "on a second Ctrl-C"])
def test_a_process_that_will_not_stop_is_killed(tmp_path: Path, stop_seconds: float, requests: int) -> None:
    ignores_sigterm = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    )
    process = process_running(ignores_sigterm, directory=tmp_path)
    process.stop_seconds = stop_seconds
    supervisor = Supervisor(report=lambda line: None)
    supervisor.start(processes=[process])

    for _ in range(requests):
        supervisor._on_signal(signal.SIGINT, None)
    began_s = time.monotonic()
    supervisor.stop()

    assert process.exit_code == -9
    assert time.monotonic() - began_s < 60


def test_a_process_whose_work_others_take_over_may_die_often_and_waits_until_it_may_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[str] = []
    asked: list[bool] = []

    def may_start() -> bool:
        # Each second question is answered with yes.
        asked.append(bool(len(asked) % 2))
        return asked[-1]

    process = process_running(ANSWERS_ONCE_THEN_DIES, directory=tmp_path)
    process.comeback = Comeback(after_seconds=0.1, seconds_max=60, may_start=may_start)
    supervisor = Supervisor(report=reported.append)
    supervisor.start(processes=[process])

    watch_until(lambda: sum("answers again" in line for line in reported) == 3, supervisor, monkeypatch)

    assert sum("it is started again in 0 s" in line for line in reported) == 3
    assert asked == [False, True] * 3
    assert not process.running


def test_a_process_that_may_not_start_is_started_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[str] = []
    process = process_running(ANSWERS_ONCE_THEN_DIES, directory=tmp_path)
    process.comeback = Comeback(after_seconds=0.0, seconds_max=0.2, may_start=lambda: False)
    supervisor = Supervisor(report=reported.append)
    supervisor.start(processes=[process])

    watch_until(lambda: any("answers again" in line for line in reported), supervisor, monkeypatch)


@pytest.mark.slow
def test_a_worker_answers_again_after_its_broker_was_away(tmp_path: Path) -> None:
    broker = OwnStore(tmp_path / "broker")
    broker.start()
    settings = read_settings(environ={"STAMPEDE_DIRECTORY": str(tmp_path)}, directory=tmp_path)
    process = worker(settings=settings, broker_url=broker.url, name="worker", queues="celery")
    # A worker without the shop, under the same name.
    node = process.argv[process.argv.index("-n") + 1]
    process.argv = [sys.executable, "-m", "celery", "-q", "-b", broker.url, "worker", "-n", node, "-P", "solo"]
    process.start()
    try:
        wait_until(lambda: process.ready(process), seconds_max=60)
        broker.kill()
        # The first question finds a connection that has ended, and the next ones none.
        assert [process.ready(process) for _ in range(3)] == [False] * 3
        broker.start()
        wait_until(lambda: process.ready(process), seconds_max=60)
    finally:
        process.kill()
        broker.stop()


SUPERVISING = """
import sys
from pathlib import Path
from shop.local.process import Process
from shop.local.supervisor import StopRequested, Supervisor

supervisor = Supervisor(report=print)
supervisor.listen()
child = Process(
    name="worker",
    title="Worker",
    argv=[sys.executable, "-c", "import signal; print('up', flush=True); signal.pause()"],
    log_path=Path(sys.argv[1]),
    ready=lambda process: "up" in process.log_since_start(),
)
try:
    supervisor.start(processes=[child])
    print("watching", flush=True)
    supervisor.watch()
except StopRequested:
    supervisor.stop()
    print("stopped the worker by signal", -child.exit_code)
"""


def test_a_supervisor_that_was_started_with_the_signals_ignored_can_be_stopped(tmp_path: Path) -> None:
    """As `nohup` and the background jobs of a script start programs; its children can be stopped as well."""
    words = [sys.executable, "-c", SUPERVISING, str(tmp_path / "worker.log")]
    ignoring = ["sh", "-c", 'trap "" INT TERM HUP; exec "$@"', "sh", *words]
    with subprocess.Popen(ignoring, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert any("watching" in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == f"stopped the worker by signal {signal.SIGTERM.value}\n"
    assert process.returncode == 0
