"""`make faults`: `manage.py fault_harness` with a directory and addresses that nothing else uses.

python -m bench.faults [--directory DIRECTORY] ARGUMENTS   the directory is .stampede/faults if not given
"""

import secrets
import sys

from bench.own_run import clear, directory_from, environment, listen_for_stop, run_command
from shop.local.directory_lock import DirectoryInUse, lock_directory
from shop.local.ports import free_ports
from shop.local.postgres import DATABASE, DataUnusable
from shop.local.wheel import WheelMissing

# Left by the run before; a new run must not see it.
LEFTOVERS = (
    *("postgres", "standbys", "store", "broker", "failpoints", "logs", "history.jsonl", "report.json", "faults.md"),
    # Shops with other reservation stores (replicas/shop_kind.py).
    *("sentinel-*", "cluster-*"),
    # Shops that followed one with a server that did not come back.
    "shop-*",
    # Harnesses side by side (lanes.py).
    "lane-*",
)


def main(arguments: list[str]) -> int:
    """Run the harness and return its exit code; 2 if its servers could not be started."""
    listen_for_stop()
    directory, rest = directory_from(arguments, name="faults")
    try:
        with lock_directory(directory=directory):
            clear(directory, leftovers=LEFTOVERS)
            own = {**environment(directory, addresses()), "FAULTS_DIRECTORY": str(directory)}
            return run_command("fault_harness", rest, environment=own)
    except (DataUnusable, DirectoryInUse, WheelMissing) as error:
        print(error, file=sys.stderr)
        return 2


def addresses() -> dict[str, str]:
    """Of servers that do not run yet; the harness starts them there."""
    password = secrets.token_hex(16)
    postgres, store, broker, web = free_ports(count=4)
    return {
        "DATABASE_URL": f"postgresql://stampede:{password}@127.0.0.1:{postgres}/{DATABASE}",
        "SECKILL_REDIS_URL": f"redis://:{password}@127.0.0.1:{store}/0",
        "REDIS_URL": f"redis://:{password}@127.0.0.1:{broker}/0",
        # Where the payment company calls the shop: one of the two web processes.
        "SHOP_URL": f"http://127.0.0.1:{web}",
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
