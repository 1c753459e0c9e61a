"""The commands of README, "Deploying", word for word in a fresh copy: both languages, and no process lost for good."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from shop.local.ports import free_port
from shop.local.process import Process, stop_processes
from tests.deploy.programs import ROOT
from tests.live_shop import START_SECONDS, environment, listeners
from tests.processes import command_line, descendants, wait_until
from tests.steps.caller import ask
from tests.steps.operating import real_shop

pytestmark = pytest.mark.django_db(transaction=True)

SERVERS = ("granian", "celery")
WEB_PROCESSES = 4


def commands() -> list[str]:
    section = (ROOT / "README.md").read_text().partition("\n## Deploying\n")[2]
    return str(re.findall(r"```\n(.*?)```", section, flags=re.S)[0]).splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What somebody has who clones the repository: files that git knows, and none that were made since.

    With what Python has compiled of them, which is valid for files of the same age.
    """
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    copy = tmp_path / "stampede"
    for name in filter(None, listed.stdout.split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
        if name.endswith(".py") and (compiled := Path(cache_from_source(ROOT / name))).exists():
            (copy / name).with_name("__pycache__").mkdir(exist_ok=True)
            shutil.copy2(compiled, copy / compiled.relative_to(ROOT))
    return copy


@pytest.fixture
def variables(tmp_path: Path) -> Mapping[str, str]:
    """The environment of the README. The packages of the tests stand in for those that pip would install."""
    tools = tmp_path / "tools"
    tools.mkdir()
    pip = tools / "pip"
    pip.write_text('#!/bin/sh\nfor file; do :; done\ntest "$1 $2" = "install --require-hashes" && test -f "$file"\n')
    pip.chmod(0o755)
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("STAMPEDE_", "DJANGO_"))}
    return {**inherited, **environment(), **real_shop(), "PATH": path, "GRANIAN_PORT": str(free_port())}


@pytest.fixture
def servers(folder: Path, variables: Mapping[str, str], tmp_path: Path) -> Iterator[list[Process]]:
    """Runs the commands that end, and starts the others."""
    lines = commands()
    first = [line for line in lines if not line.startswith(SERVERS)]
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(first)],
        cwd=folder,
        env=dict(variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    processes = [
        Process(
            name=f"{number}",
            title=line,
            argv=["bash", "-c", f"exec {line}"],
            log_path=tmp_path / f"{number}.log",
            ready=lambda _: True,
            environment=variables,
            directory=folder,
        )
        for number, line in enumerate(line for line in lines if line.startswith(SERVERS))
    ]
    try:
        for process in processes:
            process.start()
        yield processes
    finally:
        stop_processes(processes=processes)
        for process in processes:
            print(f"--- {process.title}\n{process.last_lines(lines_max=30)}")


def page(path: str, *, port: int) -> str:
    """As the proxy asks for it."""
    answer = ask(f"http://127.0.0.1:{port}", path, host="shop.example", x_forwarded_proto="https")
    assert answer.status == 200
    return answer.body.decode()


def web_workers(web: Process) -> set[int]:
    """The processes that answer, and not the helpers that Python starts beside them."""
    pids = descendants(pid=web.pid or 0)
    return {pid for pid in pids if "spawn_main" in (line := command_line(pid=pid)) or "granian" in line}


def test_the_readme_makes_a_shop_that_stays(servers: list[Process], variables: Mapping[str, str]) -> None:
    web = servers[0]
    port = int(variables["GRANIAN_PORT"])
    wait_until(lambda: listeners(port) == WEB_PROCESSES, seconds_max=START_SECONDS)
    assert '<html lang="zh-hans"' in page("/zh-hans/", port=port)
    assert "登录" in page("/zh-hans/", port=port)
    assert "/static/shop/" in page("/", port=port)

    workers = web_workers(web)
    assert len(workers) == WEB_PROCESSES
    os.kill(min(workers), signal.SIGKILL)
    wait_until(lambda: len(web_workers(web) - workers) == 1, seconds_max=START_SECONDS)
    wait_until(lambda: listeners(port) == WEB_PROCESSES, seconds_max=START_SECONDS)
    assert '<html lang="zh-hans"' in page("/zh-hans/", port=port)
    assert [process.title for process in servers if not process.running] == []
