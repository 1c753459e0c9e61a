"""A primary and its replica, which is promoted when the primary has been killed."""

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.measure.durability.measured_store import Address, MeasuredStore, reservations_in
from bench.measure.durability.rounds import RoundFailed
from shop.local.ports import free_ports
from shop.local.process import POLL_SECONDS

# As durable as the shop requires (seckill/store/durability.py), on both.
OPTIONS = {"appendonly": "yes", "appendfsync": "always", "repl-diskless-sync-delay": "0", "repl-timeout": "10"}
TOGETHER_SECONDS_MAX = 20.0
HOST = "127.0.0.1"
CHUNK = 65_536


class MeasuredPair:
    """Clients speak to the primary at `address`; the replica is at the other end of a link."""

    def __init__(self, directory: Path, *, address: Address, yes_replicas: int, link_delay_s: float) -> None:
        """`yes_replicas` is also how many replicas the primary must see to accept writes. No delay means no link."""
        replica_port, link_port = free_ports(count=2)
        directory.mkdir()
        self._address = address
        options = {**OPTIONS, "min-replicas-to-write": str(yes_replicas)}
        self._primary = MeasuredStore(directory / "primary", address=address, options=options)
        self._replica = MeasuredStore(
            directory / "replica", address=Address(port=replica_port, password=address.password), options=OPTIONS
        )
        self._link_port = link_port if link_delay_s else address.port
        self._link_delay_s = link_delay_s
        self._link: DelayedLink | None = None

    def __enter__(self) -> "MeasuredPair":
        """Start both, and return when the replica has what the primary has. Raises ProcessFailed and RoundFailed."""
        try:
            self._primary.__enter__()
            self._replica.__enter__()
            if self._link_delay_s:
                self._link = DelayedLink(
                    port=self._link_port, target_port=self._address.port, delay_s=self._link_delay_s
                )
            client = self._replica.client()
            client.config_set("masterauth", self._address.password)
            client.replicaof(HOST, str(self._link_port))
            await_true(lambda: is_in_sync(client), what="The replica did not follow its primary")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._link:
            self._link.cut()
        self._primary.kill()
        self._replica.kill()

    def kill_primary(self) -> None:
        """kill -9. Over a link, the primary is cut off at the same moment, as when its host is lost.

        Without one, the kernel still delivers what the killed process had sent.
        """
        if self._link:
            self._link.cut()
        self._primary.kill()

    def promoted_reservations(self, *, item_id: int) -> set[str]:
        """The ids in the replica once it is the primary. It takes all that has reached it first. Raises RoundFailed."""
        client = self._replica.client()
        await_true(lambda: not is_linked(client), what="The replica did not notice that its primary is gone")
        client.replicaof("NO", "ONE")
        return reservations_in(self._replica, item_id=item_id)


def is_linked(client: Any) -> bool:
    return bool(client.info("replication").get("master_link_status") == "up")


def is_in_sync(client: Any) -> bool:
    """Whether the replica has all data, on its disk too: only then does it confirm what it gets."""
    persistence = client.info("persistence")
    rewriting = persistence["aof_rewrite_in_progress"] or persistence["aof_rewrite_scheduled"]
    return is_linked(client) and not rewriting


def await_true(condition: Callable[[], bool], *, what: str) -> None:
    """Raises RoundFailed."""
    deadline_s = time.monotonic() + TOGETHER_SECONDS_MAX
    while not condition():
        if time.monotonic() > deadline_s:
            raise RoundFailed(f"{what} within {TOGETHER_SECONDS_MAX:.0f} s.")
        time.sleep(POLL_SECONDS)


class DelayedLink:
    """Listens on `port` and passes everything on to `target_port` and back, `delay_s` later each way."""

    def __init__(self, *, port: int, target_port: int, delay_s: float) -> None:
        self.port = port
        self._target_port = target_port
        self._delay_s = delay_s
        self._down = threading.Event()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server((HOST, port))
        threading.Thread(target=self._accept, name="link", daemon=True).start()

    def cut(self) -> None:
        """End all connections. Bytes under way are lost, as when a host is gone."""
        self._down.set()
        # A thread that waits in accept() or recv() goes on only after a shutdown.
        for one in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while not self._down.is_set():
                near, _address = self._listener.accept()
                far = socket.create_connection((HOST, self._target_port))
                for one in (near, far):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._sockets.append(one)
                for source, sink in ((near, far), (far, near)):
                    under_way: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
                    threading.Thread(target=self._take, args=(source, under_way), name="link", daemon=True).start()
                    threading.Thread(target=self._deliver, args=(sink, under_way), name="link", daemon=True).start()

    def _take(self, source: socket.socket, under_way: "queue.SimpleQueue[tuple[float, bytes]]") -> None:
        """Note when each portion is due. An empty one is the end of the connection."""
        data = b"begin"
        while data:
            try:
                data = source.recv(CHUNK)
            except OSError:
                data = b""
            under_way.put((time.monotonic() + self._delay_s, data))

    def _deliver(self, sink: socket.socket, under_way: "queue.SimpleQueue[tuple[float, bytes]]") -> None:
        with contextlib.suppress(OSError):
            while True:
                due_s, data = under_way.get()
                time.sleep(max(0.0, due_s - time.monotonic()))
                if not data or self._down.is_set():
                    break
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)
