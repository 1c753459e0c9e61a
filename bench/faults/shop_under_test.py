"""The site: servers of its own, two web processes, worker and beat, with the proxy between them, and a supervisor.

    two web ─┐                       ┌─ reservation store
    worker ──┼── a link for each ────┼─ PostgreSQL
    beat ────┘   pair, in the proxy  └─ cache and broker

All but `links` and `proxy` is for the main thread: the kernel takes the death of the thread that started a process for
the death of its parent. So whoever waits there, waits with `wait` or `wait_until`, which restart what has died.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from bench.faults.proxy import Proxy
from bench.faults.raw_valkey import client_at
from bench.faults.shop_launch import ProcessPlan, part_of
from shop.local.postgres import PostgresServer
from shop.local.process import POLL_SECONDS, Part, PartFailed, ending, stop_parts
from shop.local.servers import free_ports
from shop.local.valkey import BROKER_FSYNC, STORE_FSYNC, ValkeyServer

# As an operator's supervisor would: not at once, so that a restart is seen as an outage.
RESTART_SECONDS = 0.3
START_SECONDS = 90.0

# When late messages of the payment company come: after the holds of a trial, and well within its rest.
LATE_SECONDS = 8

WEBS = ("web1", "web2")
# The errands are what waits for others, such as mails; they have a worker of their own.
CELERY = ("worker", "errands", "beat")
STORE_LINKS = ("web-store", "worker-store", "beat-store", "harness-store")
SERVERS = ("postgres", "store", "broker")


class Site:
    """The processes and what lies between them."""

    def __init__(self, directory: Path, *, log: Callable[[str], None]) -> None:
        self.directory = directory
        self.failpoints = directory / "failpoints"
        self.parts: dict[str, Part] = {}
        self.proxy = Proxy()
        self._held_down: set[str] = set()
        self._died_s: dict[str, float] = {}
        self._log = log
        # The store is the one server that may be replaced by another, so even we reach it through a link.
        self.store_port = free_ports(count=1)[0]
        # Nobody listens there until a trial of mails begins; the buyers of the others have no address.
        self.mail_port = free_ports(count=1)[0]
        self._web_ports = {"web1": port_in(settings.SHOP_URL), "web2": free_ports(count=1)[0]}
        self._lock = (directory / "servers.lock").open("w")

    # --- from nothing, and back to it ---

    def start_servers(self) -> None:
        """PostgreSQL, store and broker, at the addresses that the settings name. Raises PartFailed."""
        lock_fd = self._lock.fileno()
        logs = self.directory / "logs"
        url = settings.DATABASE_URL
        postgres = PostgresServer(
            directory=self.directory / "postgres", port=port_in(url), password=urlsplit(url).password or ""
        )
        self.parts["postgres"] = postgres.part(log_path=logs / "postgres.log", lock_fd=lock_fd)
        self.parts["store"] = self.valkey("store", port=self.store_port, fsync=STORE_FSYNC)
        self.parts["broker"] = self.valkey("broker", port=port_in(settings.REDIS_URL), fsync=BROKER_FSYNC)
        self.proxy.add("harness-store", port=port_in(settings.SECKILL_REDIS_URL), target_port=self.store_port)
        for name in SERVERS:
            self.parts[name].start()
        self.await_answers(*SERVERS)

    def valkey(self, name: str, *, port: int, fsync: str, directory: Path | None = None) -> Part:
        """A Valkey of the site, not started. They all have one password."""
        server = ValkeyServer(
            name=name,
            title=name,
            directory=directory or self.directory / name,
            fsync=fsync,
            port=port,
            password=self.password,
        )
        return server.part(log_path=self.directory / "logs" / f"{name}.log", lock_fd=self._lock.fileno())

    @property
    def password(self) -> str:
        return urlsplit(settings.SECKILL_REDIS_URL).password or ""

    def start_processes(self) -> None:
        """Web, worker and beat, each behind links of its own; the servers answer and the tables are there."""
        self.failpoints.mkdir(exist_ok=True)
        for group in ("web", "worker", "beat"):
            for server, port in self._server_ports().items():
                self._link(f"{group}-{server}", target_port=port)
        for name in [*WEBS, *CELERY]:
            self.parts[name] = self.process(name)
        for web in WEBS:
            self._link(f"buyers-{web}", target_port=self._web_ports[web])
        for name in [*WEBS, *CELERY]:
            self.parts[name].start()
        self.await_answers(*WEBS, *CELERY)

    def process(self, name: str, *, clock_seconds: float = 0.0) -> Part:
        """A process of the shop, not started. `worker2` and `beat2` are a second worker and beat."""
        kind = name.rstrip("0123456789")
        # Both workers speak through the same links.
        group = "worker" if kind == "errands" else kind
        environment = {
            **os.environ,
            "PYTHONUNBUFFERED": "1",
            "FAILPOINTS": str(self.failpoints),
            "DATABASE_URL": through(settings.DATABASE_URL, port=self.proxy.port(f"{group}-postgres")),
            "SECKILL_REDIS_URL": through(settings.SECKILL_REDIS_URL, port=self.proxy.port(f"{group}-store")),
            "SIMULATED_LATE_SECONDS": str(LATE_SECONDS),
            "EMAIL_URL": f"smtp://127.0.0.1:{self.mail_port}",
            "REDIS_URL": through(settings.REDIS_URL, port=self.proxy.port(f"{group}-broker")),
        }
        plan = ProcessPlan(
            name=name,
            kind=kind,
            directory=self.directory,
            environment=environment,
            port=self._web_ports.get(name, 0),
            clock_seconds=clock_seconds,
        )
        return part_of(plan, broker_url=settings.REDIS_URL)

    def store_client(self) -> Any:
        """A client of the reservation store, past the proxy."""
        return client_at(self.store_port, password=self.password)

    def promote(self, part: Part, *, port: int) -> None:
        """From now on this server is the reservation store; what is left of the former one is ended."""
        former = self.parts["store"]
        self.parts["store"] = part
        self.store_port = port
        self.proxy.lead_to(port, *STORE_LINKS)
        former.kill()

    def store_files(self) -> Path:
        """Where the reservation store keeps its append-only files."""
        return (self.parts["store"].directory or self.directory) / "appendonlydir"

    def _server_ports(self) -> Mapping[str, int]:
        return {
            "postgres": port_in(settings.DATABASE_URL),
            "store": self.store_port,
            "broker": port_in(settings.REDIS_URL),
        }

    def stop(self) -> None:
        """Stop everything, the processes before their servers."""
        stop_parts(parts=[part for name, part in self.parts.items() if name not in SERVERS])
        stop_parts(parts=[part for name, part in self.parts.items() if name in SERVERS])
        self.proxy.stop()
        self._lock.close()

    # --- the supervisor ---

    def tend(self) -> None:
        """Restart what has been dead for a moment and is not held down."""
        now_s = time.monotonic()
        for name, part in self.parts.items():
            if part.running or name in self._held_down:
                self._died_s.pop(name, None)
            elif now_s - self._died_s.setdefault(name, now_s) >= RESTART_SECONDS:
                self._log(f"{name} ended {ending(exit_code=part.exit_code)} and is started again")
                part.kill()  # what a killed process left behind: granian's workers hold the port
                part.start()

    def wait(self, seconds: float) -> None:
        """Let time pass, as a supervisor does."""
        self.wait_until(lambda: False, seconds_max=seconds)

    def wait_until(self, happened: Callable[[], bool], *, seconds_max: float) -> bool:
        """Wait, tending, until it happened. False where it did not in this time."""
        give_up_s = time.monotonic() + seconds_max
        while not happened():
            if time.monotonic() >= give_up_s:
                return False
            self.tend()
            time.sleep(POLL_SECONDS)
        return True

    def await_answers(self, *names: str) -> None:
        """Wait until the parts answer. Raises PartFailed."""
        for name in names:
            part = self.parts[name]
            if not self.wait_until(lambda part=part: answers(part), seconds_max=START_SECONDS):  # type: ignore[misc]
                raise PartFailed(f"{name} gave no answer within {START_SECONDS:.0f} s.\n{part.last_lines()}")

    # --- what a fault does to processes ---

    def kill(self, name: str) -> None:
        """kill -9, of the process and of what it started. The supervisor starts it again unless it is held down."""
        part = self.parts[name]
        # PostgreSQL's processes have sessions of their own.
        children = children_of(part.pid) if part.pid and part.running else []
        part.kill()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    def hold_down(self, name: str) -> None:
        """kill -9, and no restart until `let_up`."""
        self._held_down.add(name)
        self.kill(name)

    def let_up(self, name: str) -> None:
        self._held_down.discard(name)
        if not self.parts[name].running:
            self.parts[name].start()

    def freeze(self, name: str) -> None:
        """SIGSTOP, to the process and those that it started."""
        self._signal(name, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        self._signal(name, signal.SIGCONT)

    def add(self, name: str, part: Part) -> None:
        """One more part to start and to tend."""
        self.parts[name] = part
        part.start()

    def remove(self, name: str) -> None:
        stop_parts(parts=[self.parts.pop(name)])

    def swap(self, name: str, part: Part) -> None:
        """Stop a part and run another one in its place."""
        stop_parts(parts=[self.parts[name]])
        self.parts[name] = part
        part.start()

    @contextlib.contextmanager
    def failpoint(self, name: str, *, visit: int) -> Iterator[Callable[[], bool]]:
        """Tell the next process that comes to this place at that visit to die. Gives a question: did one?"""
        path = self.failpoints / name
        path.write_text(str(visit))
        try:
            yield lambda: not path.exists()
        finally:
            path.unlink(missing_ok=True)

    def calm(self) -> None:
        """Everything runs, nothing is frozen, every link passes, no failpoint is set."""
        for path in self.failpoints.iterdir():
            path.unlink(missing_ok=True)
        self.proxy.calm()
        for name, part in self.parts.items():
            if part.running:
                self.thaw(name)
            self.let_up(name)

    def _signal(self, name: str, number: signal.Signals) -> None:
        pid = self.parts[name].pid
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)

    def _link(self, name: str, *, target_port: int) -> None:
        self.proxy.add(name, port=free_ports(count=1)[0], target_port=target_port)


def answers(part: Part) -> bool:
    """Whether the part does its work now; one that has died is not asked."""
    return part.running and part.ready(part)


def port_in(url: str) -> int:
    return urlsplit(url).port or 0


def through(url: str, *, port: int) -> str:
    """The same server through a link of the proxy."""
    parts = urlsplit(url)
    return parts._replace(netloc=f"{parts.netloc.rpartition(':')[0]}:{port}").geturl()


def children_of(pid: int) -> list[int]:
    """The processes that this one has started, which still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text(errors="replace").rpartition(")")[2].split()[1]) == pid:
                found.append(int(path.parent.name))
    return found
