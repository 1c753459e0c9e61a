"""The commands of README, "Deploying", in a fresh copy: both languages, and no web process lost for good."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from shop.local.ports import free_port
from shop.local.process import Process
from tests.deploy.layouts import readme_commands
from tests.deploy.programs import ROOT
from tests.live_shop import START_SECONDS, environment, listeners
from tests.processes import command_line, descendants, wait_until
from tests.steps.caller import ask
from tests.steps.operating import real_shop

pytestmark = pytest.mark.django_db(transaction=True)

# Of the four that the README has: each imports the whole shop.
WEB_PROCESSES = 2


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What somebody has who clones the repository, without the tests: files that git knows, and none made since.

    With what Python has compiled of them, which is valid for files of the same age.
    """
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    copy = tmp_path / "stampede"
    for name in listed.stdout.split("\0"):
        if not name or name.startswith("tests/"):
            continue
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
def prepared(folder: Path, variables: Mapping[str, str]) -> str:
    """What the commands print that end."""
    lines = [line for line in readme_commands() if not line.startswith(("granian", "celery"))]
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
        cwd=folder,
        env=dict(variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def web(prepared: str, folder: Path, variables: Mapping[str, str], tmp_path: Path) -> Iterator[Process]:
    """The web server. Workers and beat start in test_started_layout.py."""
    [line] = [line for line in readme_commands() if line.startswith("granian")]
    assert "--workers 4 " in line
    process = Process(
        name="web",
        title=line,
        argv=["bash", "-c", f"exec {line}".replace("--workers 4", f"--workers {WEB_PROCESSES}")],
        log_path=tmp_path / "web.log",
        ready=lambda _: True,
        environment=variables,
        directory=folder,
    )
    try:
        process.start()
        yield process
    finally:
        process.kill()
        print(process.last_lines(lines_max=30))


def page(path: str, *, port: int) -> str:
    """As the proxy asks for it."""
    answer = ask(f"http://127.0.0.1:{port}", path, host="shop.example", x_forwarded_proto="https")
    assert answer.status == 200
    return answer.body.decode()


def web_workers(web: Process) -> set[int]:
    """The processes that answer, and not the helpers that Python starts beside them."""
    pids = descendants(pid=web.pid or 0)
    return {pid for pid in pids if "spawn_main" in (line := command_line(pid=pid)) or "granian" in line}


def test_the_readme_makes_a_shop_that_stays(prepared: str, web: Process, variables: Mapping[str, str]) -> None:
    assert "System check identified no issues" in prepared
    port = int(variables["GRANIAN_PORT"])
    wait_until(lambda: listeners(port) == WEB_PROCESSES, seconds_max=START_SECONDS)
    assert '<html lang="zh-hans"' in page("/zh-hans/", port=port)
    assert "登录" in page("/zh-hans/", port=port)
    assert "/static/shop/" in page("/", port=port)
    # The proxy has ended TLS. Who comes without it is led there, and a balancer is not.
    for path, status in (("/", 301), ("/healthz", 200)):
        assert ask(f"http://127.0.0.1:{port}", path, host="shop.example").status == status

    workers = web_workers(web)
    assert len(workers) == WEB_PROCESSES
    os.kill(min(workers), signal.SIGKILL)
    wait_until(lambda: len(web_workers(web) - workers) == 1, seconds_max=START_SECONDS)
    wait_until(lambda: listeners(port) == WEB_PROCESSES, seconds_max=START_SECONDS)
    assert '<html lang="zh-hans"' in page("/zh-hans/", port=port)
    assert web.running
