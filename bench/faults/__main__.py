"""`make faults`: `manage.py fault_harness` with a directory and addresses that nothing else uses.

python -m bench.faults [--directory DIRECTORY] ARGUMENTS   the directory is .stampede/faults if not given
"""

import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from shop.local.postgres import DATABASE, DataUnusable
from shop.local.servers import DirectoryInUse, free_ports, lock_directory
from shop.local.shop_processes import ROOT
from shop.local.wheel import WheelMissing

# Left by the run before; a new run must not see it.
_LEFTOVERS = ("postgres", "store", "broker", "failpoints", "logs", "history.jsonl", "report.json")


def main(arguments: list[str]) -> int:
    """Run the harness and return its exit code; 2 if its servers could not be started."""
    directory = ROOT / ".stampede" / "faults"
    if "--directory" in arguments:
        at = arguments.index("--directory")
        directory = Path(arguments[at + 1]).resolve()
        arguments = arguments[:at] + arguments[at + 2 :]
    try:
        with lock_directory(directory=directory):
            clear(directory)
            return run_harness(arguments, environment=environment(directory))
    except (DataUnusable, DirectoryInUse, WheelMissing) as error:
        print(error, file=sys.stderr)
        return 2


def clear(directory: Path) -> None:
    """Every run starts from empty servers."""
    for name in _LEFTOVERS:
        path = directory / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def environment(directory: Path) -> dict[str, str]:
    """Settings for servers that do not run yet; the harness starts them at these addresses."""
    password = secrets.token_hex(16)
    postgres, store, broker, web = free_ports(count=4)
    return {
        **{name: value for name, value in os.environ.items() if name != "CELERY_BROKER_URL"},
        "SECRET_KEY": secrets.token_urlsafe(50),
        "DATABASE_URL": f"postgresql://stampede:{password}@127.0.0.1:{postgres}/{DATABASE}",
        "SECKILL_REDIS_URL": f"redis://:{password}@127.0.0.1:{store}/0",
        "REDIS_URL": f"redis://:{password}@127.0.0.1:{broker}/0",
        # Where the payment company calls the shop: one of the two web processes.
        "SHOP_URL": f"http://127.0.0.1:{web}",
        "LOAD_TESTS": "1",
        "PAYMENT_PROVIDERS": "simulated",
        "STAMPEDE_DIRECTORY": str(directory),
        "FAULTS_DIRECTORY": str(directory),
    }


def run_harness(arguments: list[str], *, environment: Mapping[str, str]) -> int:
    command = [sys.executable, str(ROOT / "manage.py"), "fault_harness", "--skip-checks", *arguments]
    harness = subprocess.Popen(command, env=dict(environment), cwd=ROOT)
    signal.signal(signal.SIGTERM, lambda number, frame: harness.send_signal(signal.SIGINT))
    while True:
        try:
            return harness.wait()
        except KeyboardInterrupt:
            # The harness gets the signal too, and stops what it started before it ends.
            continue


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
