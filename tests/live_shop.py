"""The whole shop as processes, web, worker and beat, on the stores of the running test.

A test that uses it needs `django_db(transaction=True)`: other processes see only what is committed. The logs of the
processes are printed at the end, so pytest shows them if the test fails. tests/shared_shop.py has one for most tests.
"""

import http.client
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from unittest import mock
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection
from redis import Redis

from shop.local.environment import SERVER_URLS, RunSettings
from shop.local.ports import free_port
from shop.local.process import POLL_SECONDS, Process, stop_processes
from shop.local.shop_processes import processes, worker

# The name of one worker for all queues but that of repairs: one starts sooner than two.
ALL_QUEUES = "all-queues"
# The name of a beat that sends less (tests/calm_beat.py).
CALM_BEAT = "calm-beat"

# Added to the number of the test's own database (tests/embedded_servers.py).
_DATABASES_OF_QUEUES = 64

# GRANIAN_WORKERS of tests in which the next answer may come from another process. All others have one: each process
# imports the whole shop, which takes two seconds of a processor.
SEVERAL_WEB_PROCESSES = "2"

# Many times what it takes on an idle machine.
START_SECONDS = 90.0

TABLE_OF_SOCKETS = Path("/proc/net/tcp")


@contextmanager
def live_web(**more_environment: str) -> Iterator[str]:
    """The web server alone."""
    with live_shop(names=("web",), **more_environment) as url:
        yield url


@contextmanager
def live_shop(
    *,
    names: tuple[str, ...] = ("web", "worker", "errands", "repair", "beat"),
    web: str = "",
    **more_environment: str,
) -> Iterator[str]:
    """Start the processes as `make run` does and give the address of the web server. Stops them at the end.

    `web` is what the web server calls, if it is not the shop's own application.
    """
    with live_processes(names=names, web=web, **more_environment) as (url, _processes):
        yield url


@contextmanager
def live_processes(
    *, names: tuple[str, ...], probe: str = "/readyz", web: str = "", **more_environment: str
) -> Iterator[tuple[str, dict[str, Process]]]:
    """`live_shop` for tests that kill processes: the address of the web server, and the processes by their names.

    A name with a number, `beat-2`, is one more of the same kind. The web server is waited for until it answers `probe`
    with 200: /healthz where a store is away.
    """
    variables = {**environment(), **more_environment}
    with tempfile.TemporaryDirectory(prefix="stampede-live-") as directory:
        run_settings = RunSettings(
            host="127.0.0.1", port=free_port(), directory=Path(directory), own_servers=None, allowed_hosts=[]
        )
        with mock.patch.dict(os.environ, {"SHOP_URL": run_settings.url, **variables}):
            broker_url = os.environ["CELERY_BROKER_URL"] or os.environ["REDIS_URL"]
            if urlsplit(broker_url).scheme == "redis":
                Redis.from_url(broker_url).flushdb()
            started = [one for name in names if (one := named(name, settings=run_settings, broker_url=broker_url))]
            for process in started:
                if process.name == "web" and probe != "/readyz":
                    process.ready = lambda _: status_of(run_settings.url + probe) == 200
                if process.name == "web" and web:
                    process.argv = calling(web, process.argv)
        try:
            for process in started:
                process.start()
            for process in started:
                wait_for_answer(process)
                if process.name.startswith("web"):
                    wait_for_listeners(run_settings.port, count=int(variables["GRANIAN_WORKERS"]))
            yield run_settings.url, {process.name: process for process in started}
        finally:
            stop_processes(processes=started)
            for process in started:
                if process.pid:
                    print(f"--- {process.title}\n{process.last_lines(lines_max=60)}")


def named(name: str, *, settings: RunSettings, broker_url: str) -> Process | None:
    if name == ALL_QUEUES:
        queues = "drain,expiry,celery,payments,mail"
        return worker(settings=settings, broker_url=broker_url, name=ALL_QUEUES, queues=queues, count=3)
    kind = "beat" if name == CALM_BEAT else name.rpartition("-")[0] if name[-1:].isdigit() else name
    found = [one for one in processes(settings=settings, broker_url=broker_url) if one.name == kind]
    for process in found:
        process.name, process.log_path = name, process.log_path.with_name(f"{name}.log")
        if name == CALM_BEAT:
            process.argv = [*process.argv, "-S", "tests.calm_beat:CalmScheduler"]
    return found[0] if found else None


def calling(web: str, argv: Sequence[str]) -> list[str]:
    """The command line of the web server with another application."""
    after = argv.index("rsgi") + 1
    return [*argv[:after], web, *argv[after + 1 :]]


def wait_for_answer(process: Process) -> None:
    give_up_s = time.monotonic() + START_SECONDS
    while not process.answers():
        assert time.monotonic() < give_up_s, f"{process.name} gave no answer.\n{process.last_lines()}"
        time.sleep(POLL_SECONDS)


def wait_for_listeners(port: int, *, count: int) -> None:
    """Until each web process takes connections: the one that is warm first has answered already."""
    if not TABLE_OF_SOCKETS.exists():
        # Not on macOS.
        return
    give_up_s = time.monotonic() + START_SECONDS
    while (found := listeners(port)) < count:
        assert time.monotonic() < give_up_s, f"{found} of {count} web processes take connections"
        time.sleep(POLL_SECONDS)


def listeners(port: int) -> int:
    """How many sockets listen on this port of 127.0.0.1."""
    rows = [line.split() for line in TABLE_OF_SOCKETS.read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in rows)


def status_of(url: str) -> int:
    """The status of the answer to GET, on a connection of its own; 0 if there is none."""
    address = urlsplit(url)
    client = http.client.HTTPConnection(address.hostname or "", address.port, timeout=5)
    with closing(client), suppress(OSError, http.client.HTTPException):
        client.request("GET", address.path)
        return client.getresponse().status
    return 0


def environment() -> dict[str, str]:
    """The environment of the processes: the servers of this test, and its own database on them.

    The queues are in a database of their own, because tests empty the one of the cache while a shop goes on.
    """
    urls = {name: getattr(settings, name) for name in SERVER_URLS}
    broker = urlsplit(settings.BROKER_URL)
    number = int(broker.path.removeprefix("/") or 0) + _DATABASES_OF_QUEUES
    urls["CELERY_BROKER_URL"] = broker._replace(path=f"/{number}").geturl()
    database = urlsplit(settings.DATABASE_URL)._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    ours = {"SECRET_KEY": settings.SECRET_KEY, "LOAD_TESTS": "1", "EMAIL_URL": "dummymail://", "GRANIAN_WORKERS": "1"}
    return {**urls, "DATABASE_URL": database, **ours}
