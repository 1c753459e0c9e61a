"""A whole shop: its own servers, two web processes, workers and beat, the proxy between them, and a supervisor.

    two web ─┐                       ┌─ reservation store
    worker ──┼── a link for each ────┼─ PostgreSQL
    beat ────┘   pair, in the proxy  └─ cache and broker

A reservation store of several servers has no links: its clients go where sentinels or nodes send them.

Only `proxy` may be used in other threads than the main thread: for the kernel, the thread that started a process is its
parent, and when it ends the process is killed. So the main thread waits with `wait` or `wait_until`, which restart
what has died.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from bench.faults.replicas.shop_kind import ShopKind
from bench.faults.shop_launch import process_of
from bench.faults.wire.proxy import Proxy
from bench.lab.servers.lab_store import client_at
from bench.postgres_copy import copy_server
from bench.processor_time import read_stats
from shop.local.ports import free_port
from shop.local.postgres import PostgresServer
from shop.local.process import POLL_SECONDS, Process, ProcessFailed, ending, stop_processes
from shop.local.valkey import BROKER_FSYNC, STORE_FSYNC, ValkeyServer

SINGLE = ShopKind()

# A supervisor does not restart at once, so the restart is an outage that clients see.
RESTART_SECONDS = 0.3
START_SECONDS = 90.0

# When late messages of the payment company come: after the holds of a trial have expired, and before it is checked.
LATE_SECONDS = 8
# How long an unpaid order of the ordinary shop is held: the least that the settings accept.
CHECKOUT_HOLD_SECONDS = 60
# All buyers come from one address, and some buy a hundred times or repeat what a fault disturbs: limits would be met
# before anything else is.
UNBOUNDED = {
    "PASS_LIMIT": "1000000/minute",
    "CART_LIMIT": "1000000/minute",
    "CHECKOUT_LIMIT": "1000000/minute",
    "CHECKOUT_LIMIT_BY_ADDRESS": "1000000/minute",
    "CHECKOUT_UNPAID_MAX": "1000000",
}

WEBS = ("web1", "web2")
# `errands` is a worker for tasks that wait for other servers, such as mails; `repair` one for audits and reconciles.
CELERY = ("worker", "errands", "repair", "beat")
POSTGRES_LINKS = ("web-postgres", "worker-postgres", "beat-postgres", "harness-postgres")
STORE_LINKS = ("web-store", "worker-store", "beat-store", "harness-store")


class ShopUnderTest:
    """The servers, the processes, and the proxy between them."""

    def __init__(self, directory: Path, *, log: Callable[[str], None], kind: ShopKind = SINGLE) -> None:
        self.directory = directory
        self.kind = kind
        self.failpoints = directory / "failpoints"
        self.processes: dict[str, Process] = {}
        self.proxy = Proxy()
        self._kept_down: set[str] = set()
        self._died_s: dict[str, float] = {}
        # Work for later, each with its monotonic time.
        self._planned: list[tuple[float, Callable[[], object]]] = []
        self._log = log
        # Store and PostgreSQL may be replaced by their replicas, so the harness too reaches them through links.
        self.store_port = free_port()
        self.postgres_port = free_port()
        # No mail server listens there until the trial of mails; in the other trials buyers have no mail address.
        self.mail_port = free_port()
        self._web_ports = {"web1": port_in(settings.SHOP_URL), "web2": free_port()}
        self._lock = (directory / "servers.lock").open("w")
        # None for a single server.
        self.store = kind.replicated_store(directory=directory, password=self.password)
        # The names of PostgreSQL, store and broker among the processes.
        self.servers: list[str] = []

    # --- start and stop ---

    def start_servers(self) -> None:
        """PostgreSQL, store and broker, at the addresses that the settings name. Raises ProcessFailed."""
        lock_fd = self._lock.fileno()
        logs = self.directory / "logs"
        postgres = self.postgres_server(self.directory / "postgres", port=self.postgres_port)
        self.processes["postgres"] = postgres.process(log_path=logs / "postgres.log", lock_fd=lock_fd)
        self.processes["broker"] = self.valkey("broker", port=port_in(settings.REDIS_URL), fsync=BROKER_FSYNC)
        self.proxy.add("harness-postgres", port=port_in(settings.DATABASE_URL), target_port=self.postgres_port)
        if self.store is None:
            self.processes["store"] = self.valkey("store", port=self.store_port, fsync=STORE_FSYNC)
            self.proxy.add("harness-store", port=port_in(settings.SECKILL_REDIS_URL), target_port=self.store_port)
        else:
            self.store.prepare(lock_fd=lock_fd)
            self.processes |= {node.name: node.process for node in self.store.nodes}
        self._start([*self.processes])
        if self.store is not None:
            self.await_store()
            self.processes |= {node.name: node.process for node in self.store.watchers}
            self._start([node.name for node in self.store.watchers])

    def _start(self, names: Sequence[str]) -> None:
        self.servers += names
        for name in names:
            self.processes[name].start()
        self.await_answers(*names)

    def await_store(self) -> None:
        """Wait until all servers of the store run, and the replicas have the data. Raises ProcessFailed."""
        if self.store is not None and not self.wait_until(self.store.is_settled, seconds_max=START_SECONDS):
            raise ProcessFailed(f"The reservation store did not come together within {START_SECONDS:.0f} s.")

    @property
    def store_url(self) -> str:
        """Where the harness finds the reservation store."""
        return settings.SECKILL_REDIS_URL if self.store is None else self.store.url

    def postgres_server(self, directory: Path, *, port: int) -> PostgresServer:
        """All have the same password."""
        return PostgresServer(directory=directory, port=port, password=urlsplit(settings.DATABASE_URL).password or "")

    def standby(self, *, port: int) -> Process:
        """A standby of the present PostgreSQL, not started."""
        directory = self.directory / "standbys" / str(port)
        copy_server(directory, source_url=through(settings.DATABASE_URL, port=self.postgres_port), follows=True)
        return self.postgres_on(directory, port=port)

    def postgres_on(self, directory: Path, *, port: int) -> Process:
        """A PostgreSQL on data that was made before, not started."""
        return self.postgres_server(directory, port=port).process(
            log_path=self.directory / "logs" / f"postgres-{port}.log", lock_fd=self._lock.fileno()
        )

    def valkey(self, name: str, *, port: int, fsync: str) -> Process:
        """A Valkey server, not started. All have the same password."""
        server = ValkeyServer(
            name=name, title=name, directory=self.directory / name, fsync=fsync, port=port, password=self.password
        )
        return server.process(log_path=self.directory / "logs" / f"{name}.log", lock_fd=self._lock.fileno())

    @property
    def password(self) -> str:
        """That of every Valkey."""
        return urlsplit(settings.SECKILL_REDIS_URL).password or ""

    def start_processes(self) -> None:
        """Start web, workers and beat, each behind its own links. The servers must answer and be migrated."""
        self.failpoints.mkdir(exist_ok=True)
        ports = {"postgres": self.postgres_port, "store": self.store_port, "broker": port_in(settings.REDIS_URL)}
        for group, (server, port) in product(("web", "worker", "beat"), ports.items()):
            self._link(f"{group}-{server}", target_port=port)
        for name in [*WEBS, *CELERY]:
            self.processes[name] = self.process(name)
        for web in WEBS:
            self._link(f"buyers-{web}", target_port=self._web_ports[web])
        for name in [*WEBS, *CELERY]:
            self.processes[name].start()
        self.await_answers(*WEBS, *CELERY)

    def process(self, name: str, *, clock_seconds: float = 0.0, more: Mapping[str, str] | None = None) -> Process:
        """A process of the shop, not started, with `more` variables. `worker2` and `beat2` are a second of each."""
        kind = name.rstrip("0123456789")
        return process_of(
            kind,
            name=name,
            directory=self.directory,
            environment={**self.environment_of(kind), **(more or {})},
            broker_url=settings.REDIS_URL,
            port=self._web_ports.get(name, 0),
            clock_seconds=clock_seconds,
        )

    def environment_of(self, kind: str) -> dict[str, str]:
        """The variables of a process of this kind: its own links, and failpoints."""
        # All workers use the same links.
        group = "worker" if kind in ("errands", "repair") else kind
        return {
            **os.environ,
            **UNBOUNDED,
            "PYTHONUNBUFFERED": "1",
            "FAILPOINTS": str(self.failpoints),
            "DATABASE_URL": through(settings.DATABASE_URL, port=self.proxy.port(f"{group}-postgres")),
            "SECKILL_REDIS_URL": self._store_url_for(group),
            "SECKILL_YES_REPLICAS": str(self.kind.yes_replicas),
            "SIMULATED_LATE_SECONDS": str(LATE_SECONDS),
            "CHECKOUT_HOLD_SECONDS": str(CHECKOUT_HOLD_SECONDS),
            "EMAIL_URL": f"smtp://127.0.0.1:{self.mail_port}",
            "REDIS_URL": through(settings.REDIS_URL, port=self.proxy.port(f"{group}-broker")),
        }

    def _store_url_for(self, group: str) -> str:
        if self.store is not None:
            return self.store.url
        return through(settings.SECKILL_REDIS_URL, port=self.proxy.port(f"{group}-store"))

    def store_client(self) -> Any:
        """A client of the reservation store, or of one of its primaries, that bypasses the proxy."""
        port = self.store_port if self.store is None else self.store.primary().port
        return client_at(port, password=self.password)

    def promote(self, process: Process, *, port: int) -> None:
        """Make this server the reservation store, and kill the former one."""
        former = self.processes["store"]
        self.processes["store"] = process
        self.store_port = port
        self.proxy.retarget(port, *STORE_LINKS)
        former.kill()

    def put_in_place_of_postgres(self, name: str, *, port: int) -> None:
        """The process of this name, a promoted standby, is the shop's PostgreSQL now. The former one must be dead."""
        self.processes["postgres"] = self.processes.pop(name)
        self.postgres_port = port
        self.proxy.retarget(port, *POSTGRES_LINKS)

    def store_files(self) -> Path:
        """Where the reservation store keeps its append-only files."""
        return (self.processes["store"].directory or self.directory) / "appendonlydir"

    def stop(self) -> None:
        """Stop everything, the processes before their servers, also what a fault has frozen."""
        for name in self.processes:
            self.thaw(name)
        stop_processes(processes=[process for name, process in self.processes.items() if name not in self.servers])
        stop_processes(processes=[process for name, process in self.processes.items() if name in self.servers])
        self.proxy.stop()
        self._lock.close()

    # --- the supervisor ---

    def restart_dead(self) -> None:
        """Restart what has been dead for RESTART_SECONDS and is not kept down; a server with a replica later."""
        now_s = time.monotonic()
        for name, process in self.processes.items():
            if process.running or name in self._kept_down:
                self._died_s.pop(name, None)
            elif is_due(process, dead_seconds=now_s - self._died_s.setdefault(name, now_s)):
                self._log(f"{name} ended {ending(exit_code=process.exit_code)} and is started again")
                process.kill()  # its children too: granian's workers hold the port
                process.start()

    def wait(self, seconds: float) -> None:
        """Wait, and restart what dies meanwhile."""
        self.wait_until(lambda: False, seconds_max=seconds)

    def wait_until(self, happened: Callable[[], bool], *, seconds_max: float) -> bool:
        """Wait until it happened, and restart what dies meanwhile. False if it did not happen in time."""
        give_up_s = time.monotonic() + seconds_max
        while not happened():
            if time.monotonic() >= give_up_s:
                return False
            self._do_planned()
            self.restart_dead()
            time.sleep(POLL_SECONDS)
        return True

    def do_later(self, seconds: float, action: Callable[[], object]) -> None:
        """Do this in the main thread after so many seconds, in whatever `wait` it then is."""
        self._planned.append((time.monotonic() + seconds, action))

    def _do_planned(self) -> None:
        for planned in [planned for planned in self._planned if planned[0] <= time.monotonic()]:
            # An action that waits comes back here.
            if planned in self._planned:
                self._planned.remove(planned)
                planned[1]()

    def await_answers(self, *names: str) -> None:
        """Wait until these answer. Raises ProcessFailed."""
        for name in names:
            process = self.processes[name]
            if not self.wait_until(lambda process=process: answers(process), seconds_max=START_SECONDS):  # type: ignore[misc]
                raise ProcessFailed(f"{name} gave no answer within {START_SECONDS:.0f} s.\n{process.last_lines()}")

    # --- what a fault does to processes ---

    def kill(self, name: str) -> None:
        """kill -9 of the process and its children. The supervisor starts it again unless it is kept down."""
        self._signal(name, signal.SIGKILL)
        self.processes[name].kill()

    def keep_down(self, name: str) -> None:
        """kill -9, and no restart until `bring_up`."""
        self._kept_down.add(name)
        self.kill(name)

    def bring_up(self, name: str) -> None:
        self._kept_down.discard(name)
        process = self.processes[name]
        if not process.running:
            if process.comeback:
                # Whether it may start as what it was, it is told in its configuration.
                process.comeback.may_start()
            process.start()

    def freeze(self, name: str) -> None:
        """SIGSTOP to the process and its children."""
        self._signal(name, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        self._signal(name, signal.SIGCONT)

    def add(self, name: str, process: Process) -> None:
        """Start and supervise one more process."""
        self.processes[name] = process
        process.start()

    def remove(self, name: str) -> None:
        stop_processes(processes=[self.processes.pop(name)])

    def swap(self, name: str, process: Process) -> None:
        """Stop a process and start another one in its place."""
        stop_processes(processes=[self.processes[name]])
        self.processes[name] = process
        process.start()

    def restart(self, *names: str, clock_seconds: float = 0.0, more: Mapping[str, str] | None = None) -> None:
        """Replace these by processes with such a clock and `more` variables."""
        for name in names:
            self.swap(name, self.process(name, clock_seconds=clock_seconds, more=more))

    @contextlib.contextmanager
    def failpoint(self, name: str, *, visit: int) -> Iterator[Callable[[], bool]]:
        """Make a process die at this failpoint, at the given visit. Yields a function that says whether one did."""
        path = self.failpoints / name
        path.write_text(str(visit))
        try:
            yield lambda: not path.exists()
        finally:
            path.unlink(missing_ok=True)

    def reset(self) -> None:
        """Undo everything: all processes run, none is frozen, every link passes, no failpoint is set."""
        self._planned.clear()
        for path in self.failpoints.iterdir():
            path.unlink(missing_ok=True)
        self.proxy.reset()
        for name in self.processes:
            self.thaw(name)
            self.bring_up(name)

    def _signal(self, name: str, number: signal.Signals) -> None:
        process = self.processes[name]
        if not process.running or process.pid is None:
            return
        # PostgreSQL's are in other sessions. They are found first: a process that was killed has none.
        children = children_of(process.pid)
        os.killpg(process.pid, number)
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)

    def _link(self, name: str, *, target_port: int) -> None:
        self.proxy.add(name, port=free_port(), target_port=target_port)


def answers(process: Process) -> bool:
    """Whether the process works now; one that has died is not asked."""
    return process.running and process.ready(process)


def is_due(process: Process, *, dead_seconds: float) -> bool:
    """Whether a dead process is to be started now, as the supervisor of `make run` does it."""
    comeback = process.comeback
    if comeback is None:
        return dead_seconds >= RESTART_SECONDS
    return dead_seconds >= comeback.after_seconds and (comeback.may_start() or dead_seconds >= comeback.seconds_max)


def port_in(url: str) -> int:
    return urlsplit(url).port or 0


def through(url: str, *, port: int) -> str:
    """The same URL with the port of a link of the proxy."""
    parts = urlsplit(url)
    return parts._replace(netloc=f"{parts.netloc.rpartition(':')[0]}:{port}").geturl()


def children_of(pid: int) -> list[int]:
    """The running children of this process."""
    return [child for child, stat in read_stats().items() if stat.parent == pid]
