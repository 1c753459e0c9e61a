"""`make lab`: `manage.py seckill_lab` on servers that are started for it alone.

If DATABASE_URL, SECKILL_REDIS_URL and REDIS_URL are set, it uses that PostgreSQL; the Valkey is always its own. --http
uses the running shop.
"""

import os
import secrets
import sys
from argparse import ArgumentParser

from bench.lab.options import DESCRIPTION, add_options, refusal_of
from bench.own_run import listen_for_stop, run_command, run_on_own_servers
from shop.local.environment import SERVER_URLS
from shop.local.shop_processes import ROOT


def main(arguments: list[str]) -> int:
    """Run the lab and return its exit code; 2 if its options do not go together or its servers could not be started."""
    listen_for_stop()
    parser = ArgumentParser(prog="make lab", description=DESCRIPTION)
    add_options(parser)
    # The rest are options of every command, such as --traceback.
    options, _rest = parser.parse_known_args(arguments)
    if refusal := refusal_of(vars(options)):
        print(refusal, file=sys.stderr)
        return 2
    if options.http:
        # The running shop has the addresses of its servers and its secret key in .stampede/env.
        return run_command("seckill_lab", arguments, environment=os.environ)
    if all(os.environ.get(name) for name in SERVER_URLS):
        own_key = {"SECRET_KEY": secrets.token_urlsafe(50), **os.environ, "LOAD_TESTS": "1"}
        return run_command("seckill_lab", arguments, environment=own_key)
    return run_on_own_servers(ROOT / ".stampede" / "lab", ["seckill_lab", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
