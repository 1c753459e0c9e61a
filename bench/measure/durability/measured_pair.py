"""A primary and its replica, which is promoted when the primary has been killed."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.measure.durability.delayed_link import HOST, DelayedLink
from bench.measure.durability.measured_store import Address, MeasuredStore, reservations_in
from bench.measure.durability.rounds import RoundFailed
from shop.local.ports import free_ports
from shop.local.process import POLL_SECONDS

# As durable as the shop requires (seckill/store/durability.py), on both.
OPTIONS = {"appendonly": "yes", "appendfsync": "always", "repl-diskless-sync-delay": "0", "repl-timeout": "10"}
TOGETHER_SECONDS_MAX = 20.0


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
