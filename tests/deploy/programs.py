"""Programs that check or run the files of `deploy/`. Where one is missing, a test says so; in CI that is a failure."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"

# Tools from Python packages are beside the interpreter, Debian's daemons in directories that only root has in PATH.
_PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin"])

# Debian's postgresql-client-common brings this one, which fails where no client is installed.
WRAPPERS = {"psql"}


def program(name: str, *, package: str) -> str:
    """Its path. Skips the test where it is missing, or fails it in CI."""
    found = shutil.which(name, path=_PATH)
    if found is None or (name in WRAPPERS and subprocess.run([found, "--version"], capture_output=True).returncode):
        reason = f"{name} is not installed ({package})"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def check(*command: str | Path) -> str:
    """Run a checker and return what it says. Fails the test with that if it finds something."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr
