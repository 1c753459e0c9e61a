"""`manage.py growth` on servers that are started for it alone, in .stampede/growth.

python -m bench.measure.growth [--past 1000 100000 1000000] [--sales 1000] [--json FILE]
"""

import shutil
import sys

from bench.own_run import listen_for_stop, run_on_own_servers
from shop.local.shop_processes import ROOT

DIRECTORY = ROOT / ".stampede" / "growth"


def main(arguments: list[str]) -> int:
    """Run the command and return its exit code; 2 if its servers could not be started."""
    listen_for_stop()
    try:
        return run_on_own_servers(DIRECTORY, ["migrate", "--verbosity", "0"], ["growth", *arguments])
    finally:
        # A million orders take much space.
        shutil.rmtree(DIRECTORY, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
