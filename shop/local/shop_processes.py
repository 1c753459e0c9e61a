"""The processes of the shop: migrations and static files first, then web, worker and beat."""

import contextlib
import http.client
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from celery import Celery
from kombu.exceptions import OperationalError

from shop.configuration.message_broker import broker_settings
from shop.local.environment import RunSettings
from shop.local.process import Process, succeeded

ROOT = Path(__file__).resolve().parents[2]

# Stopping everything must take at most 15 s. These add up to the worst case, with 4 s for the servers.
_BEAT_STOP_SECONDS = 2.0
_WORKER_STOP_SECONDS = 5.0
_WEB_STOP_SECONDS = 4.0


def steps(*, settings: RunSettings) -> list[Process]:
    """The steps before the shop's processes start. They run at the same time."""
    return [
        _manage(settings, "migrate", "--noinput", title="database tables"),
        _manage(settings, "collectstatic", "--noinput", "-v0", title="static files"),
    ]


def processes(*, settings: RunSettings, broker_url: str) -> list[Process]:
    """Web, workers and beat, and the loading of the demo data, which needs only the tables."""
    return [
        _manage(settings, "load_demo", "--pictures-later", title="demo data"),
        _web(settings=settings),
        worker(settings=settings, broker_url=broker_url, name="worker", queues="drain,expiry,celery"),
        # Tasks that wait for other companies have their own worker: a slow mail server must not delay orders.
        worker(settings=settings, broker_url=broker_url, name="errands", queues="payments,mail"),
        # Three processes: one audits and one archives at most, so one is free to reconcile a store that has restarted.
        worker(settings=settings, broker_url=broker_url, name="repair", queues="repair", count=3),
        _beat(settings=settings),
    ]


def _web(*, settings: RunSettings) -> Process:
    argv = ["-m", "granian", "--interface", "rsgi", "web.rsgi:application"]
    argv += ["--host", settings.host, "--port", str(settings.port)]
    # The name that granian itself reads, so that the same word works here and in deploy/.
    argv += ["--workers", os.environ.get("GRANIAN_WORKERS", "2"), "--no-ws", "--workers-kill-timeout", "3"]
    # granian restarts its own workers; the supervisor restarts granian.
    argv += ["--respawn-failed-workers", "--log-config", "web/granian_logs.json"]
    return _python(
        settings,
        argv,
        name="web",
        title=f"web server at {settings.url}",
        ready=lambda _: _is_ready(settings=settings),
        stop_seconds=_WEB_STOP_SECONDS,
    )


def worker(*, settings: RunSettings, broker_url: str, name: str, queues: str, count: int = 2) -> Process:
    """A Celery worker with `count` processes for the queues, which are divided by commas."""
    node = f"stampede-{name}-{os.getpid()}@{socket.gethostname()}"
    client = Celery(set_as_current=False)
    client.conf.update(broker_settings(broker_url, task_seconds_max=60))
    argv = ["-m", "celery", "-q", "-A", "shop", "worker", "-n", node, "-l", _log_level()]
    argv += ["-Q", queues, "-c", str(count)]
    # Workers need not know each other, and start some seconds sooner without these.
    argv += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    return _python(
        settings,
        argv,
        name=name,
        title=f"Celery worker for {queues.replace(',', ', ')}",
        ready=lambda _: _answers_ping(client=client, node=node),
        # After SIGTERM, a child may wait 30 s for a main process that no longer reads its results (billiard's
        # `_ensure_messages_consumed`). Tasks may be cut off anywhere, as by kill -9.
        death_signal=signal.SIGQUIT,
        stop_seconds=_WORKER_STOP_SECONDS,
        group="workers",
    )


def _beat(*, settings: RunSettings) -> Process:
    # Its banner, which -q would leave out, is the only sign of its start at this level.
    argv = ["-m", "celery", "-A", "shop", "beat", "-l", _log_level()]
    return _python(
        settings,
        argv,
        name="beat",
        title="Celery beat",
        ready=lambda process: "is starting" in process.log_since_start(),
        stop_seconds=_BEAT_STOP_SECONDS,
    )


def _manage(settings: RunSettings, command: str, *options: str, title: str) -> Process:
    # `make test` runs the checks; here each command would import the whole project for them.
    argv = [str(ROOT / "manage.py"), command, "--skip-checks", *options]
    return _python(settings, argv, name=command, title=title, ready=succeeded)


def _python(
    settings: RunSettings,
    argv: Sequence[str],
    *,
    name: str,
    title: str,
    ready: Callable[[Process], bool],
    stop_seconds: float = 4.0,
    death_signal: signal.Signals | None = None,
    group: str = "",
) -> Process:
    """A Python program in this virtual environment, with a copy of the environment as it is now."""
    return Process(
        name=name,
        title=title,
        argv=[sys.executable, *argv],
        log_path=settings.directory / "logs" / f"{name}.log",
        ready=ready,
        environment={**os.environ, "PYTHONUNBUFFERED": "1"},
        directory=ROOT,
        stop_seconds=stop_seconds,
        death_signal=death_signal,
        group=group,
    )


def _log_level() -> str:
    """The shop's own level: at INFO, Celery writes some ten lines a second about the sweeps."""
    return os.environ.get("LOG_LEVEL") or "WARNING"


def _is_ready(*, settings: RunSettings) -> bool:
    """Whether /readyz answers 200. http.client is used because it ignores http_proxy."""
    connection = http.client.HTTPConnection(settings.probe_host, settings.port, timeout=2)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/readyz", headers={"Host": settings.allowed_host})
        return connection.getresponse().status == 200
    return False


def _answers_ping(*, client: Celery, node: str) -> bool:
    """Whether this worker, and not another one at the same broker, takes messages. Not while the broker is away."""
    # The errors of its client come as they are from a connection that was open already.
    with contextlib.suppress(OperationalError, *client.connection_for_write().connection_errors):
        return bool(client.control.ping(destination=[node], timeout=0.3, limit=1))
    return False
