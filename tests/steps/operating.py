"""What an operator does: the commands of manage.py, in this process or in one of their own."""

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

from django.core.management import call_command

ROOT = Path(__file__).resolve().parents[2]
EVERYTHING_IS_WELL = "System check identified no issues (0 silenced)."


def run_command(name: str, *arguments: str) -> str:
    """What a command prints, run in this process."""
    out = StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def check(*arguments: str, **changes: str) -> tuple[int, str]:
    """Exit code and all that was printed, with the settings that the README asks of a real shop."""
    environment = {**os.environ, "HTTPS": "1", "DEBUG": "0", "LOAD_TESTS": "0", "PAYMENT_PROVIDERS": "", **changes}
    # The browser tests set it for themselves, in the process that runs us all.
    environment.pop("DJANGO_ALLOW_ASYNC_UNSAFE", None)
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "check", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout.strip()
