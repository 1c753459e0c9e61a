"""`manage.py growth` on servers that are started for it alone, in .stampede/growth.

python -m bench.measure.growth [--past 1000 100000 1000000] [--sales 1000] [--json FILE]
"""

import os
import secrets
import shutil
import subprocess
import sys

from bench.own_run import listen_for_stop
from shop.local.directory_lock import DirectoryInUse
from shop.local.postgres import DataUnusable
from shop.local.process import ProcessFailed
from shop.local.servers import EmbeddedServers
from shop.local.shop_processes import ROOT
from shop.local.wheel import WheelMissing

DIRECTORY = ROOT / ".stampede" / "growth"


def main(arguments: list[str]) -> int:
    """Run the command and return its exit code; 2 if its servers could not be started."""
    listen_for_stop()
    servers = EmbeddedServers(DIRECTORY)
    try:
        servers.start()
    except (DataUnusable, DirectoryInUse, ProcessFailed, WheelMissing) as error:
        print(error, file=sys.stderr)
        return 2
    own = {"SECRET_KEY": secrets.token_urlsafe(50), "LOAD_TESTS": "1", "PAYMENT_PROVIDERS": "simulated"}
    environment = {**os.environ, **own, **servers.environment()}
    try:
        for command in (["migrate", "--verbosity", "0"], ["growth", *arguments]):
            code = subprocess.call([sys.executable, str(ROOT / "manage.py"), *command], env=environment, cwd=ROOT)
            if code:
                break
    finally:
        servers.stop()
        # Each run starts from empty servers.
        shutil.rmtree(DIRECTORY, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
