"""`make bench`: `manage.py speed_bench` on servers that are started for it alone, in .stampede/speed.

python -m bench.measure.speed [--directory DIRECTORY] ARGUMENTS
"""

import json
import sys
from collections.abc import Mapping

from bench.measure.speed.wrk import WrkMissing, find_wrk
from bench.own_run import directory_from, environment, listen_for_stop, run_command, run_on_own_servers
from shop.languages.translations import compile_translations
from shop.local.servers import EmbeddedServers

# Options with which nothing is measured, so no server is needed.
NO_MEASUREMENT = {"--list", "--help", "-h"}
NO_SERVERS = {
    "DATABASE_URL": "postgres://127.0.0.1:1/none",
    "SECKILL_REDIS_URL": "redis://127.0.0.1:1",
    "REDIS_URL": "redis://127.0.0.1:1",
}


def main(arguments: list[str]) -> int:
    """Run the bench and return its exit code; 2 if it could not start."""
    listen_for_stop()
    directory, rest = directory_from(arguments, name="speed")
    if NO_MEASUREMENT & set(rest):
        return run_command("speed_bench", rest, environment=environment(directory, NO_SERVERS))
    try:
        find_wrk()
    except WrkMissing as error:
        print(error, file=sys.stderr)
        return 2
    compile_translations()

    def more(servers: EmbeddedServers) -> Mapping[str, str]:
        pids = {process.name: process.pid for process in servers.processes}
        named = {"postgres": pids["postgres"], "store": pids["store"], "cache": pids["broker"]}
        return {"EMAIL_URL": "dummymail://", "SPEED_DIRECTORY": str(directory), "SPEED_SERVER_PIDS": json.dumps(named)}

    return run_on_own_servers(directory, ["speed_bench", *rest], more=more)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
