"""The start and end of a measurement: a directory and servers of its own, and a command with its own settings.

And the options with which `make bench` and `make faults` choose what is run.
"""

import os
import secrets
import shutil
import signal
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shop.local.directory_lock import DirectoryInUse, lock_directory
from shop.local.postgres import DataUnusable
from shop.local.process import ProcessFailed
from shop.local.servers import EmbeddedServers
from shop.local.shop_processes import ROOT
from shop.local.wheel import WheelMissing

# Rows of the run before would make the next one slower.
LEFTOVERS = ("postgres", "store", "broker", "logs", "secrets.json")


def directory_from(arguments: Sequence[str], *, name: str) -> tuple[Path, list[str]]:
    """The directory of the run, `.stampede/NAME` if `--directory` says no other, and the arguments without it."""
    if "--directory" not in arguments:
        return ROOT / ".stampede" / name, [*arguments]
    at = arguments.index("--directory")
    return Path(arguments[at + 1]).resolve(), [*arguments[:at], *arguments[at + 2 :]]


def clear(directory: Path, *, leftovers: Sequence[str]) -> None:
    """Every run starts from empty servers: what the one before has left is removed. `leftovers` may have a `*`."""
    for path in (path for name in leftovers for path in directory.glob(name)):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def listen_for_stop() -> None:
    """Ctrl-C and SIGTERM end this program, even if a script has started it with the signals ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def environment(directory: Path, addresses: Mapping[str, str]) -> dict[str, str]:
    """Settings of a shop of the run's own: nothing of the developer's, and no payments of real money."""
    return {
        **{name: value for name, value in os.environ.items() if name != "CELERY_BROKER_URL"},
        "SECRET_KEY": secrets.token_urlsafe(50),
        **addresses,
        "LOAD_TESTS": "1",
        "PAYMENT_PROVIDERS": "simulated",
        # All calls of a measurement come from one address.
        "SEARCH_LIMIT": "1000000/minute",
        "STAMPEDE_DIRECTORY": str(directory),
    }


def run_command(command: str, arguments: Sequence[str], *, environment: Mapping[str, str]) -> int:
    """Run `manage.py COMMAND` to its end, and return its exit code. It gets the signals that would end this process."""
    words = [sys.executable, str(ROOT / "manage.py"), command, "--skip-checks", *arguments]
    process = subprocess.Popen(words, env=dict(environment), cwd=ROOT)
    signal.signal(signal.SIGTERM, lambda number, frame: process.send_signal(signal.SIGINT))
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            # The command gets the signal too, and stops what it started before it ends.
            continue


def run_on_own_servers(
    directory: Path, *commands: Sequence[str], more: Callable[[EmbeddedServers], Mapping[str, str]] = lambda servers: {}
) -> int:
    """Start empty servers, run the commands until one fails, and stop the servers. `more` adds to the environment.

    Returns the exit code of the last command; 2 if a server could not be started.
    """
    servers = EmbeddedServers(directory)
    try:
        with lock_directory(directory=directory):
            clear(directory, leftovers=LEFTOVERS)
        servers.start()
    except (DataUnusable, DirectoryInUse, ProcessFailed, WheelMissing) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        # The servers that had been started are stopped.
        return 130
    try:
        own = {**environment(directory, servers.environment()), **more(servers)}
        for command, *arguments in commands:
            if code := run_command(command, arguments, environment=own):
                return code
        return 0
    finally:
        servers.stop()


def run_alone(command: str, arguments: Sequence[str]) -> int:
    """Run `manage.py COMMAND` on empty servers in .stampede/COMMAND, and remove these: rows may take much space."""
    listen_for_stop()
    directory = ROOT / ".stampede" / command
    try:
        return run_on_own_servers(directory, ["migrate", "--verbosity", "0"], [command, *arguments])
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def add_choice(parser: ArgumentParser, *, names: Callable[[str], tuple[str, ...]], kind: str, more: str = "") -> None:
    """The options that choose: `--only`, `--quick` and `--list`. `kind` is the word for what is chosen."""
    metavar = f"{kind.upper()},…"
    parser.add_argument("--only", type=names, metavar=metavar, help=f"only these {kind}s; --list shows them{more}")
    parser.add_argument("--quick", action="store_true", help=f"some short {kind}s: does it work at all?")
    parser.add_argument("--list", action="store_true", help=f"list the {kind}s and run none")


def chosen(options: Mapping[str, Any], *, quick: Sequence[str], usual: Sequence[str]) -> Sequence[str]:
    names: Sequence[str] = options["only"] or (quick if options["quick"] else usual)
    return names
