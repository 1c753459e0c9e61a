"""RabbitMQ of Debian's package as a plain process: its own directory, ports, cookie and port mapper."""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from amqp.exceptions import AMQPError, NotFound, PreconditionFailed
from kombu import Connection
from kombu.exceptions import OperationalError

from shop.local.ports import free_port
from shop.local.process import Process
from tests.live_shop import wait_for_answer

NO_RABBITMQ = "RabbitMQ is missing. On Debian: apt install rabbitmq-server"
PASSWORD = "of-a-test"
# A quorum queue declared at most half a second before a kill -9 answered nobody afterwards, in four of four tries with
# RabbitMQ 3.10.8; one declared a second or two before did, in four of four (docs/brokers.md).
QUEUE_ON_DISK_SECONDS = 2.0

CONFIGURATION = """\
listeners.tcp.1 = 127.0.0.1:{port}
default_user = shop
default_pass = {password}
loopback_users = none
log.console = true
log.console.level = warning
"""


def program() -> Path | None:
    """The server itself. Debian's /usr/sbin/rabbitmq-server runs as another user, in directories of its own."""
    return next(iter(sorted(Path("/usr/lib/rabbitmq/lib").glob("*/sbin/rabbitmq-server"))), None)


def need_rabbitmq() -> None:
    """Skip the test where RabbitMQ is missing; fail where that must not be."""
    if program() is None or shutil.which("epmd") is None:
        pytest.fail(NO_RABBITMQ) if os.environ.get("CI") else pytest.skip(NO_RABBITMQ)


class RabbitServer:
    """One node, which keeps its messages and its port when it is killed and started again."""

    def __init__(self, directory: Path) -> None:
        self.port, mapper_port, node_port = free_port(), free_port(), free_port()
        (directory / "rabbitmq.conf").write_text(CONFIGURATION.format(port=self.port, password=PASSWORD))
        (directory / "plugins").write_text("[].\n")
        environment = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(directory),
            "ERL_EPMD_PORT": str(mapper_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"shop-{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(node_port),
            "RABBITMQ_CONFIG_FILE": str(directory / "rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "plugins"),
            "RABBITMQ_MNESIA_BASE": str(directory / "data"),
            "RABBITMQ_LOG_BASE": str(directory / "log"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_PID_FILE": str(directory / "pid"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            # One scheduler that does not spin: other tests run beside it.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none",
        }
        self._mapper = Process(
            name="epmd",
            title="Erlang's port mapper",
            argv=[shutil.which("epmd") or "epmd"],
            log_path=directory / "epmd.log",
            ready=lambda _: True,
            environment=environment,
        )
        self._node = Process(
            name="rabbitmq",
            title="RabbitMQ of a test",
            argv=[str(program())],
            log_path=directory / "rabbitmq.log",
            ready=lambda _: self._answers(),
            environment=environment,
            directory=directory,
        )

    @property
    def url(self) -> str:
        return f"amqp://shop:{PASSWORD}@127.0.0.1:{self.port}//"

    def start(self) -> None:
        if not self._mapper.running:
            self._mapper.start()
        self._node.start()
        wait_for_answer(self._node)

    def kill(self) -> None:
        """kill -9 of the node, when all its queues are on its disk: nothing says so earlier."""
        time.sleep(QUEUE_ON_DISK_SECONDS)
        self._node.kill()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """The node has its connections and answers nothing."""
        os.killpg(self._node.pid or 0, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self._node.pid or 0, signal.SIGCONT)

    def has_queue(self, name: str) -> bool:
        """Whether there is a queue of this name. A passive declaration makes none."""
        with Connection(self.url) as connection, suppress(NotFound):
            channel: Any = connection.channel()
            channel.queue_declare(name, passive=True)
            return True
        return False

    def is_quorum_queue(self, name: str) -> bool:
        """Whether a queue that the shop has declared is one: what is declared again is compared with what is there."""
        with Connection(self.url) as connection, suppress(PreconditionFailed):
            arguments = {"x-queue-type": "quorum"}
            channel: Any = connection.channel()
            channel.queue_declare(name, durable=True, auto_delete=False, arguments=arguments)
            return True
        return False

    def stop(self) -> None:
        self._node.kill()
        self._mapper.kill()

    def last_lines(self) -> str:
        return f"--- {self._node.title}\n{self._node.last_lines(lines_max=60)}"

    def _answers(self) -> bool:
        with suppress(OperationalError, AMQPError, OSError), Connection(self.url, connect_timeout=2) as connection:
            connection.connect()
            return True
        return False


@contextmanager
def rabbit_server(directory: Path) -> Iterator[RabbitServer]:
    server = RabbitServer(directory)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        print(server.last_lines())
