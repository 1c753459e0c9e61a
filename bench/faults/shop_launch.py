"""The shop's processes as `make run` starts them, but with one web process on each of two ports."""

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from shop.local.environment import RunSettings
from shop.local.process import Process
from shop.local.shop_processes import processes


def process_of(
    kind: str,
    *,
    name: str,
    directory: Path,
    environment: Mapping[str, str],
    broker_url: str,
    port: int = 0,
    clock_seconds: float = 0.0,
) -> Process:
    """A process, not started. `kind` is web, worker, errands, repair or beat.

    `port` is where a web process listens; `clock_seconds` is how far the clock is ahead.
    """
    own_directory = directory / name
    own_directory.mkdir(exist_ok=True)
    settings = RunSettings(host="127.0.0.1", port=port, directory=own_directory, own_servers=None, allowed_hosts=[])
    (process,) = (process for process in processes(settings=settings, broker_url=broker_url) if process.name == kind)
    argv, ready = list(process.argv), process.ready
    if kind == "web":
        argv[argv.index("--workers") + 1] = "1"
    if kind in ("worker", "errands", "repair"):
        node = f"{name}@{directory.name}"
        argv[argv.index("-n") + 1] = node
        ready = lambda _: answers_ping(broker_url, node=node)  # noqa: E731
    if clock_seconds:
        argv[1:1] = ["-m", "bench.faults.shifted_clock", str(clock_seconds)]
    log_path = directory / "logs" / f"{name}.log"
    return replace(process, name=name, argv=argv, ready=ready, environment=environment, log_path=log_path)


def answers_ping(broker_url: str, *, node: str) -> bool:
    """Whether this worker, and not another one, takes messages."""
    # A new client each time: one that was connected during a fault may never work again.
    client = Celery(broker=broker_url, set_as_current=False)
    with contextlib.suppress(OperationalError, OSError, RedisError):
        return bool(client.control.ping(destination=[node], timeout=0.5, limit=1))
    return False
