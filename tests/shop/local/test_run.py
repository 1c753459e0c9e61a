"""`make run` as a person at a terminal sees it: the real processes, in their own directory."""

import contextlib
import errno
import json
import os
import pwd
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import Mock, patch
from urllib.request import urlopen

import pytest
from environ import Env

import shop.local.run as run_module
from shop.configuration.redis_address import StoreKind
from shop.local.directory_lock import lock_directory
from shop.local.environment import SERVER_URLS, BadEnvironment, last_store, read_settings, write_environment
from shop.local.ports import free_port
from shop.local.shop_processes import processes
from shop.local.supervisor import Supervisor
from tests.embedded_servers import temporary_server_directory
from tests.processes import command_line, descendants, first_of, living, wait_until
from tests.steps.caller import ask

START_SECONDS_MAX = 180
STOP_SECONDS_MAX = 15


@dataclass
class Run:
    """One `python -m shop.local.run` and what it printed."""

    process: subprocess.Popen[str]
    output: Path
    directory: Path
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def printed(self) -> str:
        return self.output.read_text()

    def wait_for(self, words: str) -> None:
        def happened() -> bool:
            assert self.process.poll() is None or words in self.printed(), self.printed()
            return words in self.printed()

        wait_until(happened, seconds_max=START_SECONDS_MAX)

    def kill_9(self) -> None:
        """And until all that it has started has ended."""
        started = descendants(pid=self.process.pid)
        self.process.kill()
        self.process.wait()
        wait_until(lambda: not living(pids=started), seconds_max=STOP_SECONDS_MAX)

    def pid_of(self, words: str) -> int:
        """The process that the supervisor started and whose command line has these words."""
        return first_of(self.pids_of(words))

    def pids_of(self, words: str) -> list[int]:
        return [pid for pid in descendants(pid=self.process.pid) if words in command_line(pid=pid)]

    def environment(self) -> dict[str, str]:
        lines = (self.directory / "env").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)


# What tests/embedded_servers.py has put into the environment for Django.
NOT_INHERITED = {
    *(*SERVER_URLS, "SECRET_KEY", "STAMPEDE_ADMIN_PASSWORD", "STAMPEDE_BUYER_PASSWORD", "LOAD_TESTS", "EMAIL_URL"),
    *("TIME_ZONE", "PAYMENT_PROVIDERS", "STORE"),
}


