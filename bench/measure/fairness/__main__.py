"""`manage.py fairness` on servers that are started for it alone, in .stampede/fairness.

python -m bench.measure.fairness [--accounts 1 100 1000] [--honest 1000] [--units 100] [--rounds 3] [--seed 1]
"""

import shutil
import sys

from bench.own_run import listen_for_stop, run_on_own_servers
from shop.local.shop_processes import ROOT

DIRECTORY = ROOT / ".stampede" / "fairness"


def main(arguments: list[str]) -> int:
    """Run the command and return its exit code; 2 if its servers could not be started."""
    listen_for_stop()
    try:
        return run_on_own_servers(DIRECTORY, ["migrate", "--verbosity", "0"], ["fairness", *arguments])
    finally:
        shutil.rmtree(DIRECTORY, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
