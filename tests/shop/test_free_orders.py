"""A shop whose folder has seen `make run` is started for real: nobody gets an order without paying."""

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shop.local.process import Process
from shop.local.shop_processes import ROOT
from tests.own_store import free_port
from tests.processes import wait_until

LEFT_BY_MAKE_RUN = "LOAD_TESTS=1\n"
ASKED_FOR_IN_THE_FILE = "LOAD_TESTS=1\nPAYMENT_PROVIDERS=simulated\n"
# What a process of Celery or of the web server finds; the commands of manage.py are others.
SHOW = (
    "import json, os; from django.conf import settings; "
    "print(json.dumps([settings.LOAD_TESTS, settings.PAYMENT_PROVIDERS, 'bench' in settings.INSTALLED_APPS, "
    "os.environ.get('LOAD_TESTS')]))"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "env").write_text(LEFT_BY_MAKE_RUN)
    return tmp_path


def environment(folder: Path, **given: str) -> dict[str, str]:
    without = {"LOAD_TESTS", "PAYMENT_PROVIDERS", "DEBUG"}
    inherited = {name: value for name, value in os.environ.items() if name not in without}
    return {**inherited, "STAMPEDE_DIRECTORY": str(folder), "DJANGO_SETTINGS_MODULE": "shop.settings", **given}


def start(folder: Path, **given: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-c", SHOW]
    return subprocess.run(
        command, cwd=ROOT, env=environment(folder, **given), capture_output=True, text=True, timeout=60
    )


@pytest.fixture
def web_of(folder: Path) -> Iterator["list[Process]"]:
    started: list[Process] = []
    yield started
    for process in started:
        process.kill()


def test_a_web_server_does_not_know_the_simulated_provider(folder: Path, web_of: "list[Process]") -> None:
    port = free_port()
    argv = [sys.executable, "-m", "granian", "--interface", "rsgi", "web.rsgi:application", "--port", str(port)]
    log = folder / "web.log"

    def status_of(path: str, method: str = "GET") -> int:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request(method, path, "{}", {"Content-Type": "application/json", "Host": "localhost"})
        status = connection.getresponse().status
        connection.close()
        return status

    def answers(_process: Process) -> bool:
        try:
            return status_of("/healthz") == 200
        except OSError:
            return False

    process = Process(
        name="web",
        title="web server",
        argv=argv,
        log_path=log,
        ready=answers,
        environment=environment(folder),
        directory=ROOT,
    )
    web_of.append(process)
    process.start()
    wait_until(process.answers, seconds_max=60)
    assert status_of("/api/v1/payments/simulated/webhook/", "POST") == 404


def test_a_worker_takes_nothing_from_the_file(folder: Path) -> None:
    assert json.loads(start(folder).stdout) == [False, [], False, None]


def test_load_tests_of_the_environment_bring_no_free_orders(folder: Path) -> None:
    assert json.loads(start(folder, LOAD_TESTS="1").stdout) == [True, [], True, "1"]


@pytest.mark.parametrize("run", ["", "open"])
def test_a_provider_that_only_the_file_names_is_refused_with_what_to_do(folder: Path, run: str) -> None:
    (folder / "env").write_text(ASKED_FOR_IN_THE_FILE)
    done = start(folder, STAMPEDE_RUN=run)
    assert done.returncode != 0
    assert "ImproperlyConfigured: PAYMENT_PROVIDERS is “simulated” only because" in done.stderr
    assert "set PAYMENT_PROVIDERS=simulated in the environment of the process." in done.stderr


def test_it_is_there_for_those_who_ask_by_name(folder: Path) -> None:
    assert json.loads(start(folder, PAYMENT_PROVIDERS="simulated").stdout)[:2] == [False, ["simulated"]]


@pytest.mark.parametrize(("run", "providers"), [("loopback", ["simulated"]), ("open", [])])
def test_make_run_has_it_where_nobody_else_can_reach_the_shop(folder: Path, run: str, providers: list[str]) -> None:
    assert json.loads(start(folder, STAMPEDE_RUN=run).stdout) == [True, providers, True, "1"]


@pytest.mark.parametrize(("command", "known"), [("stampede", True), ("runserver", False)])
def test_commands_in_a_second_terminal_find_the_file(folder: Path, command: str, known: bool) -> None:
    """A development server counts as a server."""
    code = SHOW.replace("import json", f"import sys; sys.argv = ['./manage.py', '{command}']; import json")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=ROOT,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert json.loads(done.stdout)[:2] == [known, []]
