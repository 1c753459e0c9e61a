"""`make lab`: `manage.py seckill_lab` on servers that are started for it alone.

It uses other servers if DATABASE_URL, SECKILL_REDIS_URL and REDIS_URL are set, and the running shop for --http.
"""

import os
import secrets
import sys

from bench.own_run import listen_for_stop, run_command
from shop.local.directory_lock import DirectoryInUse
from shop.local.environment import SERVER_URLS
from shop.local.postgres import DataUnusable
from shop.local.process import ProcessFailed
from shop.local.servers import EmbeddedServers
from shop.local.shop_processes import ROOT
from shop.local.wheel import WheelMissing


def main(arguments: list[str]) -> int:
    """Run the lab and return its exit code; 2 if its servers could not be started."""
    listen_for_stop()
    if "--http" in arguments:
        # The running shop has the addresses of its servers and its secret key in .stampede/env.
        return run_command("seckill_lab", arguments, environment=os.environ)
    own_key = {"SECRET_KEY": secrets.token_urlsafe(50), **os.environ, "LOAD_TESTS": "1"}
    if all(os.environ.get(name) for name in SERVER_URLS):
        return run_command("seckill_lab", arguments, environment=own_key)
    servers = EmbeddedServers(ROOT / ".stampede" / "lab")
    try:
        servers.start()
    except (DataUnusable, DirectoryInUse, ProcessFailed, WheelMissing) as error:
        print(error, file=sys.stderr)
        return 2
    try:
        return run_command("seckill_lab", arguments, environment={**own_key, **servers.environment()})
    finally:
        servers.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