def start_run(*, directory: Path, port: int) -> Run:
    """With one web process, since each imports the whole shop, and with no place for pictures, of which a worker would
    draw forty at the first start.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    smaller = {"GRANIAN_WORKERS": "1", "MEDIA_ROOT": "/dev/null/media"}
    output = directory.with_suffix(".out")
    with output.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "shop.local.run"],
            env={**inherited, "STAMPEDE_DIRECTORY": str(directory), "PORT": str(port), **smaller},
            stdout=file,
            stderr=subprocess.STDOUT,
            text=True,
        )
    return Run(process=process, output=output, directory=directory, port=port)


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """A running shop, shared by the tests that leave it running."""
    with temporary_server_directory() as directory:
        run = start_run(directory=directory / "stampede", port=free_port())
        try:
            run.wait_for("Ctrl-C stops everything")
            yield run
        finally:
            with contextlib.suppress(ProcessLookupError):
                run.process.terminate()
            run.process.wait(STOP_SECONDS_MAX + 5)


def test_everything_it_prints_can_be_opened_and_secrets_are_for_their_owner_only(run: Run) -> None:
    printed = run.printed()
    for path in ("/", "/admin/", "/api/docs/"):
        assert f"{run.url}{path}" in printed
        with urlopen(f"{run.url}{path}", timeout=10) as answer:
            assert answer.status == 200
    values = run.environment()
    assert values["TIME_ZONE"] == "Asia/Shanghai"
    assert f"{run.directory}/mails/" in printed
    assert values["EMAIL_URL"] == f"filemail:///{run.directory}/mails"
    assert values["STAMPEDE_ADMIN_PASSWORD"] in printed
    assert values["STAMPEDE_BUYER_PASSWORD"] in printed
    body = json.dumps({"username": "alice", "password": values["STAMPEDE_BUYER_PASSWORD"]})
    asked = ask(run.url, "/api/v1/auth/token/", method="POST", body=body, content_type="application/json")
    assert asked.status in (200, 201)
    for name in ("env", "secrets.json"):
        assert stat.S_IMODE((run.directory / name).stat().st_mode) == 0o600


def test_orders_can_be_paid_by_pretending_and_only_by_these_processes(run: Run) -> None:
    web = run.pid_of("-m granian")
    given = Path(f"/proc/{web}/environ").read_bytes().split(b"\0")
    assert b"STAMPEDE_RUN=loopback" in given
    assert not {"STAMPEDE_RUN", "PAYMENT_PROVIDERS"} & run.environment().keys()
    # Any reference: the page exists where the provider does, and there is no such payment.
    webhook = "/api/v1/payments/simulated/webhook/"
    assert ask(run.url, webhook, method="POST", body="{}", content_type="application/json").status == 400


def test_a_killed_web_server_comes_back_and_its_children_do_not_hold_the_port(run: Run) -> None:
    killed = run.pid_of("-m granian")
    os.kill(killed, signal.SIGKILL)
    run.wait_for("web ended by SIGKILL; restarting it")
    run.wait_for("web answers again")
    assert run.pid_of("-m granian") != killed
    assert ask(run.url, "/readyz").status == 200


def test_kill_9_of_it_leaves_nothing_behind(run: Run) -> None:
    assert len(descendants(pid=run.process.pid)) > 6
    run.kill_9()


def test_a_second_start_keeps_what_was_there_and_ctrl_c_stops_all_of_it(run: Run) -> None:
    secrets_before = run.environment()["SECRET_KEY"], run.environment()["STAMPEDE_ADMIN_PASSWORD"]
    run.kill_9()
    again = start_run(directory=run.directory, port=run.port)
    # They are started at the same time, beat last. None answers yet.
    wait_until(lambda: bool(again.pids_of("-A shop beat")), seconds_max=START_SECONDS_MAX)
    assert (again.environment()["SECRET_KEY"], again.environment()["STAMPEDE_ADMIN_PASSWORD"]) == secrets_before
    started = descendants(pid=again.process.pid)
    assert len(started) > 6
    again.process.send_signal(signal.SIGINT)
    assert again.process.wait(STOP_SECONDS_MAX) == 0
    assert not living(pids=started)
    assert "Traceback" not in again.printed()


def refused(directory: Path, monkeypatch: pytest.MonkeyPatch, **changes: str) -> int:
    """The exit code of a run that must not start anything, in this process."""
    for name in (*SERVER_URLS, "STORE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"STAMPEDE_DIRECTORY": str(directory), "PORT": str(free_port()), **changes}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(Supervisor, "listen", lambda _: None)
    return run_module.main()


def test_a_taken_port_is_named_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert refused(tmp_path / "stampede", monkeypatch, PORT=str(port)) == 1
    said = f"Port {port} is in use by another program. Choose a free one, for example: PORT={port + 1} make run\n"
    assert capsys.readouterr().err == said
    assert not (tmp_path / "stampede" / "postgres").exists()


def test_a_second_run_in_the_same_directory_says_who_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run_module, "_supervise", Mock(return_value=0))
    with lock_directory(directory=tmp_path):
        assert refused(tmp_path, monkeypatch) == 1
    assert f"in use by process {os.getpid()}" in capsys.readouterr().err


def test_files_that_it_may_not_write_are_named_with_their_owner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Even root may create nothing there.
    assert refused(Path("/sys/stampede"), monkeypatch) == 1
    message = capsys.readouterr().err
    assert message.startswith("/sys/stampede cannot be used: ")
    assert "/sys belongs to the user root, and this is " in message
    assert "clone" in message


def test_files_of_another_user_are_named_with_how_to_take_them_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = tmp_path / "lock"
    lock.touch()
    refusal = PermissionError(errno.EACCES, "Permission denied", str(lock))
    monkeypatch.setattr(run_module, "lock_directory", Mock(side_effect=refusal))
    monkeypatch.setattr(os, "geteuid", lambda: pwd.getpwnam("nobody").pw_uid)

    assert refused(tmp_path, monkeypatch) == 1

    problem = (
        f"{lock} cannot be used: Permission denied. {lock} belongs to the user {lock.owner()}, and this is nobody."
    )
    assert problem in (message := capsys.readouterr().err)
    assert f"Run as {lock.owner()}, or in a clone of your own." in message
    assert f"sudo chown -R {os.geteuid()} {tmp_path}" in message


def test_a_full_disk_is_named_with_the_room_that_is_left(
    server_directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = server_directory / "stampede"
    (given / "store").mkdir(parents=True)
    (given / "store" / "valkey.conf").symlink_to("/dev/full")
    assert refused(given, monkeypatch) == 1
    message = capsys.readouterr().err
    assert f"{given} cannot be written: No space left on device." in message
    assert re.search(rf"^\d+ MB are free for {given}, and a new shop wants 300 MB\. Make room", message, re.M)


def test_an_impossible_setting_is_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(tmp_path / "stampede", monkeypatch, PORT="eight thousand") == 2
    said = "PORT is 'eight thousand', which is not a port: use a number from 1 to 65535.\n"
    assert capsys.readouterr().err == said


OWN = {"DATABASE_URL": "postgres:///none", "SECKILL_REDIS_URL": "redis://none", "REDIS_URL": "redis://none"}


def test_each_impossible_setting_is_named(tmp_path: Path) -> None:
    store = {"STORE": "cluster", **OWN}
    cases: list[tuple[dict[str, str], str]] = [
        *(({"PORT": port}, f"PORT is {port!r}, which is not a port") for port in ("0", "65536", "-1", "8000.0", "²")),
        ({"REDIS_URL": "redis://none"}, "REDIS_URL set, but DATABASE_URL and SECKILL_REDIS_URL missing."),
        ({"STORE": "raft"}, "STORE is 'raft', which is no kind of reservation store: use one of single, sentinel, "),
        (store, "STORE=cluster asks `make run` to start a reservation store, but SECKILL_REDIS_URL"),
    ]
    for environ, message in cases:
        with pytest.raises(BadEnvironment, match=f"^{re.escape(message)}"):
            read_settings(environ=environ, directory=tmp_path)


def test_the_kind_of_store_of_the_last_run_is_known(tmp_path: Path) -> None:
    assert last_store(directory=tmp_path) is None
    settings = read_settings(environ={"STAMPEDE_DIRECTORY": str(tmp_path)}, directory=tmp_path)
    for url, kind in (
        ("redis://:secret@127.0.0.1:1/0", StoreKind.SINGLE),
        ("redis+sentinel://:secret@127.0.0.1:1,127.0.0.1:2/stampede/0?sentinel_password=x", StoreKind.SENTINEL),
        ("redis+cluster://:secret@127.0.0.1:1,127.0.0.1:2", StoreKind.CLUSTER),
    ):
        write_environment(settings=settings, urls={"SECKILL_REDIS_URL": url})
        assert last_store(directory=tmp_path) is kind


def test_the_web_server_has_two_processes_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def command() -> str:
        started = processes(settings=read_settings(environ={}, directory=tmp_path), broker_url="memory://")
        return next(" ".join(process.argv) for process in started if process.name == "web")

    monkeypatch.delenv("GRANIAN_WORKERS", raising=False)
    assert " --workers 2 " in command()
    monkeypatch.setenv("GRANIAN_WORKERS", "5")
    assert " --workers 5 " in command()


@pytest.mark.parametrize(
    ("host", "url"),
    [("::1", "http://[::1]:8000"), ("192.0.2.7", "http://192.0.2.7:8000"), ("0.0.0.0", "http://127.0.0.1:8000")],
)
def test_links_and_payments_lead_to_the_address_at_which_the_shop_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, url: str
) -> None:
    monkeypatch.delenv("SHOP_URL", raising=False)
    settings = read_settings(environ={"HOST": host}, directory=tmp_path)
    assert write_environment(settings=settings, urls={})["SHOP_URL"] == url
    monkeypatch.setenv("SHOP_URL", "https://shop.example")
    assert write_environment(settings=settings, urls={})["SHOP_URL"] == "https://shop.example"
    # One that was set for an earlier run is not kept.
    monkeypatch.delenv("SHOP_URL")
    assert write_environment(settings=settings, urls={})["SHOP_URL"] == url


@pytest.mark.parametrize(("host", "reached_by"), [("127.0.0.1", "loopback"), ("0.0.0.0", "open")])
def test_the_processes_of_a_shop_that_others_reach_are_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, reached_by: str
) -> None:
    monkeypatch.setattr(run_module, "compile_translations", Mock())
    given = {"HOST": host, "STAMPEDE_DIRECTORY": str(tmp_path), **OWN}
    settings = read_settings(environ=given, directory=tmp_path)
    with patch.dict(os.environ):
        run_module._start(settings=settings, servers=None, supervisor=Mock())
        assert os.environ["STAMPEDE_RUN"] == reached_by


def test_what_is_written_is_read_again_whatever_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read_settings(environ={"STAMPEDE_DIRECTORY": str(tmp_path)}, directory=tmp_path)
    monkeypatch.setenv("SECRET_KEY", "key #1 $HOME")
    monkeypatch.setenv("EMAIL_URL", "smtp://mail.example")
    write_environment(settings=settings, urls={})
    monkeypatch.delenv("SECRET_KEY")
    monkeypatch.delenv("EMAIL_URL")
    values = write_environment(settings=settings, urls={})
    # Mails go to real people only where this run says so.
    assert (values["SECRET_KEY"], values["EMAIL_URL"][:9]) == ("key #1 $HOME", "filemail:")
    with patch.dict(os.environ):
        Env.read_env(tmp_path / "env")
        assert os.environ["SECRET_KEY"] == "key #1 $HOME"


def test_a_number_of_replicas_is_passed_on_to_our_own_store(tmp_path: Path) -> None:
    given = {"STORE": "sentinel", "SECKILL_YES_REPLICAS": "1"}
    settings = read_settings(environ=given, directory=tmp_path)
    assert (settings.store, settings.replicas_min) == (StoreKind.SENTINEL, 1)
    assert read_settings(environ={"SECKILL_YES_REPLICAS": "many"}, directory=tmp_path).replicas_min == 0
