"""The shop's processes as `make run` starts them, but with one web process on each of two ports."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from celery import Celery
from kombu.exceptions import OperationalError

from bench.faults.wire.raw_valkey import ValkeyError
from shop.local.environment import RunSettings
from shop.local.process import Process
from shop.local.shop_processes import processes


@dataclass(frozen=True, kw_only=True)
class ProcessPlan:
    """One process: `kind` is web, worker, errands, repair or beat; `clock_seconds` is how far its clock is ahead.

    `port` is where a web process listens.
    """

    name: str
    kind: str
    directory: Path
    environment: Mapping[str, str]
    port: int = 0
    clock_seconds: float = 0.0


def process_of(plan: ProcessPlan, *, broker_url: str) -> Process:
    """The process, not started."""
    directory = plan.directory / plan.name
    directory.mkdir(exist_ok=True)
    settings = RunSettings(host="127.0.0.1", port=plan.port, directory=directory, own_servers=None, allowed_hosts=[])
    (process,) = (
        process for process in processes(settings=settings, broker_url=broker_url) if process.name == plan.kind
    )
    argv, ready = list(process.argv), process.ready
    if plan.kind == "web":
        argv[argv.index("--workers") + 1] = "1"
    if plan.kind in ("worker", "errands", "repair"):
        node = f"{plan.name}@{plan.directory.name}"
        argv[argv.index("-n") + 1] = node
        ready = lambda _: answers_ping(broker_url, node=node)  # noqa: E731
    if plan.clock_seconds:
        argv[1:1] = ["-m", "bench.faults.shifted_clock", str(plan.clock_seconds)]
    return replace(
        process,
        name=plan.name,
        argv=argv,
        ready=ready,
        environment=plan.environment,
        log_path=plan.directory / "logs" / f"{plan.name}.log",
    )


def answers_ping(broker_url: str, *, node: str) -> bool:
    """Whether this worker, and not another one, takes messages."""
    # A new client each time: one that was connected during a fault may never work again.
    client = Celery(broker=broker_url, set_as_current=False)
    with contextlib.suppress(OperationalError, OSError, ValkeyError):
        return bool(client.control.ping(destination=[node], timeout=0.5, limit=1))
    return False
