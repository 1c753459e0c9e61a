"""`make bench`: `manage.py speed_bench` on servers that are started for it alone, in .stampede/speed.

python -m bench.measure.speed [--directory DIRECTORY] ARGUMENTS
"""

import json
import sys

from bench.measure.speed.wrk import WrkMissing, find_wrk
from bench.own_run import clear, directory_from, environment, listen_for_stop, run_command
from shop.languages.translations import compile_translations
from shop.local.directory_lock import DirectoryInUse, lock_directory
from shop.local.postgres import DataUnusable
from shop.local.process import ProcessFailed
from shop.local.servers import EmbeddedServers
from shop.local.wheel import WheelMissing

# Rows of the run before would make the next one slower.
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
    listen_for_stop()
    directory, rest = directory_from(arguments, name="speed")
    if NO_MEASUREMENT & set(rest):
        return run_command("speed_bench", rest, environment=environment(directory, NO_SERVERS))
    servers = EmbeddedServers(directory)
    try:
        find_wrk()
        with lock_directory(directory=directory):
            clear(directory, leftovers=LEFTOVERS)
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
        own = {
            **environment(directory, servers.environment()),
            "EMAIL_URL": "dummymail://",
            "SPEED_DIRECTORY": str(directory),
            "SPEED_SERVER_PIDS": json.dumps(named),
        }
        return run_command("speed_bench", rest, environment=own)
    finally:
        servers.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
