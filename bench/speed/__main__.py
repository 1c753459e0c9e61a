"""`make bench`: `manage.py speed_bench` on servers that are started for it alone, in .stampede/speed.

python -m bench.speed [--directory DIRECTORY] ARGUMENTS
"""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.speed.wrk import WrkMissing, find_wrk
from shop.local.postgres import DataUnusable
from shop.local.process import ProcessFailed
from shop.local.servers import DirectoryInUse, EmbeddedServers, lock_directory
from shop.local.shop_processes import ROOT
from shop.local.wheel import WheelMissing
from shop.translations import compile_translations

# Each run starts from empty servers: rows of the run before would make it slower.
LEFTOVERS = ("postgres", "store", "broker", "logs", "secrets.json")
# Options with which nothing is measured, so no server is needed.
NO_MEASUREMENT = {"--list", "--help", "-h"}
NO_SERVERS = {
    "DATABASE_URL": "postgres://127.0.0.1:1/none",
    "SECKILL_REDIS_URL": "redis://127.0.0.1:1",
    "REDIS_URL": "redis://127.0.0.1:1",
}


def main(arguments: list[str]) -> int:
    """Run the bench and return its exit code; 2 if it could not start."""
    directory = ROOT / ".stampede" / "speed"
    if "--directory" in arguments:
        at = arguments.index("--directory")
        directory = Path(arguments[at + 1]).resolve()
        arguments = arguments[:at] + arguments[at + 2 :]
    if NO_MEASUREMENT & set(arguments):
        return run_bench(arguments, environment=environment(directory, NO_SERVERS))
    servers = EmbeddedServers(directory)
    try:
        find_wrk()
        with lock_directory(directory=directory):
            clear(directory)
        compile_translations()
        servers.start()
    except (DataUnusable, DirectoryInUse, ProcessFailed, WheelMissing, WrkMissing) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        # The servers that had been started are stopped.
        return 130
    try:
        pids = {process.name: process.pid for process in servers.processes}
        named = {"postgres": pids["postgres"], "store": pids["store"], "cache": pids["broker"]}
        return run_bench(
            arguments,
            environment={
                **environment(directory, servers.environment()),
                "SPEED_DIRECTORY": str(directory),
                "SPEED_SERVER_PIDS": json.dumps(named),
            },
        )
    finally:
        servers.stop()


def clear(directory: Path) -> None:
    for name in LEFTOVERS:
        path = directory / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def environment(directory: Path, urls: Mapping[str, str]) -> dict[str, str]:
    """Settings of the shop that is measured: nothing of the developer's own, no mails, no payments of real money."""
    return {
        **{name: value for name, value in os.environ.items() if name != "CELERY_BROKER_URL"},
        **urls,
        "SECRET_KEY": secrets.token_urlsafe(50),
        "LOAD_TESTS": "1",
        "PAYMENT_PROVIDERS": "simulated",
        "EMAIL_URL": "dummymail://",
        "STAMPEDE_DIRECTORY": str(directory),
    }


def run_bench(arguments: list[str], *, environment: Mapping[str, str]) -> int:
    command = [sys.executable, str(ROOT / "manage.py"), "speed_bench", "--skip-checks", *arguments]
    bench = subprocess.Popen(command, env=dict(environment), cwd=ROOT)
    signal.signal(signal.SIGTERM, lambda number, frame: bench.send_signal(signal.SIGINT))
    while True:
        try:
            return bench.wait()
        except KeyboardInterrupt:
            # The bench gets the signal too, and stops what it started before it ends.
            continue


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
