"""Groups of servers that are started for some parts and stopped after them, so that bare servers run alone.

The whole shop runs for each part that measures the shop, with all workers and beat, as `make run` starts it.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from redis import Redis

from bench.measure.speed.part import Ask, Server, answer_to
from shop.local.environment import RunSettings
from shop.local.ports import free_port
from shop.local.process import Process, start_processes, stop_processes
from shop.local.shop_processes import ROOT, processes, steps
from shop.local.valkey import STORE_FSYNC, ValkeyServer

BARE_SITE = "bench.measure.speed.bare_site"
WSGI_HELLO, RSGI_HELLO, BARE_DJANGO, SHOP, STORE = "wsgi-hello", "rsgi-hello", "bare-django", "shop", "store"
# The shop with a replica of the reservation store that confirms each yes before it is told.
SHOP_CONFIRMED = "shop-confirmed"
REPLICA = "replica"
# A replica that is up confirms a write within some milliseconds.
CONFIRMED_MS_MAX = 100
NEED_NO_DATABASE = {WSGI_HELLO, RSGI_HELLO}
# As many processes as the shop has, and as many threads in each as requests may wait for a server.
GRANIAN = ("-m", "granian", "--host", "127.0.0.1", "--workers", "2", "--no-ws", "--workers-kill-timeout", "3")
WSGI = ("--interface", "wsgi", "--blocking-threads", "8")
# Browsers keep their connections, and granian takes 512 for each process if it is not told otherwise. In a deployment
# a proxy has the browsers' connections, and keeps a few dozen to the shop.
CONNECTIONS_MAX = 20_000
SHOP_KINDS = {"web": "web", "worker": "worker", "errands": "worker", "repair": "worker", "beat": "beat"}
# Process ids of the servers that bench/measure/speed/__main__.py has started.
SERVER_PIDS = "SPEED_SERVER_PIDS"


@contextmanager
def running_group(name: str, *, directory: Path, seconds: int) -> Iterator[Server]:
    """Start the servers of a group, and stop them at the end. Raises ProcessFailed.

    Call it from the main thread only, as `Process.start` asks.
    """
    port = free_port()
    started = processes_of(name, port=port, directory=directory)
    try:
        start_processes(processes=started)
        pids: dict[str, tuple[int, ...]] = dict(server_pids())
        for process in started:
            kind = REPLICA if process.name == REPLICA else SHOP_KINDS.get(process.name, "web")
            pids[kind] = (*pids.get(kind, ()), process.pid or 0)
        yield Server(port=port, pids=pids, seconds=seconds, directory=directory)
    finally:
        stop_processes(processes=started)


def server_pids() -> dict[str, tuple[int, ...]]:
    """The processes of PostgreSQL, the reservation store, and the cache and broker."""
    return {kind: (pid,) for kind, pid in json.loads(os.environ[SERVER_PIDS]).items()}


def processes_of(name: str, *, port: int, directory: Path) -> Sequence[Process]:
    if name == WSGI_HELLO:
        return [granian(name, f"{BARE_SITE}.hello:wsgi", WSGI, port=port, path="/", directory=directory)]
    if name == RSGI_HELLO:
        interface = ("--interface", "rsgi")
        return [granian(name, f"{BARE_SITE}.hello:rsgi", interface, port=port, path="/", directory=directory)]
    if name == BARE_DJANGO:
        site = f"{BARE_SITE}.wsgi:application"
        return [granian(name, site, WSGI, port=port, path="/hello/", directory=directory)]
    if name == SHOP:
        return shop_processes(port=port, directory=directory)
    if name == SHOP_CONFIRMED:
        shop = shop_processes(port=port, directory=directory)
        for process in shop:
            process.environment = {**process.environment, "SECKILL_YES_REPLICAS": "1"}
        return [replica_of_store(directory=directory), *shop]
    return []


def shop_processes(*, port: int, directory: Path) -> list[Process]:
    shop = processes(settings=run_settings(port=port, directory=directory), broker_url=settings.BROKER_URL)
    shop = [process for process in shop if process.name in SHOP_KINDS]
    for process in shop:
        process.environment = {**process.environment, "GRANIAN_BACKPRESSURE": str(CONNECTIONS_MAX)}
    return shop


def replica_of_store(*, directory: Path) -> Process:
    """A replica that syncs to its disk as the store does. It is ready when it has all that the store has."""
    url = urlsplit(settings.SECKILL_REDIS_URL)
    primary = Redis(host=url.hostname or "", port=url.port or 0, password=url.password)
    more = f"replicaof {url.hostname} {url.port}\nmasterauth {url.password}\n"
    server = ValkeyServer(
        name=REPLICA,
        title="Replica of the reservation store",
        directory=directory / REPLICA,
        fsync=STORE_FSYNC,
        port=free_port(),
        password=url.password or "",
        more=more,
    )
    process = server.process(log_path=directory / "logs" / f"{REPLICA}.log")
    process.ready = lambda _: is_followed(primary)
    return process


def is_followed(primary: Redis) -> bool:
    """Whether a replica confirms a write at once: one that is online may still load what it was sent."""
    replication: Any = primary.info("replication")
    if not any(value["state"] == "online" for name, value in replication.items() if re.fullmatch(r"slave\d+", name)):
        return False
    primary.set("bench.is_followed", "", px=1_000)
    return bool(primary.wait(1, CONFIRMED_MS_MAX))


def run_settings(*, port: int, directory: Path) -> RunSettings:
    return RunSettings(host="127.0.0.1", port=port, directory=directory, own_servers=None, allowed_hosts=[])


def granian(name: str, application: str, interface: Sequence[str], *, port: int, path: str, directory: Path) -> Process:
    server = Server(port=port, pids={}, seconds=0, directory=directory)
    return Process(
        name=name,
        title=name,
        argv=[sys.executable, *GRANIAN, "--port", str(port), *interface, application],
        log_path=directory / "logs" / f"{name}.log",
        ready=lambda _: answer_to(server, Ask(path=path))[0] == 200,
        directory=ROOT,
    )


def prepare_database(*, directory: Path) -> None:
    """Migrate and collect static files. Raises ProcessFailed."""
    preparing = steps(settings=run_settings(port=0, directory=directory))
    try:
        start_processes(processes=preparing)
    finally:
        stop_processes(processes=preparing)
